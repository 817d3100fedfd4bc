// The ground floor: alignment, checks, checksum, generators, errors.
#include <holdfast/options.hpp>

#include "base/bits.hpp"
#include "base/check.hpp"
#include "base/checksum.hpp"
#include "base/clock.hpp"
#include "base/damage.hpp"
#include "base/os_error.hpp"
#include "base/random.hpp"
#include "base/steady_day.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <random>
#include <string>

namespace hf {
namespace {

static_assert(std::uniform_random_bit_generator<splitmix64>);
static_assert(std::uniform_random_bit_generator<xoshiro256ss>);

TEST(bits, alignment_rounds_to_the_nearest_multiple) {
    EXPECT_EQ(align_up(0, 64), 0U);
    EXPECT_EQ(align_up(1, 64), 64U);
    EXPECT_EQ(align_up(64, 64), 64U);
    EXPECT_EQ(align_down(127, 64), 64U);
    EXPECT_EQ(align_down(63, 64), 0U);
    EXPECT_TRUE(is_power_of_two(1));
    EXPECT_TRUE(is_power_of_two(u64{1} << 63));
    EXPECT_FALSE(is_power_of_two(0));
    EXPECT_FALSE(is_power_of_two(96));
}

TEST(result, of_nothing_has_a_value_that_throws_where_there_is_none) {
    const result<void> fine;
    EXPECT_NO_THROW(fine.value());
    const result<void> bad = failure({errc::io, "sync", "", "I/O error", ""});
    EXPECT_THROW(bad.value(), tl::bad_expected_access<error>);
    EXPECT_THROW(result<int>(failure(bad.error())).value(), tl::bad_expected_access<error>);
    try {
        bad.value();
    } catch (const tl::bad_expected_access<error>& e) {
        EXPECT_EQ(e.error().why, "I/O error");
    }
    result<void> other = fine;
    other = bad;
    EXPECT_EQ(other.error().code, errc::io);
    EXPECT_FALSE(fine.and_then([&]() -> result<void> { return bad; }));
    EXPECT_FALSE(result<int>(1).and_then([&](int) -> result<void> { return bad; }));
    EXPECT_EQ(fine.map([] { return 2; }).value(), 2);
}

TEST(result, without_a_value_says_why_where_that_ends_the_program) {
    const error why{errc::io, "sync", "", "I/O error", ""};
    const auto said_by = [](const auto& r) -> std::string {
        try {
            (void)r.value();
        } catch (const std::exception& e) {
            return e.what();
        }
        return "nothing";
    };
    EXPECT_EQ(said_by(result<void>(failure(why))), "cannot sync: I/O error");
    EXPECT_EQ(said_by(result<int>(failure(why))), "cannot sync: I/O error");
}

TEST(damage, says_where_it_is_to_who_knows_the_base_class_alone) {
    const damage d(4096, "a record is damaged");
    const std::string said = static_cast<const std::runtime_error&>(d).what();
    EXPECT_EQ(said, "a record is damaged (at offset 4096 of the region); run `holdfast check`");
    EXPECT_EQ(
        d.to_error("scan", "a.hf").to_string(),
        "cannot scan (a.hf at offset 4096): a record is damaged; run `holdfast check`; restore "
        "the file from a copy");
}

TEST(check_death, a_failed_check_says_where_and_what) {
    EXPECT_DEATH(HF_CHECK(1 == 2, "one is not two"),
                 "base_test.cpp:[0-9]+: .*one is not two.*1 == 2");
}

TEST(check, a_passed_check_does_nothing_and_evaluates_once) {
    int evaluated = 0;
    HF_CHECK(++evaluated == 1, "counted");
    EXPECT_EQ(evaluated, 1);
}

TEST(checksum, notices_every_flipped_bit_and_the_seed) {
    std::array<unsigned char, 100> bytes{};
    const u64 whole = checksum64(bytes.data(), bytes.size());
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << bit % 8));
        EXPECT_NE(checksum64(bytes.data(), bytes.size()), whole) << bit;
        bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << bit % 8));
    }
    EXPECT_NE(checksum64(bytes.data(), bytes.size(), 1), whole);
    EXPECT_NE(checksum64(bytes.data(), bytes.size() - 1), whole);
}

