// Cores that share pages: isolation, coherent bits, and pages that only the last core lets go.
#include "sim/shadow_machine.hpp"

#include <gtest/gtest.h>

namespace hf::sim {
namespace {

shadow_config two_cores() {
    shadow_config c;
    c.on.cores = 2;
    c.on.tlb_entries = 2;
    c.on.stlb_sets = 0;
    c.inserts = insertion::at_first_store;
    return c;
}

TEST(several_cores, an_updated_line_is_refused_to_others_until_the_commit) {
    shadow_machine<> m(two_cores(), 16);
    m.begin(0);
    m.begin(1);
    EXPECT_TRUE(m.store(0, 0, 8));
    EXPECT_FALSE(m.store(1, 8, 8));
    EXPECT_FALSE(m.load(1, 8, 8));
    EXPECT_TRUE(m.store(1, 64, 8)) << "another line of the page";
    EXPECT_EQ(m.numbers().conflicts, 2U);
    m.commit(0);
    EXPECT_TRUE(m.load(1, 8, 8));
    m.commit(1);
    EXPECT_EQ(m.numbers().flushed(source::data), 2U);
}

TEST(several_cores, each_commits_its_own_lines_of_a_shared_page) {
    shadow_machine<> m(two_cores(), 16);
    m.begin(0);
    m.begin(1);
    m.store(0, 0, 8);
    m.store(1, 64, 8);
    const u64 old = m.line_of(0, 64);
    m.commit(0);
    EXPECT_EQ(m.page(0).bits.committed, 0b01U);
    EXPECT_EQ(m.page(0).bits.updated, 0b10U);
    EXPECT_EQ(m.line_of(0, 64), old) << "not committed: core 0 reads the old line";
    EXPECT_NE(m.line_of(1, 64), old);
    m.abort(1);
    EXPECT_EQ(m.page(0).bits, (shadow::page_bits{0b01, 0}));
}

TEST(several_cores, a_commit_tells_the_cores_that_hold_the_page) {
    shadow_machine<> m(two_cores(), 16);
    m.load(1, 0, 8);
    m.begin(0);
    m.store(0, 0, 8);
    m.store(0, 4096, 8);
    m.commit(0);
    EXPECT_EQ(m.numbers().messages, 1U) << "core 1 has one of the two pages";
}

TEST(several_cores, a_page_has_two_slots_until_the_last_tlb_loses_it) {
    shadow_machine<> m(two_cores(), 16);
    m.load(1, 0, 8);
    m.begin(0);
    m.store(0, 0, 8);
    m.commit(0);
    m.load(0, 4096, 8);
    m.load(0, 2 * 4096, 8);
    EXPECT_TRUE(m.page(0).has_entry()) << "core 1 has it";
    m.load(1, 4096, 8);
    m.load(1, 2 * 4096, 8);
    EXPECT_FALSE(m.page(0).has_entry());
}

TEST(several_cores, a_shootdown_takes_the_page_from_all) {
    shadow_machine<> m(two_cores(), 16);
    m.load(1, 0, 8);
    m.begin(0);
    m.store(0, 0, 8);
    m.commit(0);
    m.shootdown(0);
    EXPECT_FALSE(m.page(0).has_entry());
    EXPECT_EQ(m.tlb_refs(0), 0U);
    EXPECT_EQ(m.numbers().shootdowns, 1U);
}

TEST(several_cores, a_shootdown_of_an_updated_page_waits_with_its_consolidation) {
    shadow_machine<> m(two_cores(), 16);
    m.begin(0);
    m.store(0, 0, 8);
    m.shootdown(0);
    EXPECT_TRUE(m.page(0).waits);
    m.abort(0);
    EXPECT_FALSE(m.page(0).has_entry());
    EXPECT_EQ(m.numbers().flushed(source::consolidation), 0U);
}

}  // namespace
}  // namespace hf::sim
