// A process that dies while the machine goes on: what it left in the caches is seen by the next
// one, and is as possibly volatile as it was.
#include "crashlab/command/replay_token.hpp"
#include "crashlab/laboratory.hpp"
#include "crashlab/seeded/clerk.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace hf::lab {
namespace {

using seeded::clerk_case;
using seeded::next_one;

std::optional<finding> explored(laboratory& lab, target& t, u32 kills, counts& counted) {
    limits l;
    l.kills = kills;
    l.depth = 1;
    return lab.explore(t, l, counted, 1, persistence::pcso, {});
}

TEST(killed_process, leaves_what_the_next_one_must_make_sure) {
    laboratory lab;
    counts counted;
    const auto t = lab.record(clerk_case(next_one::trusts_caches), 1);
    const auto found = explored(lab, *t, 1, counted);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->what, "what was answered is gone");
    ASSERT_EQ(found->stages.size(), 2U);
    EXPECT_TRUE(found->stages[0].killed);
    EXPECT_GT(counted.kills, 0U);

    const auto again = parse_token(token_of(*found));
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(lab.replay(*t, *again, persistence::pcso), found->what);
    const auto right = lab.record(clerk_case(next_one::makes_sure), 1);
    EXPECT_EQ(lab.replay(*right, *again, persistence::pcso), std::nullopt);
}

TEST(killed_process, does_no_harm_to_who_makes_sure) {
    laboratory lab;
    counts counted;
    const auto t = lab.record(clerk_case(next_one::makes_sure), 1);
    EXPECT_EQ(explored(lab, *t, 1, counted), std::nullopt);
    EXPECT_GT(counted.kills, 0U);
}

/// A power cut alone never shows it: then the claim was durable, or no thread has seen it.
TEST(killed_process, is_what_it_takes) {
    laboratory lab;
    counts counted;
    const auto t = lab.record(clerk_case(next_one::trusts_caches), 1);
    EXPECT_EQ(explored(lab, *t, 0, counted), std::nullopt);
    EXPECT_EQ(counted.kills, 0U);
}

}  // namespace
}  // namespace hf::lab
