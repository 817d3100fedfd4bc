// Numbers are parsed as by memcached.
#include "store/store_number.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

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

TEST(store_number, ends_where_its_text_does) {
    const auto begin_of = [](std::string_view all, std::size_t n) {
        return parse_unsigned(all.substr(0, n));
    };
    EXPECT_EQ(begin_of("  7", 1), std::nullopt);
    EXPECT_EQ(begin_of(" 7", 1), std::nullopt);
    EXPECT_EQ(begin_of("+7", 0), std::nullopt);
    EXPECT_EQ(begin_of("+7", 1), std::nullopt);
    EXPECT_EQ(begin_of(" +7", 1), std::nullopt);
    EXPECT_EQ(begin_of("77", 1), 7U);
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

/// memcached's parsing, with the C functions that it uses.
template <class T, class Convert>
std::optional<T> as_c_reads(const std::string& text, Convert convert) {
    char* end = nullptr;
    errno = 0;
    const auto value = static_cast<T>(convert(text.c_str(), &end, 10));
    if (errno == ERANGE || end == text.c_str()) return std::nullopt;
    if (*end != '\0' && std::isspace(static_cast<unsigned char>(*end)) == 0) return std::nullopt;
    const auto read = static_cast<std::size_t>(end - text.c_str());
    if (std::is_unsigned_v<T> && static_cast<std::int64_t>(value) < 0 &&
        std::memchr(text.data(), '-', read) != nullptr) {
        return std::nullopt;
    }
    return value;
}

/// For any bytes after the text.
void expect_read_as_c_does(const std::string& text) {
    for (const char behind : "5 -x") {
        const std::string more = text + behind;
        const std::string_view read = std::string_view(more).substr(0, text.size());
        EXPECT_EQ(parse_unsigned(read), as_c_reads<u64>(text, std::strtoull)) << text << behind;
        EXPECT_EQ(parse_signed(read), as_c_reads<std::int64_t>(text, std::strtoll))
            << text << behind;
    }
}

// Including the neighbours of each significant character.
TEST(store_number, reads_every_short_text_as_c_does) {
    constexpr std::string_view alphabet = "\0\x08\t\r\x0e !+,-/09:x"sv;
    std::string text;
    const std::function<void(int)> all_of = [&](int more) {
        expect_read_as_c_does(text);
        if (more == 0 || ::testing::Test::HasFailure()) return;
        for (const char c : alphabet) {
            text += c;
            all_of(more - 1);
            text.pop_back();
        }
    };
    all_of(4);
}

TEST(store_number, reads_numbers_around_every_bound_as_c_does) {
    for (const std::string digits :
         {"9223372036854775806", "9223372036854775807", "9223372036854775808",
          "9223372036854775809", "18446744073709551614", "18446744073709551615",
          "18446744073709551616", "18446744073709551617", "99999999999999999999", "0", "1", "2"}) {
        for (const std::string sign : {"", "+", "-"}) {
            for (const std::string zeros : {"", "0", "00000000000000000000000"}) {
                expect_read_as_c_does(sign + zeros + digits);
                expect_read_as_c_does(" " + sign + zeros + digits + " x");
            }
        }
    }
}

TEST(store_number, prints_every_length) {
    char digits[max_digits];
    EXPECT_EQ(print_decimal(std::numeric_limits<u64>::max(), digits), "18446744073709551615");
    for (u64 power = 1; power <= std::numeric_limits<u64>::max() / 10; power *= 10) {
        for (const u64 value : {power - 1, power, power + 1}) {
            EXPECT_EQ(print_decimal(value, digits), std::to_string(value));
        }
    }
}

}  // namespace
}  // namespace hf::detail
