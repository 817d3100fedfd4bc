#include "support/effort.hpp"

#include <gtest/gtest.h>

namespace hf::test {
namespace {

TEST(effort, is_what_was_asked_for_and_never_nothing) {
    const char* const text = std::getenv("HF_EFFORT");
    const double factor = text == nullptr ? 1 : std::strtod(text, nullptr);
    EXPECT_EQ(effort(1000), static_cast<int>(1000 * factor));
    EXPECT_GE(effort(0), 1);
}

}  // namespace
}  // namespace hf::test
