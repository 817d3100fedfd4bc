// The scan's criteria for chunks, and its handling of gaps.
#include "journal/scan.hpp"

#include "crashlab/disk/model_disk.hpp"
#include "journal/core.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace hf::test {
namespace {

using journal::page;
using lab::bytes;

constexpr journal::identity me{{7}, 3};

class journal_scan : public ::testing::Test {
   protected:
    void SetUp() override { start({page, 8}); }
    void start(const journal::geometry& shape) {
        base.now().resize(4096 * line_size);
        auto started = journal::core::start(disk, base, me, 0, shape);
        ASSERT_TRUE(started);
        core = std::move(*started);
    }
    void commit(u64 lines) {
        const bytes data(lines * line_size, std::byte{1});
        commit(data);
    }
    void commit(const bytes& data) {
        std::vector<u64> lines(data.size() / line_size);
        std::iota(lines.begin(), lines.end(), u64{0});
        ASSERT_TRUE(core->commit({++epoch, lines, data.data()}));
    }
    /// Writes a chunk with this header, and the right checksum.
    void put(u64 offset, journal::chunk_header h, const std::vector<u64>& runs) {
        bytes b(journal::chunk_bytes(h.runs, h.lines));
        const auto named = std::as_bytes(std::span(runs));
        std::copy(named.begin(), named.end(), b.begin() + sizeof h);
        std::memcpy(b.data(), &h, sizeof h);
        constexpr std::size_t from = offsetof(journal::chunk_header, record);
        h.checksum = checksum64(b.data() + from, b.size() - from, journal::seed_of(me));
        std::memcpy(b.data(), &h, sizeof h);
        std::copy(b.begin(), b.end(), disk.now().begin() + static_cast<std::ptrdiff_t>(offset));
    }
    void damage(const journal::chunk_place& c) { disk.now()[c.offset + 70] ^= std::byte{1}; }
    std::vector<journal::chunk_place> chunks() { return journal::scan(disk)->chunks; }
    void expect_damaged(u64 offset, const std::string& why) {
        for (const bool live : {false, true}) {
            const auto found = live ? journal::scan_live(disk) : journal::scan(disk);
            ASSERT_FALSE(found) << why;
            EXPECT_EQ(found.error().code, errc::corrupt);
            EXPECT_EQ(found.error().where, disk.name() + " at offset " + std::to_string(offset));
            EXPECT_EQ(found.error().why, why);
        }
    }

    lab::model_disk disk;
    lab::model_disk base;
    std::unique_ptr<journal::core> core;
    u64 epoch = 0;
};

}  // namespace

// For any header contents, with a right checksum.
TEST_F(journal_scan, takes_for_a_chunk_only_what_names_just_its_lines) {
    const std::vector<std::vector<u64>> some_runs{
        {}, {0}, {1}, {2}, {3}, {1, 1}, {1, 2}, {0, 2}, {2, 0}, {1, 1, 1}, {3, 0}, {1, 0, 1}};
    for (const auto& counts : some_runs) {
        const u64 named = std::accumulate(counts.begin(), counts.end(), u64{0});
        const bool is_zero_there = std::count(counts.begin(), counts.end(), 0) != 0;
        std::vector<u64> runs;
        for (const u64 n : counts) runs.push_back(journal::pack_run(10 * runs.size() + 5, n));
        for (u32 lines = 0; lines < 5; ++lines) {
            for (u32 number = 0; number < 3; ++number) {
                for (u32 count = 0; count < 3; ++count) {
                    put(journal::first_segment,
                        {journal::chunk_magic, 0, 1, 77, number, count,
                         static_cast<u32>(runs.size()), lines, 8, 0},
                        runs);
                    const auto found = journal::scan(disk);
                    ASSERT_TRUE(found) << found.error().to_string();
                    const bool counts_it =
                        named == lines && lines != 0 && !is_zero_there && number == 0 && count == 1;
                    ASSERT_EQ(found->chunks.size(), counts_it ? 1U : 0U)
                        << runs.size() << " runs, " << named << " of " << lines << " lines, "
                        << number << " of " << count;
                    ASSERT_EQ(found->last_epoch, counts_it ? 77U : 0U);
                    if (!counts_it) continue;
                    const u64 end = 10 * (runs.size() - 1) + 5 + counts.back();
                    ASSERT_EQ(found->chunks[0].end_line, end);
                }
            }
        }
    }
}

