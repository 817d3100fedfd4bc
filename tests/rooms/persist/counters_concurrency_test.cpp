// Counters of many threads, running and ended.
#include "persist/medium.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace hf {
namespace {

struct alignas(line_size) one_line {
    std::byte bytes[line_size]{};
};

TEST(counters, totals_hold_what_ended_threads_counted) {
    const medium m(medium_kind::dax, best_flush_instruction(), 0);
    const persist_counters before = total_persist_counters();
    constexpr u64 thread_count = 8;
    const u64 rounds = 1000;
    for (int wave = 0; wave < 3; ++wave) {
        std::vector<std::thread> threads;
        for (u64 t = 0; t < thread_count; ++t) {
            threads.emplace_back([&m, rounds] {
                one_line line;
                const persist_counters start = thread_persist_counters();
                for (u64 i = 0; i < rounds; ++i) m.persist(&line, sizeof line);
                const persist_counters end = thread_persist_counters();
                EXPECT_EQ(end.flushes - start.flushes, rounds);
                EXPECT_EQ(end.fences - start.fences, rounds);
            });
        }
        for (auto& t : threads) t.join();
    }
    const persist_counters after = total_persist_counters();
    EXPECT_EQ(after.flushes - before.flushes, 3 * thread_count * rounds);
    EXPECT_EQ(after.fences - before.fences, 3 * thread_count * rounds);
    EXPECT_EQ(after.flushed_bytes - before.flushed_bytes, 3 * thread_count * rounds * line_size);
}

TEST(counters, totals_never_go_down_while_threads_come_and_go) {
    const medium m(medium_kind::dax, best_flush_instruction(), 0);
    std::atomic<bool> stop{false};
    std::thread spawner([&] {
        for (int i = 0; i < 200; ++i) {
            std::thread([&m] {
                one_line line;
                for (int n = 0; n < 20; ++n) m.persist(&line, sizeof line);
            }).join();
        }
        stop.store(true);
    });
    u64 last = 0;
    while (!stop.load()) {
        const u64 now = total_persist_counters().flushes;
        EXPECT_GE(now, last);
        last = now;
    }
    spawner.join();
}

TEST(counters, a_new_thread_starts_at_zero) {
    std::thread([] { EXPECT_EQ(thread_persist_counters(), persist_counters{}); }).join();
}

// One after the other, so that each takes over what the one before has left.
TEST(counters, each_thread_counts_its_own_of_every_kind_and_the_totals_all) {
    const medium m(medium_kind::dax, best_flush_instruction(), 0);
    const persist_counters before = total_persist_counters();
    persist_counters expected = before;
    for (u64 t = 1; t <= 5; ++t) {
        const u64 flushes = t;
        const u64 fences = 2 * t;
        const u64 streamed = 48 * t;
        std::thread([&] {
            one_line line[4];
            const one_line source[4];
            for (u64 i = 0; i < flushes; ++i) m.flush(line, 1);
            for (u64 i = 0; i < fences; ++i) m.fence();
            m.stream(line, source, streamed);
            const persist_counters wanted{flushes, fences, flushes * line_size, streamed};
            EXPECT_EQ(thread_persist_counters(), wanted);
        }).join();
        expected.flushes += flushes;
        expected.fences += fences;
        expected.flushed_bytes += flushes * line_size;
        expected.streamed_bytes += streamed;
        EXPECT_EQ(total_persist_counters(), expected) << "after thread " << t;
    }
}

// thread_local objects that flush when their thread ends, after the counters have been handed back.
struct late_flusher {
    one_line* line = nullptr;
    ~late_flusher() { medium(medium_kind::dax, best_flush_instruction(), 0).persist(line, 64); }
};

TEST(counters, a_flush_at_the_very_end_of_a_thread_is_counted_too) {
    const persist_counters before = total_persist_counters();
    static one_line line;
    std::thread([] {
        thread_local late_flusher late;
        late.line = &line;
        medium(medium_kind::dax, best_flush_instruction(), 0).persist(&line, 64);
    }).join();
    EXPECT_EQ(total_persist_counters().flushes - before.flushes, 2U);
}

}  // namespace
}  // namespace hf
