// Memory that is anonymous while there is room, and the file's once it is to be given back: what is
// read from it, before, meanwhile and afterwards.
#include "paging/huge_memory.hpp"

#include "paging/private_pages.hpp"
#include "region/layout.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

namespace hf {
namespace {

constexpr u64 small_page = private_pages::page_bytes;
constexpr u64 first = layout::page_size;  // after the header
constexpr u64 step = huge_memory::huge_page_bytes;
constexpr u64 bytes = 3 * step;

/// A file of which every page after the header begins with 7, which distinguishes it from memory.
class huge_memory_test : public ::testing::Test {
   protected:
    huge_memory_test() {
        fd = ::open((dir / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        EXPECT_EQ(::ftruncate(fd, bytes), 0);
        for (u64 at = first; at < bytes; at += small_page) {
            EXPECT_EQ(::pwrite(fd, "\7", 1, static_cast<off_t>(at)), 1);
        }
        // Aligned as a region's window is.
        void* p = ::mmap(nullptr, bytes + step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        reserved = static_cast<std::byte*>(p);
        base = reserved + (align_up(reinterpret_cast<u64>(p), step) - reinterpret_cast<u64>(p));
        EXPECT_NE(::mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0),
                  MAP_FAILED);
    }

   public:
    ~huge_memory_test() override {
        ::munmap(reserved, bytes + step);
        ::close(fd);
    }

   protected:
    [[nodiscard]] int at(u64 offset) const { return std::to_integer<int>(base[offset]); }
    void mark_all() {
        for (u64 p = first; p < bytes; p += small_page) base[p] = std::byte{1};
    }

    test::scratch_directory dir;
    int fd = -1;
    std::byte* reserved = nullptr;
    std::byte* base = nullptr;
};

TEST_F(huge_memory_test, begins_as_zeros_and_goes_to_the_file_step_by_step) {
    huge_memory huge(base, fd);
    EXPECT_TRUE(huge.empty());
    ASSERT_TRUE(huge.map_zeros(first, 2 * step));
    ASSERT_TRUE(huge.map_zeros(2 * step, bytes));
    for (u64 p = first; p < bytes; p += small_page) EXPECT_EQ(at(p), 0);
    mark_all();
    // Every third page of each step stays.
    const auto keep = [](u64 p) { return p % 3 == 0; };
    for (const u64 end : {step, 2 * step, 3 * step}) {
        EXPECT_EQ(huge.step_end(), end) << "steps end at huge pages";
        u64 given_back = 0;
        for (u64 p = huge.begin(); p < end; p += small_page) given_back += !keep(p / small_page);
        EXPECT_EQ(huge.step_to_file(keep), given_back);
        EXPECT_EQ(huge.begin(), end);
        for (u64 p = first; p < bytes; p += small_page) {
            EXPECT_EQ(at(p), p >= end || keep(p / small_page) ? 1 : 7) << p / small_page;
        }
    }
    EXPECT_TRUE(huge.empty());
    base[first] = std::byte{9};  // a copy: the file does not change
    char in_file = 0;
    ASSERT_EQ(::pread(fd, &in_file, 1, first), 1);
    EXPECT_EQ(in_file, 7);
}

TEST_F(huge_memory_test, is_one_range) {
    huge_memory huge(base, fd);
    ASSERT_TRUE(huge.map_zeros(first, step));
    EXPECT_FALSE(huge.map_zeros(2 * step, bytes)) << "not next to the rest";
    EXPECT_EQ(at(2 * step), 7);
    for (const u64 p : {first, first + 1, step - 1}) EXPECT_TRUE(huge.contains(p)) << p;
    for (const u64 p : {u64{0}, first - 1, step, bytes}) EXPECT_FALSE(huge.contains(p)) << p;
    while (!huge.empty()) huge.step_to_file([](u64) { return true; });
    EXPECT_FALSE(huge.contains(first) || huge.contains(step));
    EXPECT_TRUE(huge.map_zeros(2 * step, bytes)) << "an empty range may begin anywhere";
    EXPECT_EQ(huge.begin(), 2 * step);
    EXPECT_EQ(at(2 * step), 0);
}

TEST_F(huge_memory_test, what_the_kernel_refuses_changes_nothing) {
    huge_memory huge(base, -1);
    constexpr u64 nowhere = u64{1} << 47;
    EXPECT_FALSE(huge.map_zeros(nowhere, nowhere + step));
    EXPECT_TRUE(huge.empty());
    EXPECT_EQ(huge.end(), 0U);
    ASSERT_TRUE(huge.map_zeros(first, step));
    mark_all();
    EXPECT_EQ(huge.step_to_file([](u64) { return false; }), std::nullopt) << "without its file";
    EXPECT_EQ(huge.begin(), first);
    EXPECT_EQ(at(first), 1);
}

TEST_F(huge_memory_test, who_reads_meanwhile_notices_nothing) {
    huge_memory huge(base, fd);
    ASSERT_TRUE(huge.map_zeros(first, bytes));
    mark_all();
    std::atomic<bool> stop{false};
    std::atomic<u64> wrong{0};
    std::thread reader([&] {
        while (!stop.load()) {
            for (u64 p = first; p < bytes; p += small_page) {
                if (std::atomic_ref(base[p]).load() != std::byte{1}) ++wrong;
            }
        }
    });
    while (!huge.empty()) huge.step_to_file([](u64) { return true; });
    stop = true;
    reader.join();
    EXPECT_EQ(wrong.load(), 0U);
}

/// With the rules of private_pages: what may be given back, and when.
class huge_private_pages : public huge_memory_test {
   protected:
    huge_private_pages() {
        copies.emplace(base, bytes, fd, bytes);
        EXPECT_FALSE(copies->map_growth(first, bytes)) << "more than three quarters of the budget";
        EXPECT_EQ(at(first), 7);
        EXPECT_TRUE(copies->map_growth(first, 2 * step));
        mark_all();
        copies->begin_if_needed(bytes, 5);
        EXPECT_FALSE(copies->map_growth(2 * step, bytes)) << "the region has outgrown its memory";
    }
    void apply_and_drop(u64 epoch) {
        copies->find_droppable(bytes, epoch);
        copies->drop();
    }
    void capture(u64 offset, u64 epoch) {
        const u64 line = offset / line_size;
        copies->captured({&line, 1}, epoch);
    }
    std::optional<private_pages> copies;
};

TEST_F(huge_private_pages, what_the_base_has_goes_back_to_the_file) {
    capture(first + small_page, 6);
    apply_and_drop(4);
    EXPECT_EQ(copies->huge().begin(), first) << "nothing may go yet (M3)";
    apply_and_drop(5);
    EXPECT_EQ(copies->huge().begin(), step) << "then there is room again";
    EXPECT_EQ(at(first), 7);
    EXPECT_EQ(at(first + small_page), 1) << "captured in an epoch that the base has not (M1)";
    EXPECT_EQ(at(step), 1);
    EXPECT_GE(copies->dropped_bytes(), step - first - small_page);
    for (int some_at_a_time = 0; some_at_a_time < 4; ++some_at_a_time) apply_and_drop(6);
    EXPECT_EQ(at(first + small_page), 7) << "a page like any other by now";
}

TEST_F(huge_private_pages, what_is_held_stays_until_it_is_not) {
    {
        const private_pages::hold hold(&*copies, base + first + 100, 1);
        apply_and_drop(5);
        EXPECT_EQ(copies->huge().begin(), first);
        EXPECT_EQ(at(step - small_page), 1) << "nothing of the step in which a page is held goes";
    }
    apply_and_drop(5);
    EXPECT_EQ(copies->huge().begin(), step);
    EXPECT_EQ(at(step - small_page), 7);
}

TEST_F(huge_private_pages, what_is_held_behind_a_step_does_not_hold_it_up) {
    const private_pages::hold hold(&*copies, base + step, 1);
    apply_and_drop(5);
    EXPECT_EQ(copies->huge().begin(), step);
}

TEST_F(huge_private_pages, growth_has_huge_pages_while_all_of_it_fits) {
    constexpr u64 enough = step / 4 * 3;
    copies.emplace(base, bytes, fd, step);
    EXPECT_FALSE(copies->map_growth(first, enough + layout::page_size));
    EXPECT_TRUE(copies->map_growth(first, enough));
    EXPECT_FALSE(copies->map_growth(first, first)) << "refused: not next to the rest";
}

TEST_F(huge_private_pages, growth_has_small_pages_as_soon_as_pages_are_given_back) {
    copies.emplace(base, bytes, fd, bytes);
    copies->begin_if_needed(bytes, 5);
    ASSERT_TRUE(copies->is_tracking());
    EXPECT_FALSE(copies->map_growth(first, step)) << "however small it is";
}

// Anonymous memory that was dropped would be zeros.
TEST_F(huge_private_pages, huge_pages_that_cannot_go_yet_are_not_dropped_as_small_ones_are) {
    copies.emplace(base, bytes, fd, u64{11} << 19);
    ASSERT_TRUE(copies->map_growth(first, 2 * step));
    mark_all();
    copies->begin_if_needed(bytes, 5);
    {
        const private_pages::hold hold(&*copies, base + first, 1);
        copies->find_droppable(bytes, 5);
        ASSERT_TRUE(copies->is_over_budget());
        copies->drop();
    }
    EXPECT_EQ(copies->huge().begin(), first);
    for (u64 p = first; p < bytes; p += small_page) {
        ASSERT_EQ(at(p), p < 2 * step ? 1 : 7) << p / small_page;
    }
    EXPECT_EQ(copies->dropped_bytes(), bytes - 2 * step);
}

TEST_F(huge_private_pages, when_none_are_left_small_ones_go_on_being_given_back) {
    copies.emplace(base, bytes, fd, u64{11} << 19);
    ASSERT_TRUE(copies->map_growth(first, 2 * step));
    mark_all();
    copies->begin_if_needed(bytes, 5);
    for (u64 p = first; p < bytes; p += small_page) capture(p, 6);
    for (int i = 0; i < 3; ++i) {  // all of it is kept, and copied into the mapping of the file
        copies->find_droppable(bytes, 5);
        ASSERT_TRUE(copies->wants_room());
        copies->drop();
    }
    EXPECT_TRUE(copies->huge().empty());
    EXPECT_TRUE(copies->is_tracking());
    for (u64 p = first; p < bytes; p += small_page) ASSERT_EQ(at(p), 1);
    apply_and_drop(6);
    EXPECT_EQ(at(first), 7);
}

TEST_F(huge_private_pages, without_address_space_memory_stays_the_process_s_own) {
    copies.emplace(base, bytes, -1, bytes);
    ASSERT_TRUE(copies->map_growth(first, 2 * step));
    mark_all();
    copies->begin_if_needed(bytes, 5);
    apply_and_drop(5);
    EXPECT_FALSE(copies->is_tracking());
    EXPECT_EQ(copies->dropped_bytes(), 0U);
    for (u64 p = first; p < bytes; p += small_page) ASSERT_EQ(at(p), 1);
    copies->begin_if_needed(bytes, 6);
    EXPECT_FALSE(copies->is_tracking()) << "it was given up";
}

}  // namespace
}  // namespace hf
