// The contents of a journal's header, and which of its two slots is valid.
#include "journal/header.hpp"

#include "crashlab/disk/model_disk.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace hf::test {
namespace {

using journal::header_facts;
using journal::page;

/// All of its numbers differ.
header_facts facts_of(u64 generation, u64 serial) {
    return {{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, generation},
            17 * page,
            serial,
            u64{1} << 33 | serial,
            {u64{1} << 34 | serial, u64{1} << 35 | serial},
            u64{1} << 36 | serial};
}

void expect_same(const header_facts& found, const header_facts& written) {
    EXPECT_EQ(found.who, written.who);
    EXPECT_EQ(found.segment_bytes, written.segment_bytes);
    EXPECT_EQ(found.serial, written.serial);
    EXPECT_EQ(found.base_epoch, written.base_epoch);
    EXPECT_EQ(found.oldest, written.oldest);
    EXPECT_EQ(found.segments, written.segments);
}

/// A file with only the two slots.
class journal_header : public ::testing::Test {
   protected:
    void write(const header_facts& facts) { ASSERT_TRUE(journal::write_header(disk, facts)); }
    void expect_found(const header_facts& facts) {
        const auto found = journal::read_header(disk);
        ASSERT_TRUE(found) << found.error().to_string();
        expect_same(*found, facts);
    }
    void expect_refused(errc code, const std::string& why) {
        const auto found = journal::read_header(disk);
        ASSERT_FALSE(found) << why;
        EXPECT_EQ(found.error().code, code) << why;
    }
    /// Writes a valid slot with contents that no current program would write.
    void write_changed(u64 serial, const std::function<void(journal::header_slot&)>& change) {
        write(facts_of(3, serial));
        journal::header_slot s{};
        std::byte* const at = disk.now().data() + serial % 2 * page;
        std::memcpy(&s, at, sizeof s);
        change(s);
        constexpr std::size_t from = offsetof(journal::header_slot, version);
        s.checksum = checksum64(reinterpret_cast<const std::byte*>(&s) + from, sizeof s - from,
                                journal::header_magic);
        std::memcpy(at, &s, sizeof s);
    }

    lab::model_disk disk{lab::bytes(2 * page)};
};

}  // namespace

TEST_F(journal_header, is_found_as_it_was_written) {
    expect_refused(errc::corrupt, "there is none");
    for (u64 serial = 0; serial < 9; ++serial) {
        write(facts_of(3, serial));
        expect_found(facts_of(3, serial));
    }
}

TEST_F(journal_header, of_the_newest_session_and_of_that_the_newest_counts) {
    for (const u64 first : {0, 1}) {
        const u64 second = 1 - first;
        write(facts_of(3, first + 40));
        write(facts_of(3, second + 42));
        expect_found(facts_of(3, second + 42));
        write(facts_of(4, first));  // a session begins with serial 0
        expect_found(facts_of(4, first));
        write(facts_of(4, second + 2));
        expect_found(facts_of(4, second + 2));
        disk.now().assign(2 * page, std::byte{0});
    }
}

TEST_F(journal_header, with_any_bit_wrong_does_not_count) {
    write(facts_of(3, 8));
    write(facts_of(3, 9));
    const lab::bytes whole = disk.now();
    for (const u64 slot : {0, 1}) {
        for (u64 bit = 0; bit < sizeof(journal::header_slot) * 8; ++bit) {
            SCOPED_TRACE("slot " + std::to_string(slot) + ", bit " + std::to_string(bit));
            const auto flip = [&](u64 in) {
                disk.now()[in * page + bit / 8] ^= std::byte{1} << bit % 8;
            };
            flip(slot);
            expect_found(facts_of(3, slot == 0 ? 9 : 8));
            flip(1 - slot);
            expect_refused(errc::corrupt, "both are damaged");
            disk.now() = whole;
        }
    }
}

// A slot is in one sector: it is written completely or not at all.
TEST_F(journal_header, fits_into_a_sector_and_leaves_the_other_slot_alone) {
    static_assert(sizeof(journal::header_slot) <= journal::sector_size);
    for (const u64 serial : {6, 7}) {
        disk.now().assign(2 * page, std::byte{0xee});
        write(facts_of(3, serial));
        const u64 mine = serial % 2;
        for (u64 at = 0; at < 2 * page; ++at) {
            const bool is_mine = at / page == mine;
            const bool is_rest = is_mine && at % page >= sizeof(journal::header_slot);
            if (is_rest) {
                ASSERT_EQ(disk.now()[at], std::byte{0}) << at;
            }
            if (!is_mine) {
                ASSERT_EQ(disk.now()[at], std::byte{0xee}) << at;
            }
        }
    }
}

TEST_F(journal_header, of_another_version_is_told_from_damage) {
    for (const u32 version : {0, 2, 77}) {
        write_changed(4, [&](journal::header_slot& s) { s.version = version; });
        expect_refused(errc::incompatible, std::to_string(version));
    }
}

TEST_F(journal_header, says_no_segments_that_cannot_be) {
    constexpr u64 most = journal::max_segment_bytes;
    for (const u64 around : {u64{0}, page, 3 * page, most / 2, most, 2 * most, u64{1} << 63}) {
        for (const std::int64_t off : {-4096, -512, -1, 0, 1, 512, 4096}) {
            const u64 bytes = around + static_cast<u64>(off);
            write_changed(4, [&](journal::header_slot& s) { s.segment_bytes = bytes; });
            const bool is_fine = bytes % page == 0 && bytes >= page && bytes <= most;
            const auto found = journal::read_header(disk);
            ASSERT_EQ(found.has_value(), is_fine) << bytes;
            if (!is_fine) {
                EXPECT_EQ(found.error().code, errc::corrupt) << bytes;
            }
        }
    }
}

TEST_F(journal_header, that_is_not_there_is_an_error) {
    write(facts_of(3, 0));
    write(facts_of(3, 1));
    for (const u64 length : {u64{0}, u64{103}, page, page + 103}) {
        lab::model_disk cut(lab::bytes(disk.now().begin(), disk.now().begin() + long(length)));
        const auto found = journal::read_header(cut);
        ASSERT_FALSE(found) << length;
        EXPECT_EQ(found.error().code, errc::corrupt) << length;
    }
}

}  // namespace hf::test
