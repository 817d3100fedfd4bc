// Super pages: bitmaps kept as data is, and the lines that a commit flushes.
#include "shadow/rules.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <array>
#include <set>
#include <vector>

namespace hf::shadow {
namespace {

TEST(super_page, a_new_bitmap_is_read_at_once_and_committed_by_one_word) {
    super_page s;
    s.write(9, 0xff);
    EXPECT_EQ(s.read(9), 0xffU);
    EXPECT_EQ(s.committed(9), 0U);
    EXPECT_EQ(s.bits.to_flush(), only(1));
    s.bits.commit();
    EXPECT_EQ(s.committed(9), 0xffU);
}

TEST(super_page, the_first_store_to_a_line_fetches_its_other_bitmaps) {
    super_page s;
    s.write(8, 0x11);
    s.bits.commit();
    s.write(9, 0x22);
    s.bits.commit();
    EXPECT_EQ(s.committed(8), 0x11U);
    EXPECT_EQ(s.committed(9), 0x22U);
    s.write(8, 0x33);
    s.write(9, 0x44);
    EXPECT_EQ(s.read(8), 0x33U);
    s.bits.abort();
    EXPECT_EQ(s.committed(8), 0x11U);
    EXPECT_EQ(s.read(9), 0x22U);
}

RC_GTEST_PROP(super_page, commits_and_aborts_as_an_array_of_bitmaps_does,
              (std::vector<std::pair<u16, u64>> steps)) {
    super_page s;
    std::array<u64, bitmaps_per_super_page> running{};
    std::array<u64, bitmaps_per_super_page> committed{};
    for (const auto& [step, mask] : steps) {
        const unsigned index = step % bitmaps_per_super_page;
        if (step % 5 == 0) {
            s.bits.commit();
            committed = running;
        } else if (step % 5 == 1) {
            s.bits.abort();
            running = committed;
        } else {
            const page_change c{index, mask, mask & (mask >> 1)};
            s.apply(c, index);
            running[index] = c.applied_to(running[index]);
        }
        for (unsigned i = 0; i < bitmaps_per_super_page; ++i) {
            RC_ASSERT(s.read(i) == running[i]);
            RC_ASSERT(s.committed(i) == committed[i]);
        }
    }
}

TEST(super_page_levels, grow_by_512) {
    EXPECT_EQ(super_page_levels(1), 1U);
    EXPECT_EQ(super_page_levels(512), 1U);
    EXPECT_EQ(super_page_levels(513), 2U);
    EXPECT_EQ(super_page_levels(512 * 512), 2U);
    EXPECT_EQ(super_page_levels(512 * 512 + 1), 3U);
}

TEST(super_page_lines, of_one_level_are_the_lines_of_bitmaps_and_the_root) {
    const std::vector<u64> near{0, 7};
    const std::vector<u64> apart{0, 8, 511};
    EXPECT_EQ(super_page_lines({}, 512), 0U);
    EXPECT_EQ(super_page_lines(near, 512), 2U);
    EXPECT_EQ(super_page_lines(apart, 512), 4U);
}

RC_GTEST_PROP(super_page_lines, count_what_super_pages_of_super_pages_would_flush, (u8 n)) {
    const u64 pages = 3 * 512 * 512;  // three levels
    std::set<u64> chosen;
    for (unsigned i = 0; i <= n; ++i) chosen.insert(*rc::gen::inRange<u64>(0, pages));
    std::set<std::pair<unsigned, u64>> lines{{0, 0}};
    for (const u64 i : chosen) {
        lines.insert({1, i / 8});
        lines.insert({2, i / 512 / 8});
        lines.insert({3, i / 512 / 512 / 8});
    }
    const std::vector<u64> sorted(chosen.begin(), chosen.end());
    RC_ASSERT(super_page_lines(sorted, pages) == lines.size());
}

}  // namespace
}  // namespace hf::shadow
