// A version lock under threads: what a validated reader has seen is one state.
#include "sync/version_lock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace hf {
namespace {

constexpr u64 generation = version_lock::generation_bits(3);

/// Fields that are equal, or all zero if `moved` says so, whenever no thread changes them.
struct guarded {
    version_lock lock;
    std::array<std::atomic<u64>, 5> fields{};
    std::atomic<u64> elsewhere{0};  ///< what the fields held before they moved there

    guarded() { lock.init(0, generation); }

    void write(std::size_t i, u64 value) { fields[i].store(value, std::memory_order_release); }
    [[nodiscard]] u64 read(std::size_t i) const {
        return fields[i].load(std::memory_order_acquire);
    }
};

/// Runs the readers until the writers are through.
template <class Write, class Read>
void run(unsigned writers, unsigned readers, const Write& write, const Read& read) {
    std::atomic<unsigned> writing{writers};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < writers; ++i) {
        threads.emplace_back([&] {
            write();
            writing.fetch_sub(1);
        });
    }
    for (unsigned i = 0; i < readers; ++i) {
        threads.emplace_back([&] {
            do read();
            while (writing.load() != 0);
        });
    }
    for (std::thread& t : threads) t.join();
}

TEST(version_lock_threads, let_one_writer_in_at_a_time) {
    guarded g;
    u64 plain = 0;  // guarded by the lock alone
    constexpr u64 turns = 20000;
    run(
        3, 0,
        [&] {
            for (u64 i = 0; i < turns; ++i) {
                if (i % 2 == 0 || !g.lock.try_lock(generation)) g.lock.lock(generation);
                ++plain;
                g.lock.unlock();
            }
        },
        [] {});
    EXPECT_EQ(plain, 3 * turns);
}

TEST(version_lock_threads, never_show_a_reader_a_half_done_change) {
    guarded g;
    std::atomic<u64> validated{0};
    std::atomic<u64> mixtures{0};
    run(
        2, 2,
        [&] {
            for (u64 i = 0; i < 20000; ++i) {
                g.lock.lock(generation);
                g.lock.mark_inserting();
                const u64 next = g.read(0) + 1;
                for (std::size_t f = 0; f < g.fields.size(); ++f) g.write(f, next);
                g.lock.unlock();
            }
        },
        [&] {
            const u64 seen = g.lock.stable(generation);
            std::array<u64, 5> copy{};
            for (std::size_t f = 0; f < copy.size(); ++f) copy[f] = g.read(f);
            if (g.lock.changed(seen)) return;
            validated.fetch_add(1);
            for (const u64 one : copy) {
                if (one != copy[0]) mixtures.fetch_add(1);
            }
        });
    EXPECT_EQ(g.read(4), 40000U);
    EXPECT_EQ(mixtures.load(), 0U);
    EXPECT_GT(validated.load(), 0U);
}

TEST(version_lock_threads, tell_a_reader_what_has_moved) {
    guarded g;
    std::atomic<u64> lost{0};
    constexpr u64 treasure = 42;
    for (std::size_t f = 0; f < g.fields.size(); ++f) g.write(f, treasure);
    run(
        1, 2,
        [&] {
            for (u64 i = 0; i < 20000; ++i) {
                g.lock.lock(generation);
                g.lock.mark_splitting();
                const bool here = g.read(0) != 0;
                if (here) g.elsewhere.store(treasure, std::memory_order_release);
                for (std::size_t f = 0; f < g.fields.size(); ++f) g.write(f, here ? 0 : treasure);
                if (!here) g.elsewhere.store(0, std::memory_order_release);
                g.lock.unlock();
            }
        },
        [&] {
            const u64 seen = g.lock.stable(generation);
            const u64 here = g.read(2);
            const u64 there = g.elsewhere.load(std::memory_order_acquire);
            const bool changed = g.lock.changed(seen);
            const bool split = version_lock::split_since(seen, g.lock.stable(generation));
            if (changed && !split) lost.fetch_add(1);
            if (!changed && here + there != treasure) lost.fetch_add(1);
        });
    EXPECT_EQ(lost.load(), 0U);
}

TEST(version_lock_threads, take_a_dead_holders_lock_over_once) {
    constexpr u64 before = version_lock::generation_bits(2);
    for (int round = 0; round < 300; ++round) {
        guarded g;
        g.lock.init(8, before);
        g.lock.lock(before);
        if (round % 2 == 0) g.lock.mark_inserting();
        std::atomic<u64> taken_over{0};
        u64 plain = 0;
        run(
            3, 1,
            [&] {
                if (g.lock.lock(generation)) taken_over.fetch_add(1);
                ++plain;
                g.lock.unlock();
            },
            [&] { EXPECT_EQ(g.lock.stable(generation) & version_lock::flags, 8U); });
        EXPECT_EQ(plain, 3U);
        // A reader that clears marks clears the lock with them: then no thread is notified.
        EXPECT_LE(taken_over.load(), 1U);
        if (round % 2 != 0) {
            EXPECT_EQ(taken_over.load(), 1U);
        }
        EXPECT_EQ(g.lock.load() & (version_lock::locked | version_lock::marks), 0U);
    }
}

TEST(version_lock_test, who_comes_while_it_is_held_waits) {
    for (int turn = 0; turn < 20; ++turn) {
        version_lock lock;
        lock.init(0, generation);
        lock.lock(generation);
        std::atomic<bool> released{false};
        std::atomic<bool> has_begun{false};
        std::thread other([&] {
            has_begun = true;
            EXPECT_FALSE(lock.lock(generation)) << "of nobody who died";
            EXPECT_TRUE(released) << "two hold it";
            lock.unlock();
        });
        while (!has_begun) ::sched_yield();
        for (int i = 0; i < 200; ++i) ::sched_yield();
        released = true;
        lock.unlock();
        other.join();
        EXPECT_FALSE(lock.is_held(generation));
    }
}

TEST(version_lock_test, who_reads_while_there_is_a_mark_waits_until_it_is_gone) {
    for (const bool is_split : {false, true}) {
        for (int turn = 0; turn < 20; ++turn) {
            version_lock lock;
            lock.init(0, generation);
            lock.lock(generation);
            is_split ? lock.mark_splitting() : lock.mark_inserting();
            std::atomic<bool> changed{false};
            std::atomic<bool> has_begun{false};
            std::thread reader([&] {
                has_begun = true;
                const u64 seen = lock.stable(generation);
                EXPECT_TRUE(changed) << "it did not wait";
                EXPECT_EQ(seen & (version_lock::marks | version_lock::locked), 0U);
                EXPECT_FALSE(lock.changed(seen));
            });
            while (!has_begun) ::sched_yield();
            for (int i = 0; i < 200; ++i) ::sched_yield();
            changed = true;
            lock.unlock();
            reader.join();
        }
    }
}

TEST(version_lock_test, lets_one_in_at_a_time) {
    version_lock lock;
    lock.init(0, generation);
    constexpr u64 times = 3000;
    u64 first = 0;  // plain, so that a race is one
    u64 second = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (u64 n = 0; n < times; ++n) {
                lock.lock(generation);
                EXPECT_EQ(first++, second);
                if (n % 8 == 0) ::sched_yield();
                ++second;
                lock.unlock();
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(second, 4 * times);
}

}  // namespace
}  // namespace hf
