// Which private copies of a file's pages are dropped, seen by what is read afterwards: a dropped
// page reads as the file has it.
#include "paging/private_pages.hpp"

#include "calls.hpp"
#include "region/layout.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace hf {
namespace {

constexpr u64 page = private_pages::page_bytes;
constexpr u64 header = layout::page_size / page;  // pages
constexpr u64 pages = header + 32;
constexpr u64 lines_of_page = page / line_size;

class private_pages_test : public ::testing::Test {
   protected:
    private_pages_test() {
        fd = ::open((dir / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        EXPECT_EQ(::ftruncate(fd, pages * page), 0);
        base = static_cast<std::byte*>(
            ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
        copies.emplace(base, pages * page, fd, page);
        for (u64 p = 0; p < pages; ++p) base[p * page] = std::byte{1};
    }
    ~private_pages_test() override {
        copies.reset();
        ::munmap(base, pages * page);
        ::close(fd);
    }
    void begin(u64 epoch) { copies->begin_if_needed(pages * page, epoch); }
    void capture(u64 p, u64 epoch) {
        const u64 line = p * lines_of_page + 3;
        copies->captured({&line, 1}, epoch);
    }
    void apply_and_drop(u64 epoch) {
        copies->find_droppable(pages * page, epoch);
        copies->drop();
    }
    bool is_kept(u64 p) { return base[p * page] == std::byte{1}; }

    test::scratch_directory dir;
    int fd = -1;
    std::byte* base = nullptr;
    std::optional<private_pages> copies;
};

constexpr u64 one = header + 1;
constexpr u64 other = header + 7;

TEST_F(private_pages_test, what_the_base_has_is_dropped_and_nothing_else) {
    begin(5);
    capture(one, 6);
    capture(other, 7);
    apply_and_drop(6);
    EXPECT_FALSE(is_kept(one));
    EXPECT_TRUE(is_kept(other)) << "captured in an epoch that the base has not (M1)";
    apply_and_drop(7);
    EXPECT_FALSE(is_kept(other));
    EXPECT_GE(copies->dropped_bytes(), 2 * page);
}

TEST_F(private_pages_test, nothing_is_dropped_where_all_is_to_be_kept) {
    copies->keep_all();
    begin(5);
    capture(one, 6);
    apply_and_drop(6);
    EXPECT_TRUE(is_kept(one));
    EXPECT_FALSE(copies->is_tracking());
    EXPECT_FALSE(copies->wants_room()) << "a writer would wait for ever";
}

TEST_F(private_pages_test, what_is_captured_after_the_look_is_kept) {
    begin(5);
    capture(one, 6);
    copies->find_droppable(pages * page, 6);
    capture(one, 7);
    copies->drop();
    EXPECT_TRUE(is_kept(one));
}

TEST_F(private_pages_test, what_was_captured_before_tracking_began_counts_as_of_then) {
    begin(5);
    apply_and_drop(4);
    EXPECT_TRUE(is_kept(one)) << "it may have been captured in epoch 5 (M3)";
    apply_and_drop(5);
    EXPECT_FALSE(is_kept(one));
}

TEST_F(private_pages_test, nothing_is_dropped_before_the_region_outgrows_its_memory) {
    copies->begin_if_needed(page / 2, 5);
    apply_and_drop(100);
    for (u64 p = 0; p < pages; ++p) EXPECT_TRUE(is_kept(p));
}

TEST_F(private_pages_test, what_is_held_and_the_header_are_kept) {
    begin(5);
    {
        const private_pages::hold hold(&*copies, base + one * page + 100, page);
        apply_and_drop(100);
        EXPECT_TRUE(is_kept(one));
        EXPECT_TRUE(is_kept(one + 1)) << "the last byte lies in it";
        EXPECT_FALSE(is_kept(one + 2));
    }
    apply_and_drop(100);
    EXPECT_FALSE(is_kept(one));
    for (u64 p = 0; p < header; ++p) EXPECT_TRUE(is_kept(p));
}

TEST_F(private_pages_test, copies_are_counted) {
    begin(5);
    apply_and_drop(4);
    EXPECT_EQ(copies->bytes(), pages * page);
    apply_and_drop(5);
    EXPECT_EQ(copies->bytes(), header * page) << "the header's stay";
    capture(one, 6);
    EXPECT_EQ(copies->bytes(), (header + 1) * page);
    EXPECT_TRUE(copies->is_over_budget());
}

TEST_F(private_pages_test, tracking_begins_once_beyond_three_quarters_of_the_budget) {
    copies.emplace(base, pages * page, fd, 16 * page);
    copies->begin_if_needed(12 * page, 3);
    EXPECT_FALSE(copies->is_tracking());
    copies->begin_if_needed(12 * page + 1, 5);
    EXPECT_TRUE(copies->is_tracking());
    copies->begin_if_needed(pages * page, 9);
    apply_and_drop(5);
    EXPECT_FALSE(is_kept(one)) << "it began in epoch 5";
}

TEST_F(private_pages_test, just_what_is_held_stays) {
    for (u64 from = 0; from < 3 * page; from += page / 4) {
        for (const u64 n : {u64{0}, u64{1}, page / 4, page - 1, page, page + 1, 2 * page}) {
            copies.emplace(base, pages * page, fd, page);
            begin(5);
            for (u64 p = header; p < pages; ++p) base[p * page] = std::byte{1};
            const private_pages::hold nobodys(nullptr, base, page);
            const private_pages::hold hold(&*copies, base + one * page + from, n);
            apply_and_drop(5);
            for (u64 p = 0; p < pages; ++p) {
                const bool held = n != 0 && p * page < one * page + from + n &&
                                  one * page + from < (p + 1) * page;
                ASSERT_EQ(is_kept(p), p < header || held) << p << ": " << from << ' ' << n;
            }
        }
    }
}

TEST_F(private_pages_test, memory_that_is_locked_is_given_up) {
    // Sanitizers make an empty function of mlock().
    ASSERT_EQ(::syscall(SYS_mlock, base + one * page, page), 0);
    begin(5);
    apply_and_drop(5);
    EXPECT_FALSE(copies->is_tracking());
    EXPECT_EQ(copies->dropped_bytes(), 0U);
    EXPECT_EQ(copies->bytes(), 0U);
    EXPECT_FALSE(copies->wants_room());
    EXPECT_TRUE(is_kept(one));
    begin(6);
    EXPECT_FALSE(copies->is_tracking()) << "for good";
}

/// Of many pages.
class many_private_pages : public ::testing::Test {
   protected:
    static constexpr u64 many = header + 2500;
    many_private_pages() {
        fd = ::open((dir / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        EXPECT_EQ(::ftruncate(fd, many * page), 0);
        base = static_cast<std::byte*>(
            ::mmap(nullptr, many * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
    }
    ~many_private_pages() override {
        ::munmap(base, many * page);
        ::close(fd);
    }
    void store(u64 first, u64 end) const {
        for (u64 p = first; p < end; ++p) base[p * page] = std::byte{1};
    }
    test::scratch_directory dir;
    int fd = -1;
    std::byte* base = nullptr;
};

TEST_F(many_private_pages, any_pattern_of_them_is_dropped) {
    for (const u64 every : {1, 2, 3, 700}) {  // more ranges than one call takes
        private_pages copies(base, many * page, fd, page);
        copies.begin_if_needed(many * page, 5);
        store(header, many);
        std::vector<u64> captured;
        for (u64 p = header; p < many; p += every) captured.push_back(p * lines_of_page);
        copies.captured(captured, 6);
        copies.find_droppable(many * page, 5);
        copies.drop();
        EXPECT_EQ(copies.dropped_bytes() / page, many - header - captured.size());
        for (u64 p = header; p < many; ++p) {
            ASSERT_EQ(base[p * page] == std::byte{1}, (p - header) % every == 0) << p;
        }
        store(header, many);
        copies.find_droppable(many * page, 6);
        copies.drop();
        for (u64 p = header; p < many; ++p) ASSERT_EQ(base[p * page], std::byte{0}) << p;
    }
}

// On a kernel that has no call for all of them.
TEST_F(many_private_pages, are_dropped_one_run_after_the_other_just_as_well) {
    private_pages copies(base, many * page, fd, page);
    copies.begin_if_needed(many * page, 5);
    store(header, many);
    const u64 kept = (header + 40) * lines_of_page;
    copies.captured({&kept, 1}, 6);
    copies.find_droppable(many * page, 5);
    test::calls.answer = [](const std::string& name) { return name == "process_madvise"; };
    test::calls.count.clear();
    copies.drop();
    test::calls.answer = {};
    EXPECT_TRUE(copies.is_tracking()) << "it was taken for a refusal";
    EXPECT_EQ(copies.dropped_bytes() / page, many - header - 1);
    for (u64 p = header; p < many; ++p) {
        ASSERT_EQ(base[p * page] == std::byte{1}, p == header + 40) << p;
    }
    EXPECT_EQ(test::calls.count["madvise"], 2U) << "neighbours go together";
}

TEST_F(many_private_pages, are_given_back_512_runs_at_once) {
    private_pages copies(base, many * page, fd, page);
    copies.begin_if_needed(many * page, 5);
    for (u64 p = header; p < many; p += 2) base[p * page] = std::byte{1};
    copies.find_droppable(many * page, 5);
    test::calls.count.clear();
    copies.drop();
    EXPECT_EQ(copies.dropped_bytes() / page, 1250U);
    EXPECT_EQ(test::calls.count["process_madvise"], 3U);
}

TEST_F(many_private_pages, a_boundary_drops_some_while_there_is_room_and_all_when_there_is_none) {
    for (const u64 over : {0, 1}) {
        constexpr u64 some = 256;
        store(header, header + 600);
        private_pages copies(base, many * page, fd, (600 - over) * page);
        copies.begin_if_needed(many * page, 5);
        copies.find_droppable(many * page, 5);
        EXPECT_EQ(copies.is_over_budget(), over == 1);
        copies.drop();
        EXPECT_EQ(copies.dropped_bytes() / page, over == 1 ? 600 : some);
    }
}

TEST_F(many_private_pages, how_much_is_too_much) {
    constexpr u64 budget = 64;  // pages
    private_pages copies(base, many * page, fd, budget * page);
    copies.begin_if_needed(many * page, 5);
    for (u64 n = 1; n < 80; ++n) {
        store(header, header + n);
        copies.find_droppable(many * page, 0);
        EXPECT_EQ(copies.bytes(), n * page);
        EXPECT_EQ(copies.wants_room(), n > budget / 4 * 3) << n;
        EXPECT_EQ(copies.is_over_budget(), n > budget) << n;
        EXPECT_EQ(copies.is_far_over_budget(), n > budget / 8 * 9) << n;
    }
    const u64 line = (header + 100) * lines_of_page;
    for (const u64 epoch : {6, 6, 7}) {
        copies.captured({&line, 1}, epoch);
        EXPECT_EQ(copies.bytes(), 80 * page) << "a page is counted when it is first captured";
    }
}

/// Half of the least of what the machine has and what the groups of this process may take.
u64 expected_budget() {
    u64 least = static_cast<u64>(::sysconf(_SC_PHYS_PAGES)) * page;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        std::istringstream parts(line);
        std::string number, controllers, path;
        std::getline(parts, number, ':');
        std::getline(parts, controllers, ':');
        std::getline(parts, path);
        const bool new_kind = number == "0" && controllers.empty();
        if (!new_kind && controllers != "memory") continue;
        const std::filesystem::path root = new_kind ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        std::filesystem::path group = root;
        std::vector<std::filesystem::path> all{root};
        for (const auto& name : std::filesystem::path(path).relative_path()) {
            all.push_back(group /= name);
        }
        for (const auto& g : all) {
            std::ifstream in(g / (new_kind ? "memory.max" : "memory.limit_in_bytes"));
            u64 limit = 0;
            if (in >> limit) least = std::min(least, limit);
        }
    }
    return least / 2;
}

TEST(memory_budget, is_half_of_what_the_process_may_use) {
    EXPECT_EQ(default_memory_budget(), expected_budget());
    EXPECT_GT(default_memory_budget(), 0U);
}

/// Files as in /proc and /sys, in a directory of the test's own.
class memory_of_groups : public ::testing::Test {
   protected:
    void limit(const std::string& group, const std::string& file, const std::string& text) {
        std::filesystem::create_directories(dir / "sys" / group);
        std::ofstream(dir / "sys" / group / file) << text << '\n';
    }
    u64 of(const std::string& groups) {
        std::ofstream(dir / "groups") << groups;
        return group_memory_limit(dir / "groups", dir / "sys");
    }
    static constexpr u64 anything = ~u64{0};
    test::scratch_directory dir;
};

TEST_F(memory_of_groups, is_the_least_from_the_root_to_the_process) {
    EXPECT_EQ(of("0::/a/b/c\n"), anything) << "nobody says anything";
    const std::vector<std::string> groups{"", "a", "a/b", "a/b/c"};
    for (const std::string& tightest : groups) {
        for (const std::string& group : groups) {
            limit(group, "memory.max", group == tightest ? "1000" : "2000");
        }
        EXPECT_EQ(of("0::/a/b/c\n"), 1000U) << tightest;
        EXPECT_EQ(of("0::/a/b\n"), tightest == "a/b/c" ? 2000U : 1000U) << tightest;
        EXPECT_EQ(of("0::/\n"), tightest.empty() ? 1000U : 2000U) << tightest;
        EXPECT_EQ(of("0::/other\n"), tightest.empty() ? 1000U : 2000U) << tightest;
    }
    for (const std::string& group : groups) limit(group, "memory.max", "max");
    EXPECT_EQ(of("0::/a/b/c\n"), anything);
    EXPECT_EQ(of(""), anything);
}

TEST_F(memory_of_groups, is_told_by_either_version) {
    limit("memory/a", "memory.limit_in_bytes", "500");
    limit("cpu/a", "memory.limit_in_bytes", "1");
    limit("b", "memory.max", "700");
    EXPECT_EQ(of("5:memory:/a\n"), 500U);
    EXPECT_EQ(of("4:cpu:/a\n5:memory:/b\n"), anything);
    EXPECT_EQ(of("4:cpu:/a\n5:memory:/a\n0::/b\n"), 500U);
    EXPECT_EQ(of("0::/b\n4:cpu:/a\n"), 700U);
    EXPECT_EQ(of("0::/a\n"), anything);
}

TEST_F(memory_of_groups, may_have_colons_in_their_names) {
    limit("lxc:one/two:three", "memory.max", "300");
    EXPECT_EQ(of("0::/lxc:one/two:three\n"), 300U);
}

}  // namespace
}  // namespace hf
