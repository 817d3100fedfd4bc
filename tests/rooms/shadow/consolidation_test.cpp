// From two slots to one: which is kept, and what is copied.
#include "shadow/rules.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <array>

namespace hf::shadow {
namespace {

TEST(consolidation_plan, keeps_the_slot_with_more_lines) {
    EXPECT_EQ(plan_consolidation(0b111).kept, 0U);
    EXPECT_EQ(plan_consolidation(0b111).to_copy, 0b111U);
    EXPECT_EQ(plan_consolidation(~line_set{0b111}).kept, 1U);
    EXPECT_EQ(plan_consolidation(~line_set{0b111}).to_copy, 0b111U);
}

TEST(consolidation_plan, copies_nothing_where_one_slot_has_all) {
    EXPECT_EQ(plan_consolidation(0).lines(), 0U);
    EXPECT_EQ(plan_consolidation(~line_set{0}).lines(), 0U);
}

TEST(consolidation_plan, keeps_the_mapped_slot_where_both_have_half) {
    const line_set half = 0xffffffff;
    EXPECT_EQ(plan_consolidation(half, 0).kept, 0U);
    EXPECT_EQ(plan_consolidation(half, 1).kept, 1U);
    EXPECT_EQ(plan_consolidation(half << 1 | 1, 1).kept, 1U) << "33 lines in P1";
    EXPECT_EQ(plan_consolidation(half >> 1, 1).kept, 0U) << "31 lines in P1";
}

TEST(consolidation_plan, into_a_given_slot_copies_all_lines_that_it_lacks) {
    EXPECT_EQ(plan_consolidation_into(1, 0b1).to_copy, ~line_set{0b1});
    EXPECT_EQ(plan_consolidation_into(0, 0b1).to_copy, 0b1U);
}

TEST(consolidation, waits_for_updated_lines) {
    EXPECT_TRUE(may_consolidate({5, 0}));
    EXPECT_FALSE(may_consolidate({5, 1}));
}

RC_GTEST_PROP(consolidation_plan, leaves_every_committed_line_in_the_kept_slot,
              (u64 committed, bool mapped)) {
    std::array<std::array<u64, lines_per_page>, 2> slots{};
    for (unsigned i = 0; i < lines_per_page; ++i) slots[committed >> i & 1][i] = i + 1;
    const consolidation_plan plan = plan_consolidation(committed, mapped ? 1 : 0);
    RC_ASSERT(plan.lines() <= lines_per_page / 2);
    for (unsigned i = 0; i < lines_per_page; ++i) {
        // A line that is copied is not the kept slot's own.
        if ((plan.to_copy & only(i)) != 0) slots[plan.kept][i] = slots[plan.kept ^ 1][i];
    }
    for (unsigned i = 0; i < lines_per_page; ++i) {
        RC_ASSERT(slots[plan.kept][i] == i + 1);
        RC_ASSERT((plan.committed >> i & 1) == plan.kept);
    }
}

}  // namespace
}  // namespace hf::shadow
