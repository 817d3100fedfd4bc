// The pages that the tracker names, in each of its three ways. The file stands for the base;
// "applied" means that a test has written to it what was captured.
#include "paging/page_tracker.hpp"

#include "base/random.hpp"
#include "calls.hpp"
#include "paging/private_pages.hpp"
#include "region/layout.hpp"
#include "support/effort.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <thread>

namespace hf {
namespace {

using lines = std::vector<u64>;
using way = page_tracker::way;

constexpr u64 lines_of_page = small_page / line_size;
constexpr u64 header = layout::page_size / small_page;  // pages
constexpr u64 pages = header + 1100;
constexpr u64 bytes = pages * small_page;

class tracked_pages : public ::testing::TestWithParam<way> {
   protected:
    tracked_pages() {
        fd = ::open((dir / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        EXPECT_EQ(::ftruncate(fd, bytes), 0);
        map(0, bytes);
        tracker.emplace(base, bytes, fd, GetParam());
        tracker->watch(0, bytes);
    }
    ~tracked_pages() override {
        tracker.reset();
        ::munmap(base, bytes);
        ::close(fd);
    }
    void SetUp() override { ASSERT_EQ(tracker->how(), GetParam()); }
    void map(u64 from, u64 to) {
        void* p =
            ::mmap(base == nullptr ? nullptr : base + from, to - from, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | (base == nullptr ? 0 : MAP_FIXED), fd, static_cast<off_t>(from));
        ASSERT_NE(p, MAP_FAILED);
        if (base == nullptr) base = static_cast<std::byte*>(p);
    }
    [[nodiscard]] static u64 line(u64 page, u64 of_page) { return page * lines_of_page + of_page; }
    void store(u64 l, int value) const { base[l * line_size + 63] = static_cast<std::byte>(value); }
    /// As the boundary of `epoch` does it.
    lines boundary(u64 epoch, u64 applied) {
        lines found = tracker->collect(bytes, applied);
        std::sort(found.begin(), found.end());
        tracker->captured(found, epoch);
        return found;
    }
    /// The base gets the whole page as memory has it.
    void apply(u64 page) const {
        EXPECT_EQ(::pwrite(fd, base + page * small_page, small_page,
                           static_cast<off_t>(page * small_page)),
                  static_cast<ssize_t>(small_page));
    }

    test::scratch_directory dir;
    int fd = -1;
    std::byte* base = nullptr;
    std::optional<page_tracker> tracker;
};

constexpr u64 one = header + 1;
constexpr u64 other = header + 7;

// The ways that ask the kernel; only they notice how much was written, or fail in between.
class pages_tracked_by_kernel : public tracked_pages {};

TEST_P(tracked_pages, just_the_lines_that_were_stored_to_are_found) {
    EXPECT_EQ(boundary(4, 3), lines{});
    store(line(one, 0), 1);
    store(line(one, 63), 1);
    store(line(other, 17), 1);
    store(line(pages - 1, 63), 1);
    EXPECT_EQ(boundary(5, 4),
              (lines{line(one, 0), line(one, 63), line(other, 17), line(pages - 1, 63)}));
}

// Pages of the base that cannot be seen count as changed, and no others do.
TEST_P(tracked_pages, a_page_that_cannot_be_compared_is_named_with_all_its_lines) {
    constexpr u64 part = header + 20;  // pages
    EXPECT_EQ(tracker->collect(part * small_page, 3), lines{});
    store(line(part - 1, 7), 1);
    store(line(part, 7), 1);
    test::calls.answer = [](const std::string& name) { return name == "mremap"; };
    const lines found = boundary(5, 4);
    test::calls.answer = {};
    lines expected{line(part - 1, 7)};
    const u64 end = GetParam() == way::all ? pages : part + 1;
    for (u64 l = line(part, 0); l < line(end, 0); ++l) expected.push_back(l);
    EXPECT_EQ(found, expected);
}

/// How many mappings there are of a file.
unsigned mappings_of(const std::filesystem::path& path) {
    std::ifstream maps("/proc/self/maps");
    unsigned n = 0;
    for (std::string text; std::getline(maps, text);) {
        n += text.ends_with(path.string()) ? 1U : 0U;
    }
    return n;
}

TEST_P(tracked_pages, at_its_end_everything_is_given_back) {
    (void)tracker->collect(bytes / 2, 3);
    (void)tracker->collect(bytes, 3);
    EXPECT_EQ(mappings_of(dir / "file"), 2U) << "the memory, and the base to compare it with";
    tracker.reset();
    EXPECT_EQ(mappings_of(dir / "file"), 1U);
}

// A page that was protected leaves a mark in the page table when it is given back.
TEST_P(tracked_pages, a_page_that_was_given_back_is_no_copy) {
    store(line(one, 5), 1);
    store(line(other, 5), 1);
    const lines found = boundary(5, 4);
    private_pages copies(base, bytes, fd, small_page);
    copies.begin_if_needed(bytes, 5);
    copies.captured(found, 5);
    apply(one);
    apply(other);
    for (int look = 0; look < 2; ++look) {
        copies.find_droppable(bytes, 5);
        EXPECT_EQ(copies.bytes(), look == 0 ? 2 * small_page : 0);
        copies.drop();
    }
    EXPECT_EQ(copies.dropped_bytes(), 2 * small_page);
    store(line(one, 6), 1);
    EXPECT_EQ(boundary(6, 5), lines{line(one, 6)});
}

TEST_P(tracked_pages, a_store_that_changes_nothing_is_no_change) {
    store(line(one, 5), 0);
    EXPECT_EQ(boundary(5, 4), lines{});
}

TEST_P(tracked_pages, what_was_applied_and_not_stored_to_since_is_not_named_again) {
    store(line(one, 5), 1);
    EXPECT_EQ(boundary(5, 4), lines{line(one, 5)});
    apply(one);
    EXPECT_EQ(boundary(6, 5), lines{});
    store(line(one, 6), 1);
    EXPECT_EQ(boundary(7, 6), lines{line(one, 6)}) << "line 5 is in the base";
}

// Without the mask a comparison with the base alone would miss it.
TEST_P(tracked_pages, a_line_that_changed_back_is_captured_while_its_record_may_be_applied) {
    store(line(one, 5), 1);
    EXPECT_EQ(boundary(5, 4), lines{line(one, 5)});
    store(line(one, 5), 0);
    EXPECT_EQ(boundary(6, 4), lines{line(one, 5)}) << "or the record of epoch 5 would come true";
    store(line(one, 5), 1);
    store(line(one, 5), 0);
    EXPECT_EQ(boundary(7, 6), lines{}) << "the base has epoch 6, and so 0";
}

TEST_P(tracked_pages, a_page_is_applied_with_the_last_epoch_that_captured_a_line_of_it) {
    store(line(one, 5), 1);
    boundary(5, 4);
    store(line(one, 6), 1);
    boundary(6, 4);
    store(line(one, 6), 0);
    const lines found = boundary(7, 5);
    EXPECT_TRUE(std::count(found.begin(), found.end(), line(one, 6)))
        << "the base has epoch 5, and epoch 6 is still to come";
}

TEST_P(tracked_pages, lines_that_others_named_count_as_captured_too) {
    store(line(one, 5), 1);
    const u64 named = line(one, 5);
    tracker->captured({&named, 1}, 5);
    store(named, 0);
    EXPECT_EQ(boundary(6, 4), lines{named});
}

TEST_P(tracked_pages, the_header_is_not_looked_at) {
    for (u64 p = 0; p < header; ++p) store(line(p, 3), 1);
    EXPECT_EQ(boundary(5, 4), lines{});
}

TEST_P(tracked_pages, any_number_of_them_is_found) {
    lines stored;
    for (u64 p = header; p < pages; p += 2) stored.push_back(line(p, p % lines_of_page));
    for (const u64 l : stored) store(l, 1);
    EXPECT_EQ(boundary(5, 4), stored);
    EXPECT_GE(tracker->pages_looked_at(), stored.size());
    EXPECT_EQ(tracker->lines_found(), stored.size());
}

TEST_P(tracked_pages, a_page_that_was_given_back_begins_anew) {
    store(line(one, 5), 1);
    boundary(5, 4);
    apply(one);
    ASSERT_EQ(::madvise(base + one * small_page, small_page, MADV_DONTNEED), 0);
    EXPECT_EQ(boundary(6, 5), lines{});
    EXPECT_EQ(base[line(one, 5) * line_size + 63], std::byte{1});  // read, and so there again
    store(line(one, 7), 1);
    EXPECT_EQ(boundary(7, 6), lines{line(one, 7)});
    ASSERT_EQ(::madvise(base + one * small_page, small_page, MADV_DONTNEED), 0);
    store(line(one, 5), 2);
    EXPECT_EQ(boundary(8, 7), lines{line(one, 5)}) << "stored to without being read before";
}

TEST_P(tracked_pages, what_the_kernel_writes_is_found_too) {
    boundary(4, 3);
    const std::byte value{1};
    ASSERT_EQ(::pwrite(fd, &value, 1, 0), 1);  // of the header
    ASSERT_EQ(::pread(fd, base + line(one, 9) * line_size, 1, 0), 1);
    EXPECT_EQ(boundary(5, 4), lines{line(one, 9)});
}

TEST_P(tracked_pages, growth_is_watched) {
    constexpr u64 more = 40 * small_page;
    const u64 all = bytes + more;
    ASSERT_EQ(::ftruncate(fd, all), 0);
    void* place = ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    ::munmap(base, bytes);
    base = static_cast<std::byte*>(place);
    map(0, bytes);
    tracker.emplace(base, all, fd, GetParam());
    tracker->watch(0, bytes);
    store(line(one, 1), 1);
    EXPECT_EQ(boundary(5, 4), lines{line(one, 1)});
    apply(one);
    map(bytes, all);
    tracker->watch(bytes, all);
    store(line(pages + 3, 1), 1);
    EXPECT_EQ(tracker->collect(all, 5), lines{line(pages + 3, 1)});
    EXPECT_EQ(tracker->how(), GetParam());
    tracker.reset();
    ::munmap(base + bytes, more);
}

// Memory that was not registered: the kernel refuses to name its pages, and the next way takes
// over.
TEST_P(pages_tracked_by_kernel, a_way_that_fails_is_replaced_and_loses_nothing) {
    store(line(one, 5), 1);
    map(other * small_page, (other + 1) * small_page);  // without watch()
    store(line(other, 5), 1);
    EXPECT_EQ(boundary(5, 4), (lines{line(one, 5), line(other, 5)}));
    EXPECT_EQ(tracker->how(), way::copies);
}

TEST_P(pages_tracked_by_kernel, how_much_was_written_is_seen) {
    tracker->set_limit(10);
    for (u64 p = 0; p < 10; ++p) store(line(one + p, 0), 1);
    tracker->look(bytes);
    EXPECT_FALSE(tracker->pressure());
    for (u64 p = 0; p < 44; ++p) store(line(one + p, 0), 2);
    tracker->look(bytes);
    EXPECT_TRUE(tracker->pressure());
    EXPECT_TRUE(tracker->is_overfull());
    boundary(5, 4);
    EXPECT_FALSE(tracker->pressure());
    tracker->look(bytes);
    EXPECT_FALSE(tracker->pressure());
}

TEST_P(pages_tracked_by_kernel, four_times_as_many_are_too_many) {
    tracker->set_limit(10);
    for (const u64 n : {10, 11, 43, 44}) {
        for (u64 p = 0; p < n; ++p) store(line(one + p, 0), static_cast<int>(n));
        tracker->look(bytes);
        EXPECT_EQ(tracker->pressure(), n > 10) << n;
        EXPECT_EQ(tracker->is_overfull(), n >= 44) << n;
        boundary(n, 4);
    }
}

TEST_P(tracked_pages, where_it_cannot_be_told_how_much_was_written_nobody_is_held_up) {
    if (GetParam() == way::written) return;
    tracker->set_limit(1);
    for (u64 p = 0; p < 8; ++p) store(line(one + p, 0), 1);
    tracker->look(bytes);
    EXPECT_FALSE(tracker->pressure());
    EXPECT_FALSE(tracker->is_overfull());
}

TEST_P(tracked_pages, lines_found_again_are_counted_until_the_base_has_them) {
    tracker->set_limit(2);
    const auto store_three = [this](int value) {
        for (u64 p = 0; p < 3; ++p) store(line(one + p, 5), value);
    };
    store_three(1);
    boundary(5, 4);
    EXPECT_FALSE(tracker->repeats_itself()) << "they are found for the first time";
    store_three(2);
    boundary(6, 4);
    EXPECT_TRUE(tracker->repeats_itself());
    tracker->set_limit(3);
    EXPECT_FALSE(tracker->repeats_itself());
    tracker->set_limit(2);
    for (u64 p = 0; p < 3; ++p) apply(one + p);
    store_three(3);
    boundary(7, 6);
    EXPECT_FALSE(tracker->repeats_itself());
}

TEST_P(tracked_pages, looks_at_no_page_more_than_its_way_names_and_keeps_to_it) {
    for (const u64 p : {one, one + 1, one + 3, other}) store(line(p, 1), 1);
    boundary(5, 4);
    EXPECT_EQ(tracker->pages_looked_at(), GetParam() == way::all ? pages - header : 4);
    boundary(6, 5);
    EXPECT_EQ(tracker->how(), GetParam());
}

// It is opened where the kernel's tables were: they seem to be empty.
void lose_page_tables() {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int fd = 3; fd < 1000; ++fd) {
        std::array<char, 256> name{};
        const std::string link = "/proc/self/fd/" + std::to_string(fd);
        if (::readlink(link.c_str(), name.data(), name.size() - 1) <= 0) continue;
        if (std::string_view(name.data()).ends_with("/pagemap")) ::dup2(nothing, fd);
    }
    ::close(nothing);
}

TEST_P(tracked_pages, where_the_kernel_shows_no_pages_any_more_all_are_looked_at) {
    store(line(one, 5), 1);
    EXPECT_EQ(boundary(5, 4), lines{line(one, 5)});
    store(line(other, 5), 1);
    store(line(one, 6), 1);
    lose_page_tables();
    EXPECT_EQ(boundary(6, 4), (lines{line(one, 5), line(one, 6), line(other, 5)}));
    EXPECT_EQ(tracker->how(), way::all);
}

TEST_P(tracked_pages, what_cannot_be_compared_is_captured) {
    tracker.emplace(base, bytes, -1, GetParam() == way::all ? way::copies : GetParam());
    tracker->watch(0, bytes);
    store(line(one, 5), 1);
    lines all(lines_of_page);
    for (u64 i = 0; i < lines_of_page; ++i) all[i] = line(one, i);
    EXPECT_EQ(boundary(5, 4), all);
}

// A journal in miniature: records of lines, applied in order some time later, with whole pages
// written as they are. Base and all records together must be what memory was at the boundary.
TEST_P(tracked_pages, records_and_base_are_memory_whatever_is_stored_applied_and_given_back) {
    struct record {
        u64 epoch;
        std::map<u64, std::array<std::byte, line_size>> lines;
    };
    constexpr u64 span = 24;  // pages
    const u64 epochs = test::effort<u64>(300, 60);
    for (u64 seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        xoshiro256ss random(seed);
        std::vector<record> waiting;
        std::vector<std::byte> file(span * small_page);
        const auto at = static_cast<off_t>(one * small_page);
        ASSERT_EQ(::pread(fd, file.data(), file.size(), at), static_cast<ssize_t>(file.size()));
        u64 applied = seed * 1000;
        std::map<u64, u64> last;  // page: epoch
        for (u64 epoch = applied + 1; epoch < applied + 1 + epochs && !HasFailure(); ++epoch) {
            for (u64 n = random.below(12); n != 0; --n) {
                store(line(one + random.below(span), random.below(4)),
                      static_cast<int>(random.below(3)));
            }
            record now{epoch, {}};
            for (const u64 l : boundary(epoch, applied)) {
                std::memcpy(now.lines[l].data(), base + l * line_size, line_size);
                last[l / lines_of_page] = epoch;
            }
            waiting.push_back(std::move(now));
            auto recovered = file;
            for (const record& r : waiting) {
                for (const auto& [l, data] : r.lines) {
                    std::memcpy(recovered.data() + l * line_size - one * small_page, data.data(),
                                line_size);
                }
            }
            EXPECT_EQ(std::memcmp(recovered.data(), base + at, recovered.size()), 0) << epoch;
            // Some of the records are applied; perhaps the last of them is not given up yet.
            for (u64 n = random.below(3); n != 0 && !waiting.empty(); --n) {
                for (const auto& [l, data] : waiting.front().lines) {
                    std::memcpy(file.data() + l * line_size - one * small_page, data.data(),
                                line_size);
                }
                ASSERT_EQ(::pwrite(fd, file.data(), file.size(), at),
                          static_cast<ssize_t>(file.size()));
                if (random.below(4) == 0) break;
                applied = waiting.front().epoch;
                waiting.erase(waiting.begin());
            }
            const u64 page = one + random.below(span);
            if (last[page] <= applied) {  // M1
                ASSERT_EQ(::madvise(base + page * small_page, small_page, MADV_DONTNEED), 0);
            }
        }
        for (u64 p = 0; p < span; ++p) apply(one + p);  // all that is waiting
    }
}

// Applying records may write whole pages, with the other lines as they are (T1).
TEST_P(tracked_pages, lines_beside_those_being_applied_are_told_exactly) {
    const u64 applying = line(one, 5);
    const u64 beside = line(one, 6);
    store(applying, 1);
    boundary(5, 4);
    std::atomic<bool> stop = false;
    std::thread applier([&] {
        std::array<std::byte, small_page> page{};
        for (unsigned n = 0; !stop; ++n) {
            page[5 * line_size + 63] = static_cast<std::byte>(n % 2);
            ASSERT_EQ(::pwrite(fd, page.data(), page.size(), static_cast<off_t>(one * small_page)),
                      static_cast<ssize_t>(page.size()));
        }
    });
    for (int n = 0, most = test::effort(1000, 200); n < most; ++n) {
        store(beside, n % 2);
        const lines expected = n % 2 == 0 ? lines{applying} : lines{applying, beside};
        EXPECT_EQ(tracker->collect(bytes, 4), expected);
    }
    stop = true;
    applier.join();
}

/// Whether the kernel can tell which pages were written, as its version and our rights promise.
bool kernel_tells() {
    utsname kernel{};
    int major = 0;
    int minor = 0;
    if (::uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2) {
        return false;
    }
    const auto uffd = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | 1));
    if (uffd >= 0) ::close(uffd);
    return uffd >= 0 && std::pair(major, minor) >= std::pair(6, 7);
}

// Or the tests of that way would be left out unnoticed.
TEST(page_tracking, uses_what_the_kernel_has) {
    if (kernel_tells()) {
        EXPECT_NE(written_pages::start(), nullptr);
    } else {
        std::printf("this kernel cannot tell what was written: the other ways alone are tested\n");
    }
}

// Functions that this machine's kernel lacks are not tested on it, and those that it has are not
// skipped.
std::vector<way> ways_from_kernel() {
    return written_pages::start() ? std::vector{way::written} : std::vector<way>{};
}
const auto name_of_way = [](const auto& one_of) { return std::string(to_string(one_of.param)); };
INSTANTIATE_TEST_SUITE_P(ways, tracked_pages, ::testing::Values(way::copies, way::all),
                         name_of_way);
INSTANTIATE_TEST_SUITE_P(kernel, tracked_pages, ::testing::ValuesIn(ways_from_kernel()),
                         name_of_way);
INSTANTIATE_TEST_SUITE_P(kernel, pages_tracked_by_kernel, ::testing::ValuesIn(ways_from_kernel()),
                         name_of_way);

}  // namespace
}  // namespace hf
