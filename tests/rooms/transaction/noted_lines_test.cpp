// The lines that a lane has recorded as dirty: a line that is not there is recorded again.
#include "transaction/noted_lines.hpp"

#include <gtest/gtest.h>

namespace hf::test {

TEST(noted_lines, knows_what_was_added_in_this_epoch) {
    noted_lines noted;
    EXPECT_FALSE(noted.has(7, 1));
    noted.add(7, 1);
    EXPECT_TRUE(noted.has(7, 1));
    EXPECT_FALSE(noted.has(8, 1));
}

TEST(noted_lines, forgets_all_with_the_epoch) {
    noted_lines noted;
    noted.add(7, 1);
    EXPECT_FALSE(noted.has(7, 2));
    noted.add(8, 2);
    EXPECT_FALSE(noted.has(7, 2));
    EXPECT_FALSE(noted.has(7, 1)) << "an epoch does not come again";
}

TEST(noted_lines, never_takes_one_line_for_another) {
    noted_lines noted;
    constexpr u64 lines = 4 * noted_lines::most;
    for (u64 l = 1; l <= lines; ++l) noted.add(l, 1);
    u64 known = 0;
    for (u64 l = 1; l <= 2 * lines; ++l) {
        if (!noted.has(l, 1)) continue;
        EXPECT_LE(l, lines);
        ++known;
    }
    EXPECT_LE(known, noted_lines::most);
    EXPECT_GT(known, noted_lines::most / 2);
}

}  // namespace hf::test
