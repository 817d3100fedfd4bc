#include "shadow/home_entry.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hf::shadow {
namespace {

TEST(home_entry, a_name_says_its_page_in_its_own_slot_alone) {
    for (const u64 page : {u64{0}, u64{16}, u64{1} << 27, (u64{1} << 32) - 2}) {
        const u64 name = entry_name(page, 77);
        EXPECT_NE(name, 0U);
        EXPECT_EQ(page_of_name(name, 77), page);
        EXPECT_EQ(page_of_name(name, 78), std::nullopt);
    }
    EXPECT_EQ(page_of_name(0, 77), std::nullopt) << "of a free entry";
}

TEST(home_entry, one_or_two_flipped_bits_make_no_other_name) {
    const u64 name = entry_name(63, 5);
    for (unsigned a = 0; a < 64; ++a) {
        for (unsigned b = a; b < 64; ++b) {
            const u64 damaged = name ^ u64 { 1 } << a ^ (a == b ? 0 : u64{1} << b);
            EXPECT_NE(damaged, 0U) << "a free entry";
            EXPECT_EQ(page_of_name(damaged, 5), std::nullopt) << a << " " << b;
        }
    }
}

TEST(home_entry, names_of_pages_and_slots_differ) {
    std::set<u64> names;
    for (u64 page = 16; page < 80; ++page) {
        for (u64 slot = 80; slot < 96; ++slot) names.insert(entry_name(page, slot) >> 32);
    }
    EXPECT_GT(names.size(), 1020U) << "of 1,024 checks";
}

TEST(home_entry, a_difference_is_explained_by_records_that_name_its_line) {
    constexpr line_set committed = 0x50;
    EXPECT_EQ(unexplained(committed, ~committed, 0), 0U);
    EXPECT_EQ(unexplained(committed, ~committed ^ 0x11, 0), 0x11U);
    EXPECT_EQ(unexplained(committed, ~committed ^ 0x11, 0x10), 0x01U);
    EXPECT_EQ(unexplained(committed, ~committed ^ 0x11, 0x31), 0U);
    EXPECT_EQ(unexplained(0, 0, 0), ~line_set{0}) << "a line of zeros";
}

}  // namespace
}  // namespace hf::shadow
