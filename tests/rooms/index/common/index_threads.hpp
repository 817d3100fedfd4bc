// Concurrent threads: no update is lost, no value is invented, and no thread blocks forever.
#pragma once

#include "base/random.hpp"
#include "index/common/batch.hpp"
#include "index/common/threads.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {

template <class T>
class index_threads : public ::testing::Test {};
TYPED_TEST_SUITE_P(index_threads);

/// Few keys with long common parts, so that their nodes constantly grow, shrink, split and merge.
template <class Kept>
Kept crowded_key(u64 n) {
    if constexpr (std::is_same_v<Kept, u64>) {
        return (n % 4) << 40 | (n % 16) << 24 | n;
    } else {
        return std::string("common to all of them") + std::string(n % 4 * 5, 'x') +
               std::to_string(n) + std::string(n % 2, '\0');
    }
}
/// A value that contains the number of its key.
template <class Kept>
Kept value_for(u64 n, u64 what) {
    if constexpr (std::is_same_v<Kept, u64>) {
        return n << 32 | what;
    } else {
        return std::to_string(n) + "/" + std::to_string(what);
    }
}
template <class Kept>
bool is_value_for(const Kept& v, u64 n) {
    if constexpr (std::is_same_v<Kept, u64>) {
        return v >> 32 == n;
    } else {
        return v.starts_with(std::to_string(n) + "/");
    }
}

