// The instructions that a medium executes, and its counts.
#include "persist/medium.hpp"

#include "base/clock.hpp"
#include "base/random.hpp"
#include "persist/ordered.hpp"
#include "persist/persist_point.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace hf {
namespace {

constexpr flush_instruction all_instructions[] = {
    flush_instruction::clflush, flush_instruction::clflushopt, flush_instruction::clwb};

persist_counters difference(const persist_counters& from, const persist_counters& to) {
    return {to.flushes - from.flushes, to.fences - from.fences,
            to.flushed_bytes - from.flushed_bytes, to.streamed_bytes - from.streamed_bytes};
}

template <class Work>
persist_counters counted(Work work) {
    const persist_counters before = thread_persist_counters();
    work();
    return difference(before, thread_persist_counters());
}

struct alignas(line_size) lines {
    std::array<std::byte, 64 * line_size> bytes{};
};

TEST(medium, a_flush_counts_exactly_the_lines_that_the_range_touches) {
    lines memory;
    for (const flush_instruction i : all_instructions) {
        if (!has_flush_instruction(i)) continue;
        const medium m(medium_kind::dax, i, 0);
        struct {
            std::size_t from, size;
            u64 lines;
        } const cases[] = {{0, 1, 1},   {0, 64, 1},  {63, 1, 1},  {63, 2, 2},    {1, 64, 2},
                           {0, 65, 2},  {10, 0, 0},  {64, 64, 1}, {60, 200, 5},  {0, 4096, 64},
                           {1, 127, 2}, {63, 65, 2}, {63, 66, 3}, {65, 4000, 63}};
        for (const auto& c : cases) {
            const auto n = counted([&] { m.flush(memory.bytes.data() + c.from, c.size); });
            EXPECT_EQ(n.flushes, c.lines) << c.from << " " << c.size;
            EXPECT_EQ(n.flushed_bytes, c.lines * line_size);
            EXPECT_EQ(n.fences, 0U);
        }
    }
}

TEST(medium, every_range_counts_as_a_brute_force_count_says) {
    lines memory;
    const medium m(medium_kind::dax, best_flush_instruction(), 0);
    xoshiro256ss random(3);
    for (int round = 0; round < 2000; ++round) {
        const u64 from = random.below(memory.bytes.size());
        const u64 size = random.below(memory.bytes.size() - from + 1);
        u64 touched = 0;
        for (u64 line = 0; line < memory.bytes.size() / line_size; ++line) {
            const bool overlaps = from < (line + 1) * line_size && from + size > line * line_size;
            touched += size != 0 && overlaps ? 1 : 0;
        }
        const auto n = counted([&] { m.flush(memory.bytes.data() + from, size); });
        ASSERT_EQ(n.flushes, touched) << from << " " << size;
    }
}

TEST(medium, a_batch_of_lines_counts_each_once) {
    lines memory;
    const medium m(medium_kind::shm, best_flush_instruction(), 0);
    const std::vector<u64> numbers{0, 5, 63, 5};
    const auto n =
        counted([&] { m.flush_lines(memory.bytes.data(), numbers.data(), numbers.size()); });
    EXPECT_EQ(n.flushes, 4U);
    EXPECT_EQ(counted([&] { m.flush_lines(memory.bytes.data(), numbers.data(), 0); }).flushes, 0U);
}

TEST(medium, persist_is_a_flush_and_one_fence) {
    lines memory;
    const medium m(medium_kind::dax, best_flush_instruction(), 0);
    const auto n = counted([&] { m.persist(memory.bytes.data() + 60, 8); });
    EXPECT_EQ(n, (persist_counters{2, 1, 128, 0}));
}

TEST(medium, without_an_instruction_tmpfs_neither_flushes_nor_fences_nor_counts) {
    lines memory;
    const medium m;
    const u64 number = 3;
    EXPECT_FALSE(m.flushes());
    EXPECT_FALSE(m.fences());
    EXPECT_EQ(m.kind(), medium_kind::shm);
    const auto n = counted([&] {
        m.persist(memory.bytes.data(), 4096);
        m.flush_line(memory.bytes.data());
        m.flush_lines(memory.bytes.data(), &number, 1);
        m.stream(memory.bytes.data(), memory.bytes.data() + 2048, 2048);
    });
    EXPECT_EQ(n, persist_counters{});
}

TEST(medium, eadr_fences_only) {
    lines memory;
    const medium m(medium_kind::eadr, flush_instruction::none, 0);
    const auto n = counted([&] { m.persist(memory.bytes.data(), 4096); });
    EXPECT_EQ(n, (persist_counters{0, 1, 0, 0}));
}

// Order is free there because cached stores keep theirs. Where lines are flushed all the same, as
// the policy may say, copies are streamed, too, and they come in any order until a fence.
TEST(medium, eadr_that_flushes_fences_to_order) {
    lines memory;
    const lines source;
    const medium quiet(medium_kind::eadr, flush_instruction::none, 0);
    const medium flushing(medium_kind::eadr, best_flush_instruction(), 0);
    for (const medium& m : {quiet, flushing}) {
        const auto n = counted([&] {
            m.stream(memory.bytes.data(), source.bytes.data(), 256);
            m.order();
        });
        EXPECT_EQ(n.streamed_bytes, m.flushes() ? 256U : 0U);
        EXPECT_EQ(n.fences, m.flushes() ? 1U : 0U);
    }
}

TEST(medium, flushing_leaves_the_bytes_alone) {
    lines memory;
    lines copy;
    xoshiro256ss random(11);
    for (auto& b : memory.bytes) b = static_cast<std::byte>(random());
    copy = memory;
    for (const flush_instruction i : all_instructions) {
        if (!has_flush_instruction(i)) continue;
        medium(medium_kind::dax, i, 0).persist(memory.bytes.data(), memory.bytes.size());
        EXPECT_EQ(memory.bytes, copy.bytes);
    }
}

TEST(medium, streaming_copies_every_byte_at_every_alignment) {
    const medium m(medium_kind::dax, best_flush_instruction(), 0);
    xoshiro256ss random(5);
    std::vector<std::byte> source(400);
    for (auto& b : source) b = static_cast<std::byte>(random());
    for (std::size_t to = 0; to < 20; ++to) {
        for (std::size_t from = 0; from < 20; from += 3) {
            for (std::size_t size = 0; size < 300; size += size < 40 ? 1 : 37) {
                lines memory;
                const auto n = counted([&] {
                    m.stream(memory.bytes.data() + to, source.data() + from, size);
                    m.fence();
                });
                ASSERT_EQ(std::memcmp(memory.bytes.data() + to, source.data() + from, size), 0);
                for (std::size_t i = 0; i < memory.bytes.size(); ++i) {
                    if (i >= to && i < to + size) continue;
                    ASSERT_EQ(memory.bytes.at(i), std::byte{0}) << to << " " << size << " " << i;
                }
                // Bytes that were not streamed have to be flushed.
                ASSERT_LE(n.streamed_bytes, size);
                if (n.streamed_bytes < size) {
                    ASSERT_GE(n.flushes, 1U);
                }
            }
        }
    }
}

TEST(medium, the_best_instruction_is_one_that_the_processor_has) {
    EXPECT_TRUE(has_flush_instruction(best_flush_instruction()));
    EXPECT_NE(best_flush_instruction(), flush_instruction::none);
    for (const flush_instruction i : all_instructions) EXPECT_NE(to_string(i), "unknown");
}

TEST(latency, presets_are_those_of_the_paper) {
    EXPECT_EQ(latency_preset("dram"), 0U);
    EXPECT_EQ(latency_preset("pcm"), 180U);
    EXPECT_EQ(latency_preset("sttm"), 60U);
    EXPECT_FALSE(latency_preset("tape").has_value());
}

u64 ns_of_fences(u32 latency, int fences) {
    const medium m(medium_kind::shm, flush_instruction::none, latency);
    const u64 start = now_ns();
    for (int i = 0; i < fences; ++i) m.fence();
    return now_ns() - start;
}

// Only lower bounds, which a busy machine cannot break.
TEST(latency, a_fence_takes_at_least_what_was_asked_for) {
    constexpr int fences = 2000;
    for (const u32 latency : {60U, 180U, 500U, 1000U}) {
        EXPECT_GE(ns_of_fences(latency, fences), u64{latency} * fences * 98 / 100) << latency;
    }
}

TEST(latency, tmpfs_with_latency_fences_and_counts_though_it_does_not_flush) {
    lines memory;
    const medium m(medium_kind::shm, flush_instruction::none, 100);
    EXPECT_EQ(m.fence_latency_ns(), 100U);
    const auto n = counted([&] { m.persist(memory.bytes.data(), 64); });
    EXPECT_EQ(n, (persist_counters{0, 1, 0, 0}));
}

TEST(ordered, stores_go_to_plain_and_to_atomic_fields) {
    u64 plain = 0;
    std::atomic<u64> wrapped{0};
    ordered_store(plain, 7);
    ordered_store(wrapped, 8);
    EXPECT_EQ(plain, 7U);
    EXPECT_EQ(wrapped.load(), 8U);
}

const char* last_point = nullptr;

TEST(persist_point, calls_the_hook_and_only_while_it_is_set) {
    const persist_point_hook old =
        set_persist_point_hook([](const char* name) { last_point = name; });
    detail::persist_point_reached("test P1: reached");
    EXPECT_STREQ(last_point, "test P1: reached");
    set_persist_point_hook(old);
    detail::persist_point_reached("test P2: not seen");
    EXPECT_STREQ(last_point, "test P1: reached");
}

}  // namespace
}  // namespace hf
