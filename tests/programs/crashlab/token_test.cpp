#include "crashlab/command/replay_token.hpp"

#include <gtest/gtest.h>

namespace hf::lab {
namespace {

TEST(replay_token, comes_back_as_it_was) {
    finding f;
    f.stages = {{17, {{0x3f, 2, 4}, {choice_of_length, 1, 2}}}, {5, {}}};
    f.asked = probe::question;
    f.question = 12;
    const std::string token = token_of(f);
    EXPECT_EQ(token, "17:3f=2,length=1/5:!question12");
    const auto again = parse_token(token);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(token_of(*again), token);
}

TEST(replay_token, says_that_a_process_was_killed) {
    finding f;
    f.stages = {{17, {}, true}, {40, {{0x3f, 2, 4}}}};
    const std::string token = token_of(f);
    EXPECT_EQ(token, "k17:/40:3f=2!recovery");
    const auto again = parse_token(token);
    ASSERT_TRUE(again.has_value());
    EXPECT_TRUE(again->stages[0].killed);
    EXPECT_FALSE(again->stages[1].killed);
}

TEST(replay_token, leaves_out_what_stayed_old) {
    finding f;
    f.stages = {{1, {{0x3f, 0, 4}, {0x40, 3, 4}}}};
    f.asked = probe::work;
    EXPECT_EQ(token_of(f), "1:40=3!work");
}

TEST(replay_token, refuses_what_is_none) {
    for (const char* text : {"", "!", "17", "17:", "17:!", "x:!work", "17:zz=1!work", "17:3f!work",
                             "17:3f=!work", "17:3f=x!work", "17:!question", "17:!questionx",
                             "kk17:!work", "k:!work", "17:!nonsense", "/!work"}) {
        EXPECT_FALSE(parse_token(text).has_value()) << text;
    }
}

}  // namespace
}  // namespace hf::lab
