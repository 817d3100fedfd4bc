#include "list_fixture.hpp"
#include "support/sync_points.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hf::test {
namespace {

class eager_threads : public on_tmpfs {};

/// A node that was given back too early would have another's value, or none.
TEST_F(eager_threads, read_nodes_that_others_retire) {
    eager_file f(file);
    for (u64 i = 0; i < 50; ++i) f.stack->push(i);
    std::atomic<bool> over{false};
    std::thread reader([&] {
        while (!over) {
            for (const u64 v : f.stack->values()) ASSERT_LT(v, 1000U);
        }
    });
    std::vector<std::thread> writers;
    for (unsigned t = 0; t < 2; ++t) {
        writers.emplace_back([&, t] {
            for (u64 i = 0; i < 3000; ++i) {
                f.stack->push((i + t) % 1000);
                f.stack->pop();
            }
        });
    }
    for (std::thread& t : writers) t.join();
    over = true;
    reader.join();
    EXPECT_EQ(f.stack->values().size(), 50U);
}

/// A thread that does some work, and then idles until the object ends.
class idle_thread {
   public:
    explicit idle_thread(std::function<void()> work)
        : thread_([this, act = std::move(work)] {
              act();
              is_done_ = true;
              is_done_.notify_one();
              may_end_.wait(false);
          }) {
        is_done_.wait(false);
    }
    idle_thread(const idle_thread&) = delete;
    idle_thread& operator=(const idle_thread&) = delete;
    ~idle_thread() {
        may_end_ = true;
        may_end_.notify_one();
        thread_.join();
    }

   private:
    std::atomic<bool> is_done_{false};
    std::atomic<bool> may_end_{false};
    std::thread thread_;
};

/// Blocks that wait for the end of a grace period.
std::size_t retired_in(const eager_file& f) {
    std::size_t n = 0;
    f.space->grace().each_retired([&](u64) { ++n; });
    return n;
}

TEST_F(eager_threads, retired_blocks_of_an_idle_thread_are_freed_by_another) {
    eager_file f(file);
    constexpr u64 nodes = 100;
    for (u64 i = 0; i < nodes; ++i) f.stack->push(i);
    const idle_thread idle([&] {
        for (u64 i = 0; i < nodes; ++i) f.stack->pop();
    });
    ASSERT_EQ(retired_in(f), nodes);
    f.space->reclaim();
    EXPECT_EQ(retired_in(f), 0U);
}

TEST_F(eager_threads, retired_blocks_are_kept_while_a_reader_may_see_them) {
    eager_file f(file);
    f.stack->push(1);
    std::atomic<bool> is_inside{false};
    std::atomic<bool> leaves{false};
    std::thread reader([&] {
        const eager_stack::operation op(*f.space);
        is_inside = true;
        is_inside.notify_one();
        leaves.wait(false);
    });
    is_inside.wait(false);
    const u64 node = f.stack->top().first.load();
    f.stack->pop();
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        f.space->reclaim();
        is_over = true;
    });
    const auto is_free = [&] {
        const eager_stack::operation op(*f.space);
        return must(f.space->heap().allocate(f.space->my_lane().blocks(), 16)) == node;
    };
    for (unsigned i = 0; i < 50; ++i) {
        EXPECT_FALSE(is_free());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_FALSE(is_over) << "a reader is still inside";
    leaves = true;
    leaves.notify_one();
    reader.join();
    other.join();
}

TEST_F(eager_threads, large_retired_blocks_are_freed_before_there_are_256) {
    eager_file f(file);
    constexpr u64 bytes = u64{400} << 10;
    std::size_t most = 0;
    for (unsigned i = 0; i < 40; ++i) {
        f.stack->push(i, bytes);
        f.stack->pop();
        most = std::max(most, retired_in(f));
    }
    EXPECT_LE(most, 4U) << "more than about a mebibyte";
}

TEST_F(eager_threads, take_from_each_other_while_they_work) {
    eager_file f(file);
    std::atomic<bool> over{false};
    std::thread taker([&] {
        while (!over) f.space->reclaim();
    });
    std::vector<std::thread> writers;
    for (u64 t = 0; t < 2; ++t) {
        writers.emplace_back([&, t] {
            for (u64 i = 0; i < 2000; ++i) {
                f.stack->push(t);
                for (const u64 v : f.stack->values()) ASSERT_LT(v, 2U);
                f.stack->pop();
            }
        });
    }
    for (std::thread& t : writers) t.join();
    over = true;
    taker.join();
    EXPECT_TRUE(f.stack->values().empty());
}

