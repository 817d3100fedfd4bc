// The kernel's information on pages: which are copies, which were stored to, how many; and the
// error if it gives none.
#include "calls.hpp"
#include "paging/page_table.hpp"
#include "paging/written_pages.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace hf {
namespace {

/// Private memory, of which nothing is there yet.
class sparse_memory {
   public:
    explicit sparse_memory(u64 pages) : pages_(pages) {
        base_ = static_cast<std::byte*>(::mmap(nullptr, pages * small_page, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        EXPECT_EQ(::madvise(base_, pages * small_page, MADV_NOHUGEPAGE), 0);
    }
    sparse_memory(const sparse_memory&) = delete;
    sparse_memory& operator=(const sparse_memory&) = delete;
    ~sparse_memory() { ::munmap(base_, pages_ * small_page); }
    [[nodiscard]] std::byte* base() const { return base_; }
    void store(u64 page, int value = 1) const {
        base_[page * small_page] = static_cast<std::byte>(value);
    }

   private:
    std::byte* base_;
    u64 pages_;
};

constexpr u64 at_once = 8192;  // entries read at a time

TEST(page_table_test, names_just_the_copies_of_each_range) {
    constexpr u64 pages = at_once + 40;
    const sparse_memory memory(pages);
    std::set<u64> stored;
    for (u64 p = 0; p < pages; ++p) {
        // All of the first read, so that what it left behind would be taken for copies.
        if (p < at_once ? p % 64 != 63 : p % 7 == 0) stored.insert(p);
    }
    for (const u64 p : stored) memory.store(p);
    page_table table;
    EXPECT_FALSE(table.is_open());
    EXPECT_FALSE(table.for_each_copy(memory.base(), 0, 1, [](u64) {})) << "it is not open";
    ASSERT_TRUE(table.open());
    for (const u64 first : {u64{0}, u64{1}, u64{62}, at_once - 1, at_once, pages - 1}) {
        for (const u64 end :
             {first, first + 1, first + 3, first + at_once - 1, first + at_once, pages}) {
            if (end > pages) continue;
            std::vector<u64> found;
            EXPECT_TRUE(table.for_each_copy(memory.base(), first, end,
                                            [&](u64 page) { found.push_back(page); }));
            EXPECT_EQ(found, std::vector<u64>(stored.lower_bound(first), stored.lower_bound(end)))
                << first << ' ' << end;
        }
    }
}

TEST(page_table_test, a_page_that_was_read_but_not_stored_to_is_no_copy) {
    const test::scratch_directory dir;
    const int fd = ::open((dir / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(::ftruncate(fd, 4 * small_page), 0);
    void* p = ::mmap(nullptr, 4 * small_page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    ASSERT_NE(p, MAP_FAILED);
    auto* const base = static_cast<std::byte*>(p);
    volatile std::byte read = base[small_page];
    (void)read;
    base[2 * small_page] = std::byte{1};
    page_table table;
    ASSERT_TRUE(table.open());
    std::vector<u64> found;
    EXPECT_TRUE(table.for_each_copy(base, 0, 4, [&](u64 page) { found.push_back(page); }));
    EXPECT_EQ(found, std::vector<u64>{2});
    ::munmap(p, 4 * small_page);
    ::close(fd);
}

/// In a program whose standard input is closed, the next descriptor is 0.
int with_descriptor_0(const std::function<bool()>& body) {
    return test::in_child([&] {
        ::close(0);
        return body() && ::fcntl(0, F_GETFD) == -1 ? 0 : 1;
    });
}

TEST(page_table_test, its_descriptor_may_be_0) {
    EXPECT_EQ(with_descriptor_0([] {
                  page_table table;
                  return table.open() && table.get() == 0 && table.is_open() && table.open() &&
                         table.get() == 0;
              }),
              0);
}

class written_pages_test : public ::testing::Test {
   protected:
    void SetUp() override {
        written = written_pages::start();
        if (!written) GTEST_SKIP() << "this kernel cannot tell what was written";
    }
    [[nodiscard]] std::vector<u64> take(const sparse_memory& m, u64 first, u64 end) const {
        std::vector<small_page_run> runs;
        EXPECT_TRUE(written->take(m.base(), first, end, runs));
        std::vector<u64> pages;
        for (const small_page_run& r : runs) {
            for (u64 p = r.first; p < r.first + r.count; ++p) pages.push_back(p);
        }
        return pages;
    }
    std::unique_ptr<written_pages> written;
};

TEST_F(written_pages_test, takes_each_page_once_and_only_from_its_range) {
    constexpr u64 pages = 2000;
    const sparse_memory memory(pages);
    ASSERT_TRUE(written->watch(memory.base(), pages * small_page));
    std::vector<u64> stored;
    for (u64 p = 0; p < pages; p += 1 + p % 3) stored.push_back(p);  // more runs than one call has
    for (const u64 p : stored) memory.store(p);
    EXPECT_EQ(written->count(memory.base(), 0, pages, ~u64{0}), stored.size());
    EXPECT_EQ(take(memory, 5, 5), std::vector<u64>{});
    std::vector<u64> together = take(memory, 0, 1000);
    for (const u64 p : take(memory, 1000, pages)) together.push_back(p);
    EXPECT_EQ(together, stored);
    EXPECT_EQ(take(memory, 0, pages), std::vector<u64>{});
    EXPECT_EQ(written->count(memory.base(), 0, pages, 1), 0U);
    memory.store(pages - 1, 2);
    EXPECT_EQ(take(memory, 0, pages - 1), std::vector<u64>{});
    EXPECT_EQ(take(memory, 0, pages), std::vector<u64>{pages - 1});
}

TEST_F(written_pages_test, counts_until_there_are_as_many_as_were_asked_for) {
    constexpr u64 part = 1 << 16;  // pages counted at once
    const sparse_memory memory(2 * part + 10);
    ASSERT_TRUE(written->watch(memory.base(), (2 * part + 10) * small_page));
    for (u64 p = 0; p < 3; ++p) {
        memory.store(p);
        memory.store(part + p);
    }
    memory.store(2 * part);
    const auto count = [&](u64 first, u64 end, u64 most) {
        return written->count(memory.base(), first, end, most);
    };
    EXPECT_EQ(count(0, part + 10, 0), 0U);
    EXPECT_EQ(count(0, part + 10, 2), 3U);
    EXPECT_EQ(count(0, part + 10, 3), 3U) << "that is enough";
    EXPECT_EQ(count(0, part + 10, 4), 6U);
    EXPECT_EQ(count(0, part + 2, 100), 5U);
    EXPECT_EQ(count(0, part, 100), 3U);
    EXPECT_EQ(count(0, 2 * part + 1, 100), 7U);
    EXPECT_EQ(count(2, part, 100), 1U);
    EXPECT_EQ(count(7, 7, 100), 0U);
}

TEST_F(written_pages_test, says_that_it_does_not_know) {
    const sparse_memory memory(8);
    memory.store(3);
    std::vector<small_page_run> runs;
    EXPECT_FALSE(written->take(memory.base(), 0, 8, runs)) << "nobody asked to watch it";
    EXPECT_EQ(written->count(memory.base(), 0, 8, 100), std::nullopt);
    EXPECT_FALSE(written->watch(nullptr, small_page)) << "no mapping";
    EXPECT_TRUE(written->watch(memory.base(), 8 * small_page));
    EXPECT_EQ(written->count(memory.base(), 0, 8, 100), 1U);
}

/// As the kernel has it (Documentation/admin-guide/mm/pagemap.rst).
struct scan_request {
    u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
    u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};
const unsigned long pagemap_scan = _IOWR('f', 16, scan_request);

/// A kernel whose answers are the test's.
class lying_kernel : public ::testing::Test {
   protected:
    void TearDown() override { test::calls.control = {}; }
    /// It accepts every call; for each page it answers the next of these, -1: it fails. After the
    /// last one it repeats that.
    void tells(std::vector<int> runs, bool walks = true) {
        test::calls.control = [runs, walks, at = std::size_t{0}](unsigned long request,
                                                                 void* p) mutable {
            if (request != pagemap_scan) return std::optional(0);
            auto& a = *static_cast<scan_request*>(p);
            const int n = runs[std::min(at++, runs.size() - 1)];
            if (walks) a.walk_end = a.end;
            u64* const run = reinterpret_cast<u64*>(a.vec);
            for (int i = 0; i < n; ++i) {
                run[3 * i] = a.start;
                run[3 * i + 1] = a.start + small_page;
            }
            return std::optional(n);
        };
    }
};

// A trial must tell: it is there, and not stored to; each store once, and no more.
TEST_F(lying_kernel, is_found_out) {
    tells({0, 1, 0, 1, 0});
    EXPECT_NE(written_pages::start(), nullptr) << "all is as it should be";
    for (int at = 0; at < 5; ++at) {
        for (const int wrong : {-1, 0, 1, 2}) {
            std::vector<int> said{0, 1, 0, 1, 0, 0};
            const bool is_wrong = said[static_cast<std::size_t>(at)] != wrong;
            said[static_cast<std::size_t>(at)] = wrong;
            tells(said);
            EXPECT_EQ(written_pages::start() == nullptr, is_wrong) << at << ": " << wrong;
        }
    }
    tells({0, 1, 0, 1, 0}, false);
    EXPECT_EQ(written_pages::start(), nullptr) << "it never gets any further";
}

TEST_F(lying_kernel, that_refuses_is_believed) {
    for (int nth = 0; nth < 3; ++nth) {
        tells({0, 1, 0, 1, 0});
        test::calls.control = [real = test::calls.control, left = nth](unsigned long request,
                                                                       void* p) mutable {
            return left-- == 0 ? std::optional(-1) : real(request, p);
        };
        EXPECT_EQ(written_pages::start(), nullptr) << nth;
    }
    tells({0, 1, 0, 1, 0});
    test::calls.answer = [](const std::string& name) { return name == "mmap"; };
    const auto started = written_pages::start();
    test::calls.answer = {};
    EXPECT_EQ(started, nullptr) << "no memory for the trial";
}

TEST_F(lying_kernel, that_says_it_walked_nowhere_is_not_asked_for_ever) {
    tells({0, 1, 0, 1, 0});
    const auto written = written_pages::start();
    ASSERT_NE(written, nullptr);
    for (const u64 walked : {u64{0}, small_page}) {
        test::calls.control = [walked, asked = 0](unsigned long, void* p) mutable {
            auto& a = *static_cast<scan_request*>(p);
            if (walked == 0 || ++asked > 3)
                a.walk_end = a.start;  // after some pages
            else
                a.walk_end = a.start + walked;
            EXPECT_LT(++asked, 100);
            return asked < 100 ? std::optional(0) : std::optional(-1);
        };
        std::vector<small_page_run> runs;
        EXPECT_FALSE(written->take(nullptr, 0, 50, runs));
        EXPECT_EQ(written->count(nullptr, 0, 50, 50), std::nullopt);
    }
}

TEST(page_table_test, a_copy_is_there_or_swapped_out_and_of_no_file) {
    using table = page_table;
    for (unsigned bits = 0; bits < 16; ++bits) {
        const auto has = [bits](unsigned bit) { return (bits >> bit & 1) != 0; };
        const u64 entry = (has(0) ? table::present : 0) | (has(1) ? table::swapped : 0) |
                          (has(2) ? table::of_file : 0) | (has(3) ? table::write_protected : 0);
        // Swapped and protected: the mark of a page that was given back.
        const bool is_copy = !has(2) && (has(0) || (has(1) && !has(3)));
        EXPECT_EQ(table::is_copy(entry), is_copy) << bits;
        EXPECT_EQ(table::is_copy(entry | 0xfff), is_copy) << bits;
    }
    EXPECT_EQ(table::present, u64{1} << 63);
    EXPECT_EQ(table::swapped, u64{1} << 62);
    EXPECT_EQ(table::of_file, u64{1} << 61);
    EXPECT_EQ(table::write_protected, u64{1} << 57);
}

TEST_F(written_pages_test, its_descriptor_may_be_0) {
    EXPECT_EQ(with_descriptor_0([] { return written_pages::start() != nullptr; }), 0);
}

}  // namespace
}  // namespace hf
