// The undo log: what is counted, its bound, and stores that are not the group's.
#include "section/opened_group.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

namespace hf {
namespace {

using namespace std::chrono_literals;

class section_log : public test::on_tmpfs {
   protected:
    static constexpr u64 lines = 4000;

    /// `blocks` have as many lines; the maximal size leaves little room for logs.
    char* open(bool clock, u64 max_bytes = u64{16} << 20) const {
        auto o = test::by_hand(HF_STORES_ANNOUNCED);
        o.max_bytes = max_bytes;
        o.by_hand = clock ? 0 : 1;
        o.period_us = 10'000'000;
        EXPECT_EQ(hf_group_open(file.c_str(), &o), 0) << hf_section_error();
        auto* const p = static_cast<char*>(hf_aligned(hf_region_open("r"), 64, lines * 64));
        EXPECT_NE(p, nullptr) << hf_section_error();
        EXPECT_EQ(hf_section_cut(), 0) << hf_section_error();
        return p;
    }
    void TearDown() override { static_cast<void>(hf_group_close()); }
    static hf_section_numbers numbers() {
        hf_section_numbers n{};
        hf_section_numbers_get(&n);
        return n;
    }
};

TEST_F(section_log, has_one_entry_for_a_line_in_an_epoch) {
    char* const p = open(false);
    const u64 before = numbers().lines;
    for (int i = 0; i < 10; ++i) test::store(p[i], 'a');
    EXPECT_EQ(numbers().lines, before + 1);
    static_cast<void>(hf_section_store(p + 60, 8));  // two lines, one of them touched
    hf_section_stored();
    EXPECT_EQ(numbers().lines, before + 2);
    ASSERT_EQ(hf_section_cut(), 0);
    test::store(p[0], 'b');
    EXPECT_EQ(numbers().lines, before + 3) << "a new epoch";
}

TEST_F(section_log, that_is_nearly_full_makes_the_clock_cut_before_its_time) {
    char* const p = open(true);
    const u64 cuts = numbers().cuts;
    for (u64 i = 0; i < 4 * lines; ++i) {
        test::store(p[i % lines * 64], 'a');
    }
    EXPECT_GT(numbers().cuts, cuts) << "the period is 10 s";
}

/// The logs of the other threads keep their space, so the last one can have little.
TEST_F(section_log, of_a_thread_beside_many_makes_the_clock_cut_before_it_is_full) {
    char* const p = open(true, u64{640} << 20);
    std::vector<std::thread> others;
    std::atomic<unsigned> logged{0};
    std::atomic<bool> end{false};
    constexpr unsigned threads = 16;
    for (unsigned t = 0; t < threads; ++t) {
        others.emplace_back([&, t] {
            for (u64 i = 0; i < 20; ++i) test::store(p[(20 * t + i) * 64], 'o');
            ++logged;
            while (!end) std::this_thread::yield();
        });
    }
    while (logged != threads) std::this_thread::yield();
    const u64 cuts = numbers().cuts;
    for (u64 i = 20 * threads; i < lines; ++i) test::store(p[i * 64], 'a');
    EXPECT_GT(numbers().cuts, cuts) << "the period is 10 s";
    end = true;
    for (auto& t : others) t.join();
}

TEST_F(section_log, of_one_section_that_is_full_ends_the_process_with_a_message) {
    EXPECT_DEATH(
        {
            char* const p = open(false);
            hf_section_begin();
            static_cast<void>(hf_section_store(p, lines * 64));
        },
        "undo log of sections is full");
}

TEST_F(section_log, has_no_entry_for_a_large_block_that_was_free_at_the_last_cut) {
    open(false, u64{4} << 30);
    hf_region* const r = hf_region_open("r");
    constexpr u64 bytes = u64{1} << 20;
    const u64 before = numbers().lines;
    char* const p = static_cast<char*>(hf_zeroed(r, 1, bytes));
    ASSERT_NE(p, nullptr);
    EXPECT_LT(numbers().lines, before + 4) << "the headers of two runs";
    ASSERT_EQ(hf_section_cut(), 0);
    hf_free(p);
    ASSERT_EQ(hf_zeroed(r, 1, bytes), p);
    EXPECT_GE(numbers().lines, before + bytes / 64) << "the last cut has the block";
    ASSERT_EQ(hf_section_cut(), 0);
    hf_free(p);
    ASSERT_EQ(hf_section_cut(), 0);
    const u64 freed = numbers().lines;
    ASSERT_EQ(hf_zeroed(r, 1, bytes), p);
    EXPECT_LT(numbers().lines, freed + 4) << "free at the last cut again";
}

/// Each round changes large blocks in another way and crashes; the cut's contents come back.
TEST_F(section_log, of_large_blocks_brings_back_what_the_cut_had) {
    constexpr u64 bytes = 200'000;
    const auto fill = [](char* p, char with) {
        hf_section_begin();
        static_cast<void>(hf_section_store(p, bytes));
        std::memset(p, with, bytes);
        hf_section_end();
    };
    enum way { freed_and_taken, freed_cut_and_taken, neighbours_freed, ways };
    for (int how = 0; how < ways; ++how) {
        const pid_t child = ::fork();
        if (child == 0) {
            open(false, u64{4} << 30);
            hf_region* const r = hf_region_open("large");
            std::array<char*, 3> p{};
            for (char*& block : p) fill(block = static_cast<char*>(hf_alloc(r, bytes)), 'a');
            hf_root_set(r, "kept", p[1]);
            if (how == freed_cut_and_taken) hf_free(p[0]);
            if (hf_section_cut() != 0) ::_exit(1);
            if (how != freed_cut_and_taken) hf_free(p[0]);
            if (how == neighbours_freed) hf_free(p[1]), hf_free(p[2]);
            for (int i = 0; i < 4; ++i) fill(static_cast<char*>(hf_alloc(r, bytes)), 'b');
            ::_exit(0);
        }
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
        open(false, u64{4} << 30);
        hf_region* const r = hf_region_open("large");
        const char* const kept = static_cast<char*>(hf_root_get(r, "kept"));
        ASSERT_NE(kept, nullptr);
        for (u64 i = 0; i < bytes; ++i) ASSERT_EQ(kept[i], 'a') << how << " " << i;
        ASSERT_EQ(hf_group_close(), 0);
        std::filesystem::remove(file);
    }
}

TEST_F(section_log, knows_which_stores_are_the_groups) {
    open(false);
    const u64 before = numbers().lines;
    region_options o;
    o.kind = discipline::transient;
    const auto other = region::create_volatile(u64{1} << 20, o);
    ASSERT_TRUE(other);
    if (!hf_is_persistent((*other)->base())) GTEST_SKIP() << "a sanitizer has the arena's place";
    EXPECT_EQ(hf_section_store((*other)->base() + layout::page_size, 8), 0);
    EXPECT_EQ(numbers().lines, before);
}

TEST_F(section_log, refuses_a_store_to_memory_that_the_group_does_not_have) {
    EXPECT_DEATH(
        {
            char* const p = open(false);
            static_cast<void>(hf_section_store(p + (u64{1} << 30), 8));
        },
        "memory in the window of the group that it does not have");
}

}  // namespace
}  // namespace hf
