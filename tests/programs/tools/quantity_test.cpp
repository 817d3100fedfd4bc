// Sizes, durations and counts are parsed and printed exactly.
#include "tools/holdfast/quantity.hpp"

#include "persist/medium.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace hf::test {
namespace {

using namespace tool;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

std::string upper(std::string text) {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return text;
}

TEST(quantity, sizes_have_units_that_are_powers_of_1024) {
    EXPECT_EQ(parse_size("0"), 0U);
    EXPECT_EQ(parse_size("4096"), 4096U);
    EXPECT_EQ(parse_size("4096b"), 4096U);
    EXPECT_EQ(parse_size(std::to_string(most)), most);
    unsigned bits = 0;
    for (const std::string unit : {"k", "m", "g", "t", "p"}) {
        bits += 10;
        for (const std::string& text : {unit, unit + "b", unit + "ib"}) {
            const std::string last = std::to_string(most >> bits);
            EXPECT_EQ(parse_size("3" + text), std::uint64_t{3} << bits) << text;
            EXPECT_EQ(parse_size("3" + upper(text)), std::uint64_t{3} << bits) << text;
            EXPECT_EQ(parse_size(last + text), most >> bits << bits) << text;
            EXPECT_EQ(parse_size(std::to_string((most >> bits) + 1) + text), std::nullopt) << text;
        }
    }
    for (const char* nonsense : {"", "k", "-1", "+1", " 1", "1 ", "1 k", "1x", "1kk", "1.5m",
                                 "0x10", "1[", "18446744073709551616"}) {
        EXPECT_EQ(parse_size(nonsense), std::nullopt) << nonsense;
    }
}

TEST(quantity, durations_need_a_unit) {
    EXPECT_EQ(parse_duration("500us"), microseconds(500));
    EXPECT_EQ(parse_duration("64ms"), microseconds(64'000));
    EXPECT_EQ(parse_duration("2S"), microseconds(2'000'000));
    EXPECT_EQ(parse_duration("9223372036854775807us"), microseconds::max());
    EXPECT_EQ(parse_duration("9223372036854s"), microseconds(9'223'372'036'854'000'000));
    for (const char* nonsense : {"", "1", "s", "1h", "1 s", "-1s", "9223372036854775808us",
                                 "9223372036855s", "18446744073710s"}) {
        EXPECT_EQ(parse_duration(nonsense), std::nullopt) << nonsense;
    }
}

TEST(quantity, latencies_are_nanoseconds_or_have_a_name) {
    EXPECT_EQ(parse_latency("0"), 0U);
    EXPECT_EQ(parse_latency("7ns"), 7U);
    EXPECT_EQ(parse_latency("4294967295"), 4294967295U);
    for (const char* name : {"dram", "pcm", "sttm"}) {
        EXPECT_EQ(parse_latency(name), latency_preset(name)) << name;
        EXPECT_TRUE(parse_latency(name)) << name;
    }
    for (const char* nonsense : {"", "ns", "1us", "slow", "4294967296", "-1"}) {
        EXPECT_EQ(parse_latency(nonsense), std::nullopt) << nonsense;
    }
}

TEST(quantity, sizes_are_written_in_the_largest_unit_that_leaves_something_before_the_point) {
    EXPECT_EQ(human_size(0), "0 B");
    EXPECT_EQ(human_size(1023), "1023 B");
    EXPECT_EQ(human_size(1024), "1 KiB");
    EXPECT_EQ(human_size(1536), "1.5 KiB");
    EXPECT_EQ(human_size(100 * 1024), "100 KiB");
    EXPECT_EQ(human_size(1'048'524), "1023.9 KiB");
    EXPECT_EQ(human_size(1'048'525), "1 MiB");
    EXPECT_EQ(human_size(most), "16 EiB");
    std::uint64_t one = 1;
    for (const std::string unit : {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}) {
        one *= 1024;
        EXPECT_EQ(human_size(one), "1 " + unit);
        EXPECT_EQ(human_size(one + one / 4), "1.2 " + unit);
        if (unit != "EiB") {
            EXPECT_EQ(human_size(one * 1000), "1000 " + unit);
        }
    }
}

TEST(quantity, durations_are_written_in_the_largest_unit_that_leaves_something_before_the_point) {
    EXPECT_EQ(human_duration(nanoseconds(0)), "0 ns");
    EXPECT_EQ(human_duration(nanoseconds(999)), "999 ns");
    EXPECT_EQ(human_duration(nanoseconds(1000)), "1 us");
    EXPECT_EQ(human_duration(nanoseconds(1234)), "1.23 us");
    EXPECT_EQ(human_duration(nanoseconds(999'499)), "999 us");
    EXPECT_EQ(human_duration(nanoseconds(999'600)), "1 ms");
    EXPECT_EQ(human_duration(microseconds(64'000)), "64 ms");
    EXPECT_EQ(human_duration(nanoseconds(999'499'999)), "999 ms");
    EXPECT_EQ(human_duration(nanoseconds(999'600'000)), "0.9996 s");
    EXPECT_EQ(human_duration(nanoseconds(1'234'567'890)), "1.235 s");
    EXPECT_EQ(human_duration(std::chrono::seconds(9999)), "9999 s");
    EXPECT_EQ(human_duration(std::chrono::seconds(12'345)), "12345 s");
}

TEST(quantity, digits_of_counts_come_in_groups_of_three) {
    EXPECT_EQ(human_count(0), "0");
    EXPECT_EQ(human_count(999), "999");
    EXPECT_EQ(human_count(1000), "1,000");
    EXPECT_EQ(human_count(123'456), "123,456");
    EXPECT_EQ(human_count(1'234'567), "1,234,567");
    EXPECT_EQ(human_count(most), "18,446,744,073,709,551,615");
}

TEST(quantity, shares_are_of_a_hundred) {
    EXPECT_EQ(human_share(0, 0), "0.0%");
    EXPECT_EQ(human_share(1, 8), "12.5%");
    EXPECT_EQ(human_share(7, 7), "100.0%");
}

}  // namespace
}  // namespace hf::test
