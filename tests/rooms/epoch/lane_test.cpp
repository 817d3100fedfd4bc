// Which lines a lane lists, and when it writes back by itself.
#include "epoch/lane.hpp"

#include "persist/counters.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

namespace hf {
namespace {

constexpr std::size_t once_lines = 2048;
constexpr std::size_t sticky_lag = std::size_t{1} << 16;
constexpr std::size_t sticky_batch = 512;

class lane_test : public ::testing::Test {
   protected:
    lane_test() {
        mine.track = true;
        mine.base = memory.data();
        mine.med = medium(medium_kind::shm, flush_instruction::clflush, 0);
        mine.presence.enter();
    }
    ~lane_test() override { mine.presence.leave(); }
    [[nodiscard]] persist_counters since() const {
        persist_counters now = thread_persist_counters();
        now.flushes -= before.flushes;
        now.fences -= before.fences;
        return now;
    }
    [[nodiscard]] std::vector<u64> once() const { return {mine.once().begin(), mine.once().end()}; }
    static std::vector<u64> from_to(u64 first, u64 last) {
        std::vector<u64> lines(last - first + 1);
        std::iota(lines.begin(), lines.end(), first);
        return lines;
    }

    alignas(4096) inline static std::array<std::byte, (once_lines + 8) * line_size> memory{};
    lane mine;
    persist_counters before = thread_persist_counters();
};

TEST_F(lane_test, notes_every_line_that_is_touched_and_no_other) {
    for (u64 from = 0; from < 3 * line_size; from += 7) {
        for (u64 n = 1; n < 3 * line_size; n += 3) {
            mine.note_once(&memory[from], n);
            mine.note_sticky(&memory[from], n);
            const auto touched = from_to(from / line_size, (from + n - 1) / line_size);
            ASSERT_EQ(once(), touched) << from << ' ' << n;
            ASSERT_EQ(mine.sticky(), touched) << from << ' ' << n;
            mine.reset_lists();
            ASSERT_TRUE(mine.sticky().empty() && mine.once().empty());
        }
    }
}

TEST_F(lane_test, the_regions_first_line_is_noted_in_a_lane_that_has_none) {
    mine.note_once(memory.data(), 1);
    EXPECT_EQ(once(), std::vector<u64>{0});
}

TEST_F(lane_test, a_line_just_noted_is_not_listed_again) {
    mine.note_once(&memory[0], 8);
    mine.note_once(&memory[8], 8);
    mine.note_once(&memory[line_size - 1], 2);
    mine.note_once(&memory[0], 1);
    EXPECT_EQ(once(), (std::vector<u64>{0, 1, 0})) << "but one that came before the last is";
}

TEST_F(lane_test, a_line_noted_again_and_again_is_listed_once_until_it_is_written_back) {
    const auto note = [this](u64 line) { mine.note_line_once(&memory[line * line_size]); };
    for (int i = 0; i < 3; ++i) {
        note(0);
        note(5);
    }
    EXPECT_EQ(once(), (std::vector<u64>{0, 5}));
    note(64);  // takes the place of line 0
    note(0);
    EXPECT_EQ(once(), (std::vector<u64>{0, 5, 64, 0}));
    mine.flush_once();
    note(5);
    EXPECT_EQ(once(), std::vector<u64>{5}) << "what was stored since is not written back yet";
    mine.reset_lists();
    note(5);
    EXPECT_EQ(once(), std::vector<u64>{5});
}

TEST_F(lane_test, a_line_that_is_noted_again_when_the_list_is_full_is_written_back_twice) {
    for (u64 i = 0; i < once_lines; ++i) mine.note_line_once(&memory[i * line_size]);
    EXPECT_EQ(mine.once().size(), once_lines);
    EXPECT_EQ(since().flushes, 0U);
    mine.note_line_once(&memory[once_lines * line_size]);
    EXPECT_EQ(since().flushes, once_lines);
    EXPECT_EQ(since().fences, 1U);
    mine.note_line_once(&memory[(once_lines - 1) * line_size]);
    EXPECT_EQ(once(), (std::vector<u64>{once_lines, once_lines - 1}));
}

TEST_F(lane_test, a_full_list_is_written_back_with_one_fence) {
    mine.note_once(memory.data(), once_lines * line_size);
    EXPECT_EQ(mine.once().size(), once_lines);
    EXPECT_EQ(since().flushes, 0U);
    mine.note_once(&memory[once_lines * line_size], 1);
    EXPECT_EQ(once(), std::vector<u64>{once_lines});
    EXPECT_EQ(since().flushes, once_lines);
    EXPECT_EQ(since().fences, 1U);
    mine.flush_once();
    EXPECT_EQ(since().flushes, once_lines + 1);
    EXPECT_EQ(since().fences, 2U);
    mine.flush_once();
    EXPECT_EQ(since().fences, 2U) << "there is nothing to wait for";
}

TEST_F(lane_test, the_oldest_lines_are_written_back_early_when_there_are_very_many) {
    const auto note = [this] { mine.note_sticky(memory.data(), 1); };
    for (std::size_t i = 1; i < sticky_lag; ++i) note();
    EXPECT_EQ(since().flushes, 0U);
    note();
    EXPECT_EQ(since().flushes, sticky_batch);
    for (std::size_t i = 1; i < sticky_batch; ++i) note();
    EXPECT_EQ(since().flushes, sticky_batch);
    note();
    EXPECT_EQ(since().flushes, 2 * sticky_batch);
    EXPECT_EQ(mine.sticky().size(), sticky_lag + sticky_batch) << "they stay listed";
    EXPECT_EQ(since().fences, 0U);
}

TEST_F(lane_test, lists_nothing_where_nothing_is_to_survive) {
    mine.track = false;
    mine.note_once(memory.data(), line_size);
    mine.note_sticky(memory.data(), line_size);
    mine.note_line_once(memory.data());
    EXPECT_TRUE(mine.once().empty() && mine.sticky().empty());
}

TEST_F(lane_test, what_was_written_is_forgotten_with_the_lists) {
    EXPECT_FALSE(mine.wrote);
    mine.mark_written();
    mine.mark_written();
    EXPECT_TRUE(mine.wrote);
    mine.reset_lists();
    EXPECT_FALSE(mine.wrote);
}

TEST(line_chunks, hold_all_lines_in_their_order_and_none_is_empty) {
    for (const std::size_t n : {0, 1, 2047, 2048, 2049, 4095, 4096, 4097, 10000}) {
        std::vector<u64> lines(n);
        std::iota(lines.begin(), lines.end(), 0U);
        std::vector<line_chunk> chunks;
        cut(lines, chunks);
        std::vector<u64> back;
        for (const line_chunk& c : chunks) {
            EXPECT_TRUE(c.count > 0 && c.count <= lines_per_chunk) << n;
            back.insert(back.end(), c.lines, c.lines + c.count);
        }
        EXPECT_EQ(back, lines);
    }
}

TEST(line_chunks, are_gathered_from_both_lists_of_all_lanes) {
    static std::array<std::byte, 64 * line_size> memory{};
    lanes all(3, 8, [](u32 index) {
        auto l = std::make_unique<lane>();
        l->index = index;
        l->track = true;
        l->base = memory.data();
        return l;
    });
    std::vector<line_chunk> chunks(5);
    gather(all, chunks);
    EXPECT_TRUE(chunks.empty());
    std::set<u64> noted;
    for (u32 i = 0; i < 3; ++i) {
        lane& l = all.at(i);
        l.presence.enter();
        l.note_once(&memory[2 * i * line_size], 1);
        l.note_sticky(&memory[(2 * i + 1) * line_size], 1);
        l.presence.leave();
        noted.insert({2 * i, 2 * i + 1});
    }
    gather(all, chunks);
    std::multiset<u64> found;
    for (const line_chunk& c : chunks) found.insert(c.lines, c.lines + c.count);
    EXPECT_EQ(found, std::multiset<u64>(noted.begin(), noted.end()));
}

}  // namespace
}  // namespace hf
