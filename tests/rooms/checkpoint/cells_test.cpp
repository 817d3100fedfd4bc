// The in-line building blocks under every prefix of their stores: what a line may look like on the
// medium (PCSO).
#include "base/random.hpp"
#include "checkpoint/compact_cell.hpp"
#include "checkpoint/logged_cell.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hf {
namespace {

/// The two words of a compact cell, as a crash leaves them.
struct image {
    u64 now;
    u64 before;
    friend bool operator==(const image&, const image&) = default;
};

image of(const compact_cell& c) { return {c.now.load(), c.before.load()}; }

void put(compact_cell& c, image i) {
    c.now.store(i.now);
    c.before.store(i.before);
}

/// All prefixes of one write: `before` is stored first, and only in the first write of an epoch.
std::vector<image> prefixes(image old, image fresh) {
    std::vector<image> all{old};
    if (old.before != fresh.before) all.push_back({old.now, fresh.before});
    if (!(all.back() == fresh)) all.push_back(fresh);
    return all;
}

/// Each step: write in the running epoch, crash at any prefix, recover by writing (or only by
/// reading), and so on.
void crash_again_and_again(u64 first_epoch) {
    SCOPED_TRACE("from epoch " + std::to_string(first_epoch));
    struct state {
        image bits;
        u64 value;  // what must be read after recovery
    };
    compact_cell cell;
    failed_set failed;
    cell.write(7, failed, first_epoch);
    std::vector<state> states{{of(cell), 7}};
    failed_set earlier;
    u64 epoch = first_epoch + 1;
    for (int crash = 0; crash < 7; ++crash, ++epoch) {
        std::vector<state> next;
        failed.add(epoch);
        for (const state& s : states) {
            // One write in the epoch that fails, from the recovered view of the epochs that failed
            // before.
            put(cell, s.bits);
            ASSERT_EQ(cell.read(earlier, epoch), s.value);
            cell.write(100 + epoch % 100, earlier, epoch);
            for (const image& i : prefixes(s.bits, of(cell))) {
                put(cell, i);
                ASSERT_EQ(cell.read(failed, epoch + 1), s.value) << "crash " << crash;
                next.push_back({i, s.value});
            }
        }
        states = next;
        earlier = failed;
    }
    EXPECT_GT(states.size(), 100U);
}

// Both halves of an epoch's number change where its lower one comes round, and so do all of them.
TEST(compact_cell, returns_the_epoch_start_after_any_chain_of_crashes) {
    for (const unsigned bits : {4U, 18U, 36U, 37U}) {
        for (u64 before = 1; before < 8; ++before) crash_again_and_again((u64{1} << bits) - before);
    }
}

TEST(compact_cell, keeps_the_first_value_of_an_epoch_over_many_writes) {
    compact_cell cell;
    failed_set failed;
    cell.write(1, failed, 5);
    for (u64 v = 2; v < 20; ++v) cell.write(v, failed, 6);
    EXPECT_EQ(cell.read(failed, 6), 19U);
    failed.add(6);
    EXPECT_EQ(cell.read(failed, 7), 1U);
}

TEST(compact_cell, tells_epochs_apart_beyond_36_bits) {
    const u64 high = (u64{5} << 36) + 3;
    EXPECT_EQ(compact_cell::full_epoch(high & compact_cell::epoch_mask, high), high);
    EXPECT_EQ(compact_cell::full_epoch(compact_cell::epoch_mask, high), (u64{5} << 36) - 1);
    EXPECT_EQ(compact_cell::full_epoch(4, high), (u64{4} << 36) + 4);
}

/// The newest epoch not above `current` that is `low` modulo 2^36, or 0: by trying all
/// candidates.
u64 newest_epoch(u64 low, u64 current) {
    u64 newest = 0;
    for (u64 e = low; e <= current; e += compact_cell::epoch_mask + 1) newest = e;
    return newest;
}

TEST(compact_cell, takes_the_newest_epoch_that_can_be_meant) {
    constexpr u64 range = compact_cell::epoch_mask + 1;
    std::vector<u64> near;
    for (u64 d = 0; d < 4; ++d) {
        near.push_back(d);
        near.push_back(range / 2 + d);
        near.push_back(range - 4 + d);
    }
    for (u64 high = 0; high < 4; ++high) {
        for (const u64 c : near) {
            for (const u64 low : near) {
                const u64 current = high * range + c;
                ASSERT_EQ(compact_cell::full_epoch(low, current), newest_epoch(low, current))
                    << low << " in " << current;
            }
        }
    }
}

TEST(compact_cell, holds_what_is_written_over_any_remains_and_gives_back_what_was_read_before) {
    // Words whose fields are small or large numbers: torn or not, of this epoch, of another, of a
    // failed one.
    xoshiro256ss random(5);
    const auto some_word = [&] {
        const u64 epoch = random.below(2) == 0 ? 0 : random.below(3);
        const u64 value = random.below(4) == 0 ? compact_cell::value_limit - 1 : random.below(9);
        return (random.below(8) == 0 ? epoch << 48 : 0) | value << 4 | epoch << 2 | random.below(4);
    };
    unsigned torn = 0;
    for (unsigned i = 0; i < 200'000; ++i) {
        compact_cell cell;
        put(cell, {some_word(), some_word()});
        const compact_cell::content was = cell.load();
        failed_set failed;
        for (u64 e = 0; e < 4; ++e) {
            if (random.below(3) == 0) failed.add(e);
        }
        if (failed.empty()) failed.add(1);  // else nothing is torn
        // Running is an epoch that has not failed; often the one that the remains name.
        u64 current = compact_cell::full_epoch(was.epoch, (u64{1} << 36) - 1);
        if (random.below(2) == 0 || failed.contains(current)) current = 4 + random.below(3);
        const u64 before = cell.read(failed, current);
        const bool goes_back =
            was.torn || failed.contains(compact_cell::full_epoch(was.epoch, current));
        ASSERT_EQ(before, goes_back ? was.before_value : was.now_value);
        ASSERT_EQ(cell.needs_recovery(failed, current), goes_back);
        const bool is_of_this_epoch = !was.torn && was.epoch == current;
        const u64 start = is_of_this_epoch ? was.before_value : before;
        const u64 value = random.below(compact_cell::value_limit);
        cell.write(value, failed, current);
        ASSERT_EQ(cell.read(failed, current), value);
        ASSERT_FALSE(cell.needs_recovery(failed, current));
        ASSERT_EQ(cell.load().epoch, current);
        ASSERT_EQ(cell.load().before_value, start) << "what a crash in this epoch goes back to";
        torn += was.torn ? 1U : 0U;
    }
    EXPECT_GT(torn, 1000U);
}

TEST(compact_cell, is_read_as_it_is_where_nothing_has_failed) {
    compact_cell cell;
    put(cell, {5U << 4 | 1, 6U << 4 | 2});  // a writer of this process is between its two stores
    EXPECT_EQ(cell.read({}, 9), 5U);
}

TEST(compact_cell, needs_no_recovery_from_an_epoch_of_the_same_low_bits) {
    constexpr u64 range = compact_cell::epoch_mask + 1;
    compact_cell cell;
    failed_set failed;
    cell.write(1, failed, 8);
    cell.write(2, failed, range + 9);
    failed.add(9);
    EXPECT_FALSE(cell.needs_recovery(failed, range + 10)) << "9 itself is long gone";
    EXPECT_EQ(cell.read(failed, range + 10), 2U);
    failed.add(range + 9);
    EXPECT_TRUE(cell.needs_recovery(failed, range + 10));
    EXPECT_EQ(cell.read(failed, range + 10), 1U);
}

TEST(logged_group, rolls_back_from_every_prefix_of_its_stores) {
    // The stores of begin() and two set() calls, in order; the medium holds any prefix of them.
    logged_group<3> model;
    for (unsigned i = 0; i < 3; ++i) model.set(i, 10 + i);
    model.epoch.store(4);
    struct line {
        u64 now[3], before[3], epoch;
    };
    line bits{{10, 11, 12}, {0, 0, 0}, 4};
    std::vector<line> images{bits};
    const auto step = [&](u64& word, u64 value) {
        word = value;
        images.push_back(bits);
    };
    for (unsigned i = 0; i < 3; ++i) step(bits.before[i], bits.now[i]);
    step(bits.epoch, 5);
    step(bits.now[1], 99);
    step(bits.now[0], 98);
    // The group does the same when asked.
    ASSERT_TRUE(model.begin(5));
    ASSERT_FALSE(model.begin(5));
    model.set(1, 99);
    model.set(0, 98);
    for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(model.now[i].load(), bits.now[i]);
    for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(model.before[i].load(), bits.before[i]);
    failed_set failed;
    failed.add(5);
    for (const line& l : images) {
        logged_group<3> g;
        for (unsigned i = 0; i < 3; ++i) {
            g.now[i].store(l.now[i]);
            g.before[i].store(l.before[i]);
        }
        g.epoch.store(l.epoch);
        g.recover(failed, 0);
        for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(g.get(i), 10 + i);
        g.recover(failed, 0);
        for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(g.get(i), 10 + i);
    }
    // Stamped with the recovering epoch, whose logs equal the values.
    ASSERT_TRUE(model.recover(failed, 6));
    failed.add(6);
    ASSERT_TRUE(model.recover(failed, 7));
    EXPECT_FALSE(model.recover(failed, 8));
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(model.get(i), 10 + i);
}

TEST(failed_set, joins_neighbours_and_knows_its_members) {
    failed_set f;
    EXPECT_EQ(f.horizon(), 0U);
    EXPECT_EQ(f.count(), 0U);
    f.add(3);
    f.add(4);
    f.add(9);
    f.add(9);
    EXPECT_EQ(f.ranges().size(), 2U);
    EXPECT_EQ(f.count(), 3U);
    EXPECT_EQ(f.horizon(), 10U);
    for (u64 e = 0; e < 12; ++e) EXPECT_EQ(f.contains(e), e == 3 || e == 4 || e == 9) << e;
    f.add(11);
    EXPECT_EQ(f.ranges().size(), 3U) << "10 lies between";
    f.clear();
    EXPECT_TRUE(f.empty());
    EXPECT_FALSE(f.contains(3));
}

// Sets of up to ten epochs, each against a plain list of its members, and read back as ranges.
TEST(failed_set, is_the_set_of_what_was_added) {
    constexpr u64 limit = 10;
    for (u64 members = 0; members < u64{1} << limit; ++members) {
        failed_set f;
        u64 n = 0;
        u64 horizon = 0;
        for (u64 e = 0; e < limit; ++e) {
            if ((members >> e & 1) == 0) continue;
            f.add(e);
            ++n;
            horizon = e + 1;
        }
        failed_set again;
        for (const auto& r : f.ranges()) again.add_range(r.first, r.last);
        for (const failed_set* s : {&f, &again}) {
            ASSERT_EQ(s->count(), n);
            ASSERT_EQ(s->horizon(), horizon);
            ASSERT_EQ(s->empty(), n == 0);
            for (u64 e = 0; e <= limit; ++e) {
                ASSERT_EQ(s->contains(e), e < limit && (members >> e & 1) != 0) << e;
            }
        }
        for (std::size_t i = 1; i < f.ranges().size(); ++i) {
            ASSERT_GT(f.ranges()[i].first, f.ranges()[i - 1].last + 1) << "F1";
        }
    }
}

}  // namespace
}  // namespace hf