// A reader that began before a node was unlinked may read it, whichever of several ends last.
TEST_F(eager_threads, free_nothing_before_all_have_left_who_may_see_it) {
    constexpr unsigned readers = 3;
    for (unsigned last = 0; last < readers; ++last) {
        eager_file f(dir / std::to_string(last));
        f.stack->push(1);
        const u64 offset = f.stack->top().first.load();
        std::array<std::atomic<bool>, readers> leaves{};
        std::atomic<unsigned> inside{0};
        std::vector<std::thread> all;
        for (unsigned t = 0; t < readers; ++t) {
            all.emplace_back([&, t] {
                const eager_stack::operation op(*f.space);
                ++inside;
                while (!leaves[t]) std::this_thread::yield();
            });
        }
        while (inside != readers) std::this_thread::yield();
        f.stack->pop();
        grace_periods& grace = f.space->grace();
        const auto is_kept = [&] {
            grace.reclaim(grace.my_lane());
            bool is_there = false;
            grace.each_retired([&](u64 retired) { is_there |= retired == offset; });
            return is_there;
        };
        for (unsigned i = 1; i <= readers; ++i) {
            EXPECT_TRUE(is_kept()) << "before reader " << i << " has left";
            leaves[(last + i) % readers] = true;
            all[(last + i) % readers].join();
        }
        EXPECT_FALSE(is_kept());
    }
}

// Blocks that wait for a reader are free when no operation runs any more.
TEST_F(eager_threads, free_all_that_waits_when_they_end) {
    eager_file f(file);
    f.stack->push(1);
    const u64 offset = f.stack->top().first.load();
    grace_periods& grace = f.space->grace();
    std::atomic<bool> is_inside{false};
    std::atomic<bool> leaves{false};
    std::thread reader([&] {
        const eager_stack::operation op(*f.space);
        is_inside = true;
        while (!leaves) std::this_thread::yield();
    });
    while (!is_inside) std::this_thread::yield();
    f.stack->pop();
    grace.reclaim(grace.my_lane());
    leaves = true;
    reader.join();
    grace.reclaim_all();
    std::set<u64> free;
    for (unsigned i = 0; i < 1000; ++i) {
        free.insert(must(f.space->heap().allocate(grace.my_lane().blocks(), 16)));
    }
    EXPECT_TRUE(free.contains(offset));
}

TEST_F(eager_threads, sweep_beside_each_other_and_writers) {
    eager_file f(file);
    for (u64 i = 0; i < 5000; ++i) f.stack->push(i % 1000);
    f.kill();
    f.open(sweeping::in_background, 2);
    std::vector<std::thread> writers;
    for (unsigned t = 0; t < 2; ++t) {
        writers.emplace_back([&] {
            for (u64 i = 0; i < 2000; ++i) {
                f.stack->pop();
                f.stack->push(i % 1000);
            }
        });
    }
    for (std::thread& t : writers) t.join();
    must(f.space->wait_for_sweep());
    const auto all = f.stack->values();
    EXPECT_EQ(all.size(), 5000U);
    for (const u64 v : all) ASSERT_LT(v, 1000U);
}

// On the medium `file` an epoch's lines are captured, and pages given back, with no thread inside
// of it. So a thread that stores must be inside.
struct way_to_free {
    const char* name;
    std::function<void(eager_file&)> prepare;
    std::function<void(eager_file&)> free;
};

void PrintTo(const way_to_free& w, std::ostream* out) { *out << w.name; }

class eager_frees : public on_tmpfs, public ::testing::WithParamInterface<way_to_free> {};

TEST_P(eager_frees, pages_within_an_epoch) {
    if (!sync_points::exist) GTEST_SKIP() << "without persist points";
    eager_file f(file, medium_kind::file);
    GetParam().prepare(f);
    sync_points points;
    points.hold("swept S2");
    std::thread freeing([&] { GetParam().free(f); });
    points.await("swept S2");
    std::atomic<bool> ended{false};
    std::thread ending([&] {
        must(f.space->wait_durable(f.space->current_epoch()));
        ended = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(ended) << "an epoch ended while a page's word became 0";
    points.release("swept S2");
    freeing.join();
    ending.join();
}

void push_and_pop_an_extent(eager_file& f) {
    f.stack->push(1, 200'000);
    f.stack->pop();
}

INSTANTIATE_TEST_SUITE_P(
    of, eager_frees,
    ::testing::Values(way_to_free{"sweep",
                                  [](eager_file& f) {
                                      push_and_pop_an_extent(f);
                                      must(f.space->wait_durable(f.space->current_epoch()));
                                      f.kill();
                                      f.open(sweeping::by_hand);
                                  },
                                  [](eager_file& f) { static_cast<void>(must(f.space->sweep())); }},
                      way_to_free{"reclaim", [](eager_file&) {},
                                  [](eager_file& f) {
                                      push_and_pop_an_extent(f);
                                      f.space->reclaim();
                                  }},
                      way_to_free{"close", push_and_pop_an_extent,
                                  [](eager_file& f) { must(f.space->close()); }}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace hf::test
