// The in-line building blocks under every prefix of their stores: what a line may look like on the
// medium (PCSO).
#include "base/random.hpp"
#include "checkpoint/compact_cell.hpp"
#include "checkpoint/logged_cell.hpp"

#include <gtest/gtest.h>

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

TEST(compact_cell, returns_the_epoch_start_after_any_chain_of_crashes) {
    // Each step: write in the running epoch, crash at any prefix, recover by writing (or only by
    // reading), and so on.
    struct state {
        image bits;
        u64 value;  // what must be read after recovery
    };
    compact_cell cell;
    failed_set failed;
    cell.write(7, failed, 10);
    std::vector<state> states{{of(cell), 7}};
    u64 epoch = 11;
    for (int crash = 0; crash < 7; ++crash, ++epoch) {
        std::vector<state> next;
        failed.add(epoch);
        for (const state& s : states) {
            // One write in the epoch that fails, from the recovered view of the epochs that failed
            // before.
            failed_set earlier;
            for (u64 e = 11; e < epoch; ++e) earlier.add(e);
            put(cell, s.bits);
            ASSERT_EQ(cell.read(earlier, epoch), s.value);
            cell.write(100 + epoch, earlier, epoch);
            for (const image& i : prefixes(s.bits, of(cell))) {
                put(cell, i);
                ASSERT_EQ(cell.read(failed, epoch + 1), s.value) << "crash " << crash;
                next.push_back({i, s.value});
            }
        }
        states = next;
    }
    EXPECT_GT(states.size(), 100U);
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
}

TEST(failed_set, joins_neighbours_and_knows_its_members) {
    failed_set f;
    EXPECT_EQ(f.horizon(), 0U);
    f.add(3);
    f.add(4);
    f.add(9);
    f.add(9);
    EXPECT_EQ(f.ranges().size(), 2U);
    EXPECT_EQ(f.count(), 3U);
    EXPECT_EQ(f.horizon(), 10U);
    for (u64 e = 0; e < 12; ++e) EXPECT_EQ(f.contains(e), e == 3 || e == 4 || e == 9) << e;
}

}  // namespace
}  // namespace hf
