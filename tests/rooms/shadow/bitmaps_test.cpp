// Committed and updated bits against a page that keeps each line's two versions by hand.
#include "shadow/rules.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <array>

namespace hf::shadow {
namespace {

// At compile time: the rules need no memory but their own.
constexpr page_bits after_a_store = [] {
    page_bits b{0b10, 0};
    b.store(0);
    b.store(1);
    return b;
}();
static_assert(after_a_store.read_slot(0) == 1 && after_a_store.read_slot(1) == 0);
static_assert(after_a_store.change(7) == page_change{7, 0b11, 0b01});

TEST(page_bits, loads_of_a_clean_line_use_the_committed_slot) {
    const page_bits b{0b10, 0};
    EXPECT_EQ(b.read_slot(0), 0U);
    EXPECT_EQ(b.read_slot(1), 1U);
}

TEST(page_bits, stores_use_the_slot_that_is_not_committed_whatever_is_updated) {
    for (unsigned c = 0; c < 2; ++c) {
        for (unsigned u = 0; u < 2; ++u) {
            const page_bits b{only(63) * c, only(63) * u};
            EXPECT_EQ(b.write_slot(63), c ^ 1) << c << u;
            EXPECT_EQ(b.read_slot(63), c ^ u) << c << u;
        }
    }
}

TEST(page_bits, the_first_store_alone_needs_the_old_line) {
    page_bits b;
    EXPECT_TRUE(b.needs_old_line(5));
    b.store(5);
    EXPECT_FALSE(b.needs_old_line(5));
    EXPECT_TRUE(b.needs_old_line(6));
    b.commit();
    EXPECT_TRUE(b.needs_old_line(5));
}

TEST(page_bits, an_abort_changes_no_committed_bit) {
    page_bits b{0xf0f0, 0};
    b.store(3);
    b.store(4);
    b.abort();
    EXPECT_EQ(b, (page_bits{0xf0f0, 0}));
}

TEST(page_bits, a_commit_of_some_lines_leaves_the_others_updated) {
    page_bits b{0, 0b1111};
    const page_change c = b.change_of(1, 0b0011);
    b.commit(0b0011);
    EXPECT_EQ(b, (page_bits{0b0011, 0b1100}));
    EXPECT_EQ(c, (page_change{1, 0b0011, 0b0011}));
}

TEST(page_change, leaves_lines_that_are_not_in_its_mask) {
    const page_change c{0, 0b0110, 0b0010};
    EXPECT_EQ(c.applied_to(0b1101), 0b1011U);
}

/// A page by hand: the committed and the running version of each line.
struct plain_page {
    std::array<u64, lines_per_page> committed{};
    std::array<u64, lines_per_page> running{};
};

/// A page by the rules: two slots.
struct slotted_page {
    std::array<std::array<u64, lines_per_page>, 2> slots{};
    page_bits bits;

    [[nodiscard]] u64 load(unsigned line) const { return slots[bits.read_slot(line)][line]; }
    void store(unsigned line, u64 value) {
        const unsigned to = bits.write_slot(line);
        if (bits.needs_old_line(line)) slots[to][line] = slots[to ^ 1][line];
        slots[to][line] += value;  // depends on the old content, as a store of one word does
        bits.store(line);
    }
};

RC_GTEST_PROP(page_bits, read_as_a_page_with_copies_does, (std::vector<u16> steps)) {
    plain_page plain;
    slotted_page page;
    for (const u16 step : steps) {
        const unsigned line = step & 63;
        if (step % 7 == 0) {
            const line_set before = page.bits.committed;
            const page_change c = page.bits.change(9);
            page.bits.commit();
            RC_ASSERT(c.applied_to(before) == page.bits.committed);
            RC_ASSERT(c.applied_to(page.bits.committed) == page.bits.committed);
            plain.committed = plain.running;
        } else if (step % 7 == 1) {
            page.bits.abort();
            plain.running = plain.committed;
        } else {
            page.store(line, step);
            plain.running[line] += step;
        }
        for (unsigned i = 0; i < lines_per_page; ++i) {
            RC_ASSERT(page.load(i) == plain.running[i]);
            RC_ASSERT(page.slots[page.bits.committed_slot(i)][i] == plain.committed[i]);
        }
    }
}

RC_GTEST_PROP(page_change, commutes_with_one_of_other_lines,
              (u64 committed, u64 updated, u64 mine)) {
    const page_bits b{committed, updated};
    const page_change first = b.change_of(0, mine);
    const page_change second = b.change_of(0, ~mine);
    const line_set one_way = second.applied_to(first.applied_to(committed));
    RC_ASSERT(one_way == first.applied_to(second.applied_to(committed)));
    RC_ASSERT(one_way == (committed ^ updated));
}

}  // namespace
}  // namespace hf::shadow
