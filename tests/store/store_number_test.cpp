// Numbers are read as memcached reads them.
#include "store/store_number.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hf::detail {
namespace {

using namespace std::string_view_literals;

TEST(store_number, reads_digits) {
    EXPECT_EQ(parse_unsigned("0"), 0U);
    EXPECT_EQ(parse_unsigned("007"), 7U);
    EXPECT_EQ(parse_unsigned("18446744073709551615"), std::numeric_limits<u64>::max());
    EXPECT_EQ(parse_signed("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(parse_signed("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
}

TEST(store_number, refuses_what_does_not_fit) {
    EXPECT_EQ(parse_unsigned("18446744073709551616"), std::nullopt);
    EXPECT_EQ(parse_unsigned("99999999999999999999999999"), std::nullopt);
    EXPECT_EQ(parse_signed("9223372036854775808"), std::nullopt);
    EXPECT_EQ(parse_signed("-9223372036854775809"), std::nullopt);
}

TEST(store_number, takes_blanks_before_and_anything_behind_a_blank) {
    EXPECT_EQ(parse_unsigned(" \t\r\n\v\f5"), 5U);
    EXPECT_EQ(parse_unsigned("5 and more"), 5U);
    EXPECT_EQ(parse_unsigned("5\tx"), 5U);
    EXPECT_EQ(parse_unsigned("5\0x"sv), 5U);
    EXPECT_EQ(parse_signed("-5 "), -5);
}

TEST(store_number, takes_signs_as_c_does) {
    EXPECT_EQ(parse_unsigned("+5"), 5U);
    EXPECT_EQ(parse_unsigned("-0"), 0U);
    EXPECT_EQ(parse_unsigned("-1"), std::nullopt);
    EXPECT_EQ(parse_unsigned("-18446744073709551615"), 1U);
    EXPECT_EQ(parse_signed("+5"), 5);
}

TEST(store_number, refuses_what_is_no_number) {
    for (const auto text : {""sv, " "sv, "-"sv, "+"sv, "x"sv, "5x"sv, "--5"sv, "+-5"sv, "- 5"sv,
                            "0x10"sv, "1.5"sv, "\0005"sv}) {
        EXPECT_EQ(parse_unsigned(text), std::nullopt) << text;
        EXPECT_EQ(parse_signed(text), std::nullopt) << text;
    }
}

TEST(store_number, prints_every_length) {
    char digits[max_digits];
    EXPECT_EQ(print_decimal(0, digits), "0");
    EXPECT_EQ(print_decimal(std::numeric_limits<u64>::max(), digits), "18446744073709551615");
}

}  // namespace
}  // namespace hf::detail
