// Records of commits: whole ones are read as written, any damage makes them no record.
#include "shadow/rules.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <cstring>
#include <span>
#include <vector>

namespace hf::shadow {
namespace {

std::vector<std::byte> written(u64 sequence, const std::vector<page_change>& changes) {
    std::vector<std::byte> bytes(record_lines(changes.size()) * line_size);
    write_record(bytes.data(), sequence, changes);
    return bytes;
}

std::vector<page_change> changes_of(std::size_t n) {
    std::vector<page_change> found;
    for (u64 i = 0; i < n; ++i) found.push_back({i * 3, only(i % 64) | 1, i % 2});
    return found;
}

TEST(journal_record, two_pages_take_one_line_and_a_third_another) {
    EXPECT_EQ(record_lines(1), 1U);
    EXPECT_EQ(record_lines(2), 1U);
    EXPECT_EQ(record_lines(3), 2U);
    EXPECT_EQ(record_lines(4), 2U);
    EXPECT_EQ(record_lines(5), 3U);
}

TEST(journal_record, may_end_where_the_journal_does) {
    for (const std::size_t n : {0, 1, 3}) {
        const auto bytes = written(42, changes_of(n));
        const std::span<const std::byte> all(bytes);
        EXPECT_TRUE(read_record(all.first(record_bytes(n)), 42)) << n;
        EXPECT_FALSE(read_record(all.first(record_bytes(n) - 1), 42)) << n;
    }
}

TEST(journal_record, is_read_as_it_was_written) {
    for (const std::size_t n : {0, 1, 2, 7, 500}) {
        const auto changes = changes_of(n);
        const auto bytes = written(42, changes);
        const auto found = read_record(bytes, 42);
        ASSERT_TRUE(found) << n;
        EXPECT_EQ(found->count, n);
        EXPECT_EQ(found->sequence, 42U);
        for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(found->change(i), changes[i]);
    }
}

TEST(journal_record, of_another_sequence_number_is_none) {
    const auto bytes = written(42, changes_of(2));
    EXPECT_FALSE(read_record(bytes, 41));
    EXPECT_FALSE(read_record(bytes, 43));
}

TEST(journal_record, an_empty_journal_has_none) {
    const std::vector<std::byte> zeros(256);
    EXPECT_FALSE(read_record(zeros, 0));
    EXPECT_FALSE(read_record(zeros, 1));
    EXPECT_FALSE(read_record({}, 1));
    EXPECT_FALSE(read_record(std::span(zeros).first(15), 1));
}

TEST(journal_record, of_number_zero_is_none_even_with_its_checksum) {
    const u64 head = 0;
    const u64 checksum = detail::record_checksum(head, nullptr, 0);
    std::vector<std::byte> bytes(line_size);
    std::memcpy(bytes.data() + sizeof head, &checksum, sizeof checksum);
    EXPECT_FALSE(read_record(bytes, 0));
}

TEST(journal_record, that_is_cut_short_is_none) {
    const auto bytes = written(1, changes_of(7));
    for (std::size_t n = 0; n < record_bytes(7); ++n) {
        EXPECT_FALSE(read_record(std::span(bytes).first(n), 1)) << n;
    }
    EXPECT_TRUE(read_record(std::span(bytes).first(record_bytes(7)), 1));
}

TEST(journal_record, any_flipped_bit_makes_it_none) {
    const auto whole = written(1, changes_of(3));
    for (std::size_t bit = 0; bit < record_bytes(3) * 8; ++bit) {
        auto damaged = whole;
        damaged[bit / 8] ^= std::byte(1U << bit % 8);
        EXPECT_FALSE(read_record(damaged, 1)) << bit;
    }
}

TEST(journal_record, any_lost_line_makes_it_none) {
    const auto whole = written(9, changes_of(9));
    for (std::size_t line = 0; line < whole.size() / line_size; ++line) {
        auto torn = whole;
        std::fill_n(torn.begin() + static_cast<std::ptrdiff_t>(line * line_size), line_size,
                    std::byte{0});
        EXPECT_FALSE(read_record(torn, 9)) << line;
    }
}

TEST(journal_record, the_sequence_begins_anew_after_its_last_number) {
    EXPECT_EQ(next_sequence(1), 2U);
    EXPECT_EQ(next_sequence(max_sequence), 1U);
    EXPECT_TRUE(read_record(written(max_sequence, changes_of(1)), max_sequence));
}

RC_GTEST_PROP(journal_record, random_bytes_are_none, (std::vector<u8> noise, u8 sequence)) {
    RC_ASSERT(!read_record(std::as_bytes(std::span(noise)), sequence));
}

}  // namespace
}  // namespace hf::shadow