TYPED_TEST_P(index_threads, concurrent_inserts_are_not_lost) {
    using kept = typename TypeParam::kept;
    TypeParam t;
    const u64 each = scaled(60'000);
    run_threads(3, [&](unsigned me) {
        for (u64 i = 0; i < each; ++i) {
            const u64 n = i * 3 + me;
            ASSERT_TRUE(t.insert(crowded_key<kept>(n), value_for<kept>(n, 1)));
        }
        for (u64 i = 0; i < each; ++i) {
            const u64 n = i * 3 + me;
            ASSERT_EQ(t.get(crowded_key<kept>(n)), value_for<kept>(n, 1));
        }
    });
    EXPECT_EQ(t.all().size(), 3 * each);
    t.expect_sound();
}

TYPED_TEST_P(index_threads, one_of_several_inserters_of_a_key_wins) {
    using kept = typename TypeParam::kept;
    TypeParam t;
    const u64 keys = scaled(50'000);
    std::atomic<u64> won{0};
    run_threads(3, [&](unsigned me) {
        for (u64 n = 0; n < keys; ++n) {
            if (t.insert(crowded_key<kept>(n), value_for<kept>(n, me))) ++won;
        }
    });
    EXPECT_EQ(won, keys);
    t.expect_sound();
}

// Each thread has its own keys between the others', and knows their expected values.
TYPED_TEST_P(index_threads, concurrent_changes_of_the_shape_lose_nothing) {
    using kept = typename TypeParam::kept;
    TypeParam t;
    run_threads(3, [&](unsigned me) {
        splitmix64 random(me + 1);
        std::map<u64, kept> mine;
        const auto all_of_mine = [&](u64 span) {
            std::vector<kept> keys;
            for (u64 n = me; n < span * 3; n += 3) keys.push_back(crowded_key<kept>(n));
            const auto found = t.get_many(keys);
            for (std::size_t i = 0; i < keys.size(); ++i) {
                const auto is = mine.find(i * 3 + me);
                ASSERT_EQ(found[i], is == mine.end() ? std::nullopt : std::optional(is->second));
            }
        };
        for (u64 i = 0; i < scaled(150'000); ++i) {
            const u64 span = i / 2000 % 2 == 0 ? 40 : 4;  // alternately many and few keys
            const u64 n = random() % span * 3 + me;
            const kept k = crowded_key<kept>(n);
            const kept v = value_for<kept>(n, i);
            const bool is_there = mine.contains(n);
            switch (random() % 6) {
                case 0:
                case 1:
                    ASSERT_EQ(t.upsert(k, v), !is_there);
                    mine[n] = v;
                    break;
                case 2:
                case 3:
                    ASSERT_EQ(t.remove(k), is_there);
                    mine.erase(n);
                    break;
                case 4:
                    ASSERT_EQ(t.update(k, v), is_there);
                    if (is_there) mine[n] = v;
                    break;
                default:
                    ASSERT_EQ(t.get(k), is_there ? std::optional(mine[n]) : std::nullopt);
                    if (i % 4 == 0) {
                        ASSERT_NO_FATAL_FAILURE(all_of_mine(span));
                    }
            }
        }
        for (const auto& [n, v] : mine) ASSERT_EQ(t.get(crowded_key<kept>(n)), v);
    });
    t.expect_sound();
}

TYPED_TEST_P(index_threads, readers_never_find_the_value_of_another_key) {
    using kept = typename TypeParam::kept;
    TypeParam t;
    std::atomic<bool> over{false};
    constexpr u64 keys = 120;
    std::thread reader([&] {
        splitmix64 random(9);
        while (!over) {
            const u64 n = random() % keys;
            const auto v = t.get(crowded_key<kept>(n));
            ASSERT_TRUE(!v || is_value_for(*v, n));
            std::vector<u64> numbers(random() % 40);
            std::vector<kept> many;
            for (u64& one : numbers) many.push_back(crowded_key<kept>(one = random() % keys));
            const auto found = t.get_many(many);
            for (std::size_t i = 0; i < many.size(); ++i) {
                ASSERT_TRUE(!found[i] || is_value_for(*found[i], numbers[i]));
            }
        }
    });
    run_threads(2, [&](unsigned me) {
        splitmix64 random(me + 20);
        for (u64 i = 0; i < scaled(150'000); ++i) {
            const u64 n = random() % keys;
            if (random() % 2 == 0) {
                t.upsert(crowded_key<kept>(n), value_for<kept>(n, i));
            } else {
                t.remove(crowded_key<kept>(n));
            }
        }
    });
    over = true;
    reader.join();
    t.expect_sound();
}

// Batches hold several locks and must not deadlock. Every third key is inserted by all threads.
TYPED_TEST_P(index_threads, concurrent_batches_do_not_deadlock) {
    using kept = typename TypeParam::kept;
    TypeParam t;
    const u64 batches = scaled(600);
    std::atomic<u64> inserted{0};
    run_threads(3, [&](unsigned me) {
        for (u64 b = 0; b < batches; ++b) {
            std::vector<std::pair<kept, kept>> all;
            for (u64 i = 0; i < batch_entries; ++i) {
                const u64 n = (b * batch_entries + (me == 1 ? batch_entries - 1 - i : i)) * 3;
                const u64 own = n + (n % 9 == 0 ? 0 : me);
                all.emplace_back(crowded_key<kept>(own), value_for<kept>(own, me));
            }
            inserted += t.insert_many(all);
            if (me == 2) static_cast<void>(t.get(crowded_key<kept>(b)));
        }
    });
    EXPECT_EQ(t.all().size(), inserted.load());
    t.expect_sound();
}

// An insert has no effect if the key exists. So of a batch's equal keys the first one's value must
// stay, even if another thread held the lock for the first entry and released it before the second.
TYPED_TEST_P(index_threads, first_of_a_batchs_equal_keys_wins) {
    using kept = typename TypeParam::kept;
    TypeParam t;
    std::atomic<bool> over{false};
    std::thread other([&] {
        splitmix64 random(5);
        while (!over) {
            const u64 n = random() % 16 * 2 + 1;
            if (random() % 2 == 0) {
                t.upsert(crowded_key<kept>(n), value_for<kept>(n, 3));
            } else {
                t.remove(crowded_key<kept>(n));
            }
        }
    });
    constexpr u64 keys = batch_entries / 4;
    for (unsigned round = 0; round < scaled(20'000) && !testing::Test::HasFailure(); ++round) {
        std::vector<std::pair<kept, kept>> all;
        for (u64 i = 0; i < batch_entries; ++i) {
            const u64 n = i % keys * 2;
            all.emplace_back(crowded_key<kept>(n), value_for<kept>(n, i / keys));
        }
        EXPECT_EQ(t.insert_many(all), keys);
        for (u64 i = 0; i < keys; ++i) {
            EXPECT_EQ(t.get(all[i].first), all[i].second) << "round " << round;
            EXPECT_TRUE(t.remove(all[i].first));
        }
    }
    over = true;
    other.join();
    t.expect_sound();
}

// An iteration visits each entry that exists throughout exactly once, whatever is inserted and
// removed around it, and while the index grows.
TYPED_TEST_P(index_threads, iteration_visits_unchanged_entries_once) {
    using kept = typename TypeParam::kept;
    constexpr u64 old_keys = 90;  // every third stays, the others are inserted and removed
    const u64 grown = effort(u64{4'000}, u64{600});
    for (u64 round = 0; round < effort(u64{12}, u64{3}); ++round) {
        TypeParam t;
        std::vector<std::pair<kept, kept>> stay;
        for (u64 n = 0; n < old_keys; n += 3) {
            stay.emplace_back(crowded_key<kept>(n), value_for<kept>(n, 0));
            ASSERT_TRUE(t.insert(stay.back().first, stay.back().second));
        }
        std::sort(stay.begin(), stay.end());
        std::atomic<bool> over{false};
        std::thread writer([&] {
            splitmix64 random(round);
            for (u64 i = 0; i < grown; ++i) {
                t.insert(crowded_key<kept>(old_keys + i), value_for<kept>(old_keys + i, 0));
                const u64 n = random() % (old_keys / 3) * 3 + 1 + random() % 2;
                if (random() % 2 == 0) {
                    t.upsert(crowded_key<kept>(n), value_for<kept>(n, i));
                } else {
                    t.remove(crowded_key<kept>(n));
                }
            }
            over = true;
        });
        while (!over) {
            const auto met = t.all();
            const auto same_key = [](const auto& a, const auto& b) { return a.first == b.first; };
            EXPECT_EQ(std::adjacent_find(met.begin(), met.end(), same_key), met.end());
            EXPECT_TRUE(std::includes(met.begin(), met.end(), stay.begin(), stay.end()));
            if (testing::Test::HasFailure()) break;
        }
        writer.join();
        if (testing::Test::HasFailure()) return;
        t.expect_sound();
    }
}

REGISTER_TYPED_TEST_SUITE_P(index_threads, concurrent_inserts_are_not_lost,
                            one_of_several_inserters_of_a_key_wins,
                            concurrent_changes_of_the_shape_lose_nothing,
                            readers_never_find_the_value_of_another_key,
                            concurrent_batches_do_not_deadlock, first_of_a_batchs_equal_keys_wins,
                            iteration_visits_unchanged_entries_once);

/// For ordered indexes only.
template <class T>
class index_scans : public ::testing::Test {};
TYPED_TEST_SUITE_P(index_scans);

// Entries that exist throughout the scan are visited once, in order, whatever changes concurrently.
TYPED_TEST_P(index_scans, scans_visit_unchanged_entries_once_in_order) {
    using kept = typename TypeParam::kept;
    TypeParam t;
    constexpr u64 keys = 400;
    std::map<kept, u64> stay;
    for (u64 n = 0; n < keys; n += 4) {
        t.insert(crowded_key<kept>(n), value_for<kept>(n, 0));
        stay.emplace(crowded_key<kept>(n), n);
    }
    std::atomic<bool> over{false};
    std::thread writer([&] {
        splitmix64 random(3);
        // All others are inserted, then all removed: nodes are split, and merged or unlinked again.
        for (u64 wave = 0; !over; ++wave) {
            const bool fills = wave % 2 == 0;
            for (u64 i = 0; i < keys && !over; ++i) {
                const u64 n = wave % 6 < 2 ? i : wave % 6 < 4 ? keys - 1 - i : random() % keys;
                if (n % 4 == 0) {
                    t.update(crowded_key<kept>(n), value_for<kept>(n, random() % 100));
                } else if (fills) {
                    t.upsert(crowded_key<kept>(n), value_for<kept>(n, 1));
                } else {
                    t.remove(crowded_key<kept>(n));
                }
            }
        }
    });
    splitmix64 random(4);
    for (unsigned round = 0; round < scaled(4'000); ++round) {
        const kept bound = crowded_key<kept>(random() % keys);
        const auto found = round % 2 == 0 ? t.scan(bound, 50 + random() % 400)
                                          : t.scan_back(bound, 50 + random() % 400);
        // No key is visited twice either.
        const auto out_of_order = [&](const auto& a, const auto& b) {
            return round % 2 == 0 ? a.first >= b.first : b.first >= a.first;
        };
        ASSERT_EQ(std::adjacent_find(found.begin(), found.end(), out_of_order), found.end());
        if (found.empty()) continue;
        const kept low = std::min(bound, found.back().first);
        const kept high = std::max(bound, found.back().first);
        std::vector<kept> met;
        for (const auto& [k, v] : found) {
            ASSERT_TRUE(low <= k && k <= high);
            if (stay.contains(k)) met.push_back(k);
        }
        if (round % 2 != 0) std::reverse(met.begin(), met.end());
        std::vector<kept> wanted;
        for (auto i = stay.lower_bound(low); i != stay.end() && i->first <= high; ++i) {
            wanted.push_back(i->first);
        }
        ASSERT_EQ(met, wanted);
    }
    over = true;
    writer.join();
    t.expect_sound();
}

/// Keys above all crowded keys; i < 128.
template <class Kept>
Kept far_key(u64 i) {
    if constexpr (std::is_same_v<Kept, u64>) {
        return (128 + i) << 56;
    } else {
        return std::string(1, static_cast<char>(128 + i));
    }
}

// A record is alone in a large part of the key space. A key inserted beyond the scan's bound gets a
// node together with that record, in some rounds between two loads of the scan.
TYPED_TEST_P(index_scans, scans_stay_in_bounds) {
    using kept = typename TypeParam::kept;
    for (const bool up : {true, false}) {
        TypeParam t;
        for (u64 n = 0; n < 200; ++n) t.insert(crowded_key<kept>(n), value_for<kept>(n, 0));
        const u64 alone = up ? 8 : 1;
        t.insert(far_key<kept>(alone), value_for<kept>(alone, 0));
        std::atomic<bool> over{false};
        std::thread writer([&] {
            const kept other = far_key<kept>(up ? 1 : 8);
            while (!over) {
                t.upsert(other, value_for<kept>(0, 1));
                t.remove(other);
            }
        });
        for (unsigned round = 0; round < scaled(50'000); ++round) {
            const auto found = up ? t.scan(far_key<kept>(5), 1) : t.scan_back(far_key<kept>(5), 1);
            ASSERT_EQ(found.size(), 1U);
            ASSERT_EQ(found.front().first, far_key<kept>(alone));
        }
        over = true;
        writer.join();
        t.expect_sound();
    }
}

REGISTER_TYPED_TEST_SUITE_P(index_scans, scans_visit_unchanged_entries_once_in_order,
                            scans_stay_in_bounds);

}  // namespace hf::test