// The format depends on this: a library that hashes differently must not read our files.
TEST(checksum, is_xxh3_as_written_on_the_medium) {
    EXPECT_EQ(checksum64("", 0), 0x2d06800538d394c2U);
}

TEST(random, splitmix_yields_the_published_sequence) {
    splitmix64 g(1234567);
    EXPECT_EQ(g(), 6457827717110365317U);
    EXPECT_EQ(g(), 3203168211198807973U);
    EXPECT_EQ(g(), 9817491932198370423U);
}

TEST(random, the_same_seed_yields_the_same_numbers_and_another_does_not) {
    xoshiro256ss a(7);
    xoshiro256ss b(7);
    xoshiro256ss c(8);
    bool differs = false;
    for (int i = 0; i < 100; ++i) {
        const u64 drawn = a();
        EXPECT_EQ(drawn, b());
        differs = differs || drawn != c();
    }
    EXPECT_TRUE(differs);
}

TEST(random, draws_below_a_bound_stay_below_and_hit_everything) {
    xoshiro256ss g(1);
    std::array<int, 10> seen{};
    for (int i = 0; i < 10'000; ++i) ++seen.at(g.below(10));
    for (const int n : seen) {
        EXPECT_GT(n, 800);
        EXPECT_LT(n, 1200);
    }
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(g.below(1), 0U);
        EXPECT_LT(g.below((u64{1} << 63) + 1), (u64{1} << 63) + 1);
        const double u = g.unit();
        EXPECT_TRUE(u >= 0 && u < 1);
    }
}

TEST(clock, never_goes_back) {
    u64 last = now_ns();
    for (int i = 0; i < 1000; ++i) {
        const u64 now = now_ns();
        EXPECT_GE(now, last);
        last = now;
    }
}

TEST(error, reads_as_one_line_with_what_where_why_and_next) {
    const error e{errc::corrupt, "open the region", "a.hf at offset 4096", "it is torn",
                  "restore a backup"};
    EXPECT_EQ(e.to_string(),
              "cannot open the region (a.hf at offset 4096): it is torn; restore a backup");
    EXPECT_EQ(e.exit_code(), 6);
    EXPECT_EQ((error{errc::io, "sync", "", "I/O error", ""}).to_string(), "cannot sync: I/O error");
}

TEST(error, every_class_and_medium_has_a_name) {
    for (int c = 1; c <= 12; ++c) EXPECT_STRNE(to_string(static_cast<errc>(c)), "unknown");
    for (int m = 1; m <= 3; ++m) EXPECT_NE(to_string(static_cast<medium_kind>(m)), "unknown");
}

TEST(error, the_operating_system_s_errors_are_sorted_into_classes) {
    EXPECT_EQ(errc_of(EACCES), errc::denied);
    EXPECT_EQ(errc_of(EPERM), errc::denied);
    EXPECT_EQ(errc_of(ENOSPC), errc::no_space);
    EXPECT_EQ(errc_of(EDQUOT), errc::no_space);
    EXPECT_EQ(errc_of(ENOENT), errc::not_found);
    EXPECT_EQ(errc_of(EIO), errc::io);
    errno = ENOSPC;
    const error e = os_error("grow", at_offset("a.hf", 65536), "make room");
    EXPECT_EQ(e.code, errc::no_space);
    EXPECT_EQ(e.where, "a.hf at offset 65536");
    EXPECT_EQ(e.why, "No space left on device");
}

TEST(steady_day, counts_on_from_the_time_of_its_construction_whatever_the_system_clock_says) {
    constexpr u64 second = 1'000'000'000;
    const steady_day day(1'700'000'000 * second + second / 2, 50 * second);
    EXPECT_EQ(day.seconds_at(50 * second), 1'700'000'000U);
    EXPECT_EQ(day.seconds_at(50 * second + second / 2 - 1), 1'700'000'000U);
    EXPECT_EQ(day.seconds_at(50 * second + second / 2), 1'700'000'001U);
    EXPECT_EQ(day.seconds_at(3'650 * second), 1'700'003'600U);
    const steady_day now;
    const auto told = static_cast<u64>(std::time(nullptr));
    EXPECT_LE(now.seconds() - told + 1, 2U) << "the system's clock was not set during this test";
}

}  // namespace
}  // namespace hf