TEST_F(journal_scan, takes_no_chunk_that_reaches_beyond_its_segment) {
    for (const u32 lines : {61, 62, 63, 64}) {
        put(journal::first_segment, {journal::chunk_magic, 0, 1, 1, 0, 1, 1, lines, 8, 0},
            {journal::pack_run(0, lines)});
        EXPECT_EQ(chunks().size(), lines <= 62 ? 1U : 0U) << lines;
    }
}

// Chunks of another journal as user data, at page boundaries, where chunks are.
TEST_F(journal_scan, does_not_look_into_chunks_for_chunks) {
    for (int i = 0; i < 5; ++i) commit(1);
    const bytes other = disk.now();
    const journal::chunk_place fifth = chunks()[4];
    disk.now().clear();
    epoch = 0;
    start({8 * page, 3});
    bytes data(300 * line_size);
    // The lines begin two lines after the chunk.
    for (u64 at = page - 2 * line_size; at + page < data.size(); at += page) {
        std::memcpy(data.data() + at, other.data() + fifth.offset, fifth.bytes());
    }
    commit(data);
    commit(1);
    const auto found = journal::scan(disk);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->chunks.size(), 2U);
    EXPECT_EQ(found->last_epoch, 2U);
}

TEST_F(journal_scan, says_where_the_gap_is_and_what_is_behind_it) {
    commit(1);
    commit(10);
    commit(200);  // four chunks
    commit(1);
    commit(1);
    const bytes whole = disk.now();
    const auto all = chunks();
    ASSERT_EQ(all.size(), 8U);
    const auto behind = [&](std::size_t i) {
        return align_up(all[i].offset + all[i].bytes(), page);
    };
    for (std::size_t i = 2; i < 6; ++i) {
        damage(all[i]);
        expect_damaged(behind(i - 1),
                       "record 3 is damaged: later ones are there, record 4 among them");
        disk.now() = whole;
    }
    damage(all[0]);
    expect_damaged(journal::first_segment,
                   "record 1 is damaged: later ones are there, record 2 among them");
    damage(all[1]);
    expect_damaged(journal::first_segment,
                   "record 1 is damaged: later ones are there, record 3 among them");
    disk.now() = whole;
    damage(all[6]);
    expect_damaged(behind(5), "record 4 is damaged: later ones are there, record 5 among them");
}

// A part of it was applied, so all of it was durable: it was not in flight.
TEST_F(journal_scan, knows_that_a_record_was_complete_of_which_a_part_was_applied) {
    commit(200);
    const auto before = chunks();
    ASSERT_EQ(before.size(), 4U);
    ASSERT_TRUE(core->apply_some(2));
    const auto left = chunks();
    ASSERT_EQ(left.size(), 2U);
    EXPECT_EQ(journal::scan(disk)->header.oldest, (journal::position{1, 2}));
    EXPECT_EQ(journal::scan(disk)->header.base_epoch, 0U) << "the base has not all of it";
    const bytes whole = disk.now();
    for (const std::size_t i : {0, 1}) {
        damage(left[i]);
        expect_damaged(i == 0 ? journal::first_segment : left[1].offset,
                       "record 1 is damaged, which was complete");
        disk.now() = whole;
    }
    ASSERT_TRUE(core->apply_some(2, true));
    EXPECT_EQ(journal::scan(disk)->header.oldest, (journal::position{2, 0}));
    EXPECT_EQ(journal::scan(disk)->header.base_epoch, 1U);
}

// The records after the complete ones were in flight, and any part of them may be there.
TEST_F(journal_scan, of_the_last_record_takes_all_or_nothing) {
    commit(10);
    commit(200);
    const auto all = chunks();
    const bytes whole = disk.now();
    for (unsigned lost = 0; lost < 16; ++lost) {
        for (unsigned i = 0; i < 4; ++i) {
            if ((lost >> i & 1) != 0) damage(all[1 + i]);
        }
        const auto found = journal::scan(disk);
        ASSERT_TRUE(found) << found.error().to_string();
        EXPECT_EQ(found->last_epoch, lost == 0 ? 2U : 1U) << lost;
        EXPECT_EQ(found->chunks.size(), lost == 0 ? 5U : 1U) << lost;
        disk.now() = whole;
    }
}

}  // namespace hf::test
