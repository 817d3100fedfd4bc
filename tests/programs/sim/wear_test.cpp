// Writes a line, counted and summed up.
#include "sim/wear.hpp"

#include <gtest/gtest.h>

namespace hf::sim {
namespace {

TEST(wear, nothing_written_is_all_zeros) {
    const wear_summary s = wear().summary();
    EXPECT_EQ(s.lines + s.writes + s.worst + s.median + s.p99, 0U);
}

TEST(wear, tells_lines_writes_worst_and_middle) {
    wear w;
    for (u64 line = 0; line < 100; ++line) {
        for (u64 i = 0; i <= line; ++i) w.write(line * 7);
    }
    const wear_summary s = w.summary();
    EXPECT_EQ(s.lines, 100U);
    EXPECT_EQ(s.writes, 5050U);
    EXPECT_EQ(s.worst, 100U);
    EXPECT_EQ(s.median, 51U);
    EXPECT_EQ(s.p99, 100U);
    w.clear();
    EXPECT_EQ(w.summary().lines, 0U);
}

TEST(wear, counts_each_write_however_many_there_are) {
    wear w;
    for (u64 i = 0; i < 10'000; ++i) w.write(i % 7 == 0 ? 5 : i * 100);
    const wear_summary s = w.summary();
    EXPECT_EQ(s.writes, 10'000U);
    EXPECT_EQ(s.worst, 1429U);
    w.write(3);
    EXPECT_EQ(w.summary().writes, 10'001U);
    w.write(3);
    w.clear();
    EXPECT_EQ(w.summary().writes, 0U) << "those not counted yet, too";
}

}  // namespace
}  // namespace hf::sim
