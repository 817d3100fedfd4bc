// A region at its maximum size: how much it stores, in how few segments, and that it still can be
// changed.
#include <holdfast/map.hpp>

#include "base/random.hpp"
#include "checkpoint_map/engine.hpp"
#include "map/inspect.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace hf {
namespace {

using test::must;

constexpr u64 mib = u64{1} << 20;
constexpr std::size_t value_size = 500;

std::string key_of(u64 n) { return "key " + std::to_string(n); }
std::string value_of(u64 n) { return std::string(value_size, static_cast<char>('a' + n % 26)); }

/// Parameters: the maximum size, and whether the region has it from the start.
class full_region : public test::on_tmpfs,
                    public ::testing::WithParamInterface<std::tuple<u64, bool>> {
   protected:
    map open() {
        const auto [bound, at_once] = GetParam();
        map_options o;
        o.region.initial_size = at_once ? bound : 16 * mib;
        o.region.max_size = bound;
        o.region.flush = flush_policy::always;
        o.epoch = std::chrono::milliseconds(0);
        return must(map::open(file, o));
    }
    static u64 fill(map& m) {
        for (u64 stored = 0;; ++stored) {
            const auto put = m.put(key_of(stored), value_of(stored));
            if (put) continue;
            EXPECT_EQ(put.error().code, errc::no_space) << put.error().to_string();
            return stored;
        }
    }
    static void expect_all(const map& m, u64 from, u64 to, u64 shift) {
        std::string got;
        for (u64 i = from; i < to; ++i) {
            ASSERT_TRUE(must(m.get(key_of(i), got))) << i;
            ASSERT_EQ(got, value_of(i + shift)) << i;
        }
    }
    static auto segments_of(map& m) { return map_inspection::machine_of(m).file().segments(); }
};

TEST_P(full_region, stores_90_percent_of_its_bound_in_few_segments) {
    map m = open();
    const u64 stored = fill(m);
    const u64 bound = std::get<0>(GetParam());
    // Each record takes a block of 544 bytes.
    EXPECT_GT(static_cast<double>(stored * 544), 0.9 * static_cast<double>(bound));
    const auto segments = segments_of(m);
    EXPECT_LT(segments.size(), 24U) << "it grew page by page";
    EXPECT_TRUE(std::ranges::any_of(segments, [](const segment& s) {
        return s.kind == segment_kind::log;
    })) << "nothing was left to the log";
    expect_all(m, 0, stored, 0);
    must(m.close());
    m = open();
    expect_all(m, 0, stored, 0);
}

// A new value needs a block before the old one's is free, which is one epoch later.
TEST_P(full_region, region_with_little_space_accepts_any_number_of_updates) {
    map m = open();
    const u64 stored = fill(m);
    constexpr u64 spare = 50;
    for (u64 i = 0; i < spare; ++i) must(m.remove(key_of(i)));
    for (u64 i = spare; i < stored; ++i) {
        const auto put = m.put(key_of(i), value_of(i + 1));
        ASSERT_TRUE(put) << "record " << i << " of " << stored << ": " << put.error().to_string();
    }
    expect_all(m, spare, stored, 1);
}

TEST_P(full_region, region_with_little_space_accepts_updates_of_many_threads) {
    map m = open();
    const u64 stored = fill(m);
    constexpr u64 writers = 3;
    constexpr u64 spare = 50;
    std::vector<std::thread> threads;
    for (u64 t = 0; t < writers; ++t) {
        threads.emplace_back([&m, stored, t] {
            for (u64 i = t; i < stored; i += writers) {
                if (i / writers < spare) {
                    must(m.remove(key_of(i)));
                    continue;
                }
                const auto put = m.put(key_of(i), value_of(i + 1));
                ASSERT_TRUE(put) << "record " << i << " of " << stored << ": "
                                 << put.error().to_string();
            }
        });
    }
    for (auto& t : threads) t.join();
    expect_all(m, spare * writers, stored, 1);
}

TEST_P(full_region, emptied_region_can_be_filled_again) {
    map m = open();
    const u64 stored = fill(m);
    for (u64 i = 0; i < stored; ++i) {
        const auto gone = m.remove(key_of(i));
        ASSERT_TRUE(gone) << "record " << i << " of " << stored << ": " << gone.error().to_string();
    }
    must(m.sync());
    const u64 again = fill(m);
    EXPECT_GT(again, stored - stored / 20);
    expect_all(m, 0, again, 0);
}

TEST_P(full_region, emptied_region_accepts_values_of_another_size) {
    map m = open();
    const u64 stored = fill(m);
    for (u64 i = 0; i < stored; ++i) must(m.remove(key_of(i)));
    for (const std::size_t size : {3000U, 100'000U, 200U}) {
        const std::string other(size, 'o');
        u64 taken = 0;
        while (m.put(key_of(taken), other)) ++taken;
        EXPECT_GT(taken * size, stored * value_size * 3 / 4) << size;
        for (u64 i = 0; i < taken; ++i) must(m.remove(key_of(i)));
    }
    EXPECT_GT(fill(m), stored - stored / 8) << "but for what layers stay, empty";
}

TEST_P(full_region, lack_of_space_ends_one_epoch_until_something_is_freed) {
    map m = open();
    const u64 stored = fill(m);
    const auto expect_vain = [&](const char* when) {
        const u64 before = m.current_epoch();
        for (int i = 0; i < 5; ++i) {
            const auto put = m.put(key_of(stored), value_of(0));
            ASSERT_FALSE(put);
            EXPECT_EQ(put.error().code, errc::no_space);
        }
        EXPECT_EQ(m.current_epoch(), before) << when;
    };
    ASSERT_NO_FATAL_FAILURE(expect_vain("full"));
    const auto refused = m.remove_if(key_of(0), [](std::string_view) { return false; });
    EXPECT_FALSE(must(refused).changed);
    ASSERT_NO_FATAL_FAILURE(expect_vain("nothing was removed"));
    EXPECT_FALSE(must(m.remove("no such key")).changed);
    ASSERT_NO_FATAL_FAILURE(expect_vain("there was nothing to remove"));
    const auto larger = m.modify(key_of(0), [](auto, std::string& fresh) {
        fresh.assign(u64{1} << 20, 'x');
        return map::edit::replace;
    });
    ASSERT_FALSE(larger);
    EXPECT_EQ(larger.error().code, errc::too_large);
    ASSERT_NO_FATAL_FAILURE(expect_vain("no epoch makes a value smaller"));
    const u64 before = m.current_epoch();
    must(m.remove(key_of(0)));
    must(m.put(key_of(stored), value_of(0)));
    EXPECT_EQ(m.current_epoch(), before + 1) << "the block is free in the next epoch";
}

// More threads than the log has segments: a write without log space has no effect.
TEST_P(full_region, write_without_log_space_is_refused_without_effect) {
    map m = open();
    const u64 stored = fill(m);
    constexpr u64 writers = 40;
    std::latch all_are_here(writers);
    std::vector<std::thread> threads;
    for (u64 t = 0; t < writers; ++t) {
        threads.emplace_back([&, t] {
            const auto done = m.modify(key_of(t), [](auto old, std::string& fresh) {
                fresh = *old;
                return map::edit::replace;
            });
            if (!done) {
                EXPECT_EQ(done.error().code, errc::no_space) << done.error().to_string();
            }
            all_are_here.arrive_and_wait();
        });
    }
    for (auto& t : threads) t.join();
    expect_all(m, 0, stored, 0);
    must(m.close());
    m = open();
    expect_all(m, 0, stored, 0);
}

/// With a log of one page, an epoch has log space for few removals of leaves.
TEST_P(full_region, removals_with_a_full_log_return_correct_results) {
    map m = open();
    splitmix64 r(1);
    std::vector<std::string> keys(8000);
    for (auto& key : keys) {
        key = std::to_string(r());
        must(m.put(key, "v"));
    }
    must(m.sync());  // nodes created in an epoch need no log in it
    const u64 before = map_inspection::machine_of(m).epochs().current_epoch();
    const auto once = [&](const std::string& key) {
        const auto done = must(m.remove(key));
        ASSERT_TRUE(done.existed && done.changed) << key;
        ASSERT_FALSE(must(m.remove(key)).existed) << key;
    };
    const auto counted = [&](const std::string& key) {
        unsigned asked = 0;
        must(m.modify(key, [&](auto, std::string&) {
            ++asked;
            return map::edit::remove;
        }));
        ASSERT_EQ(asked, 1U) << key;
    };
    for (std::size_t i = 0; i < keys.size(); ++i) i % 2 == 0 ? once(keys[i]) : counted(keys[i]);
    if (std::get<0>(GetParam()) == 16 * mib) {
        EXPECT_GT(map_inspection::machine_of(m).epochs().current_epoch(), before) << "not full";
    }
    must(m.close());
    const auto report = inspect_map(file).audit();
    EXPECT_TRUE(report.ok()) << report.violations().front().text;
    EXPECT_EQ(report.tree.empty_leaves, 0U);
}

INSTANTIATE_TEST_SUITE_P(bounds, full_region,
                         ::testing::Combine(::testing::Values(16 * mib, 17 * mib, 40 * mib),
                                            ::testing::Bool()),
                         [](const auto& p) {
                             return std::to_string(std::get<0>(p.param) / mib) + "_MiB_" +
                                    (std::get<1>(p.param) ? "at_once" : "by_growth");
                         });

}  // namespace
}  // namespace hf
