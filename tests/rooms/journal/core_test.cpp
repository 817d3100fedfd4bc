// The contents of a journal after commits and applications, and how its scan handles damage.
#include "journal/core.hpp"

#include "crashlab/disk/model_disk.hpp"
#include "journal/apply.hpp"
#include "journal/header.hpp"
#include "journal/scan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace hf::test {
namespace {

using lab::bytes;

constexpr u64 base_lines = 1024;
constexpr journal::geometry small{4 * journal::page, 4};

class journal_core : public ::testing::Test {
   protected:
    void SetUp() override {
        base.now().resize(base_lines * line_size);
        auto started = journal::core::start(disk, base, who, 0, small);
        ASSERT_TRUE(started);
        core = std::move(*started);
    }

    result<void> commit(std::vector<u64> lines, u8 value) {
        const bytes data(lines.size() * line_size, std::byte{value});
        return core->commit({++epoch, lines, data.data()});
    }

    journal::identity who{{7}, 3};
    lab::model_disk disk;
    lab::model_disk base;
    std::unique_ptr<journal::core> core;
    u64 epoch = 0;
};

}  // namespace

TEST_F(journal_core, a_record_is_found_again) {
    ASSERT_TRUE(commit({3, 4, 5, 9}, 1));
    const auto found = journal::scan(disk);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->last_epoch, 1U);
    ASSERT_EQ(found->chunks.size(), 1U);
    EXPECT_EQ(found->chunks[0].runs, 2U);
    EXPECT_EQ(found->chunks[0].lines, 4U);
}

TEST_F(journal_core, damage_to_a_record_that_is_not_the_last_is_an_error) {
    for (u8 i = 1; i <= 5; ++i) ASSERT_TRUE(commit({i, i + u64{1}}, i));
    const auto whole = journal::scan(disk);
    ASSERT_TRUE(whole);
    ASSERT_EQ(whole->chunks.size(), 5U);
    for (u64 c = 0; c < 5; ++c) {
        const journal::chunk_place& place = whole->chunks[c];
        for (u64 bit = 0; bit < place.bytes() * 8; bit += 7) {
            lab::model_disk broken(disk.now());
            broken.now()[place.offset + bit / 8] ^= std::byte{1} << (bit % 8);
            const auto found = journal::scan(broken);
            if (c < 4) {
                ASSERT_FALSE(found) << "chunk " << c << ", bit " << bit;
                EXPECT_EQ(found.error().code, errc::corrupt);
            } else {  // looks like a record in flight
                ASSERT_TRUE(found);
                EXPECT_EQ(found->last_epoch, 4U);
            }
        }
    }
}

TEST_F(journal_core, chunks_of_other_regions_and_sessions_do_not_count) {
    ASSERT_TRUE(commit({1}, 1));
    ASSERT_TRUE(commit({2}, 2));
    auto next = who;
    next.generation += 1;
    auto other = journal::core::start(disk, base, next, epoch, small);
    ASSERT_TRUE(other);
    const auto found = journal::scan(disk);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->chunks.empty());
    EXPECT_EQ(found->header.who, next);
    EXPECT_EQ(found->header.base_epoch, 2U);
}

// Whichever slot is damaged, the other one is of the current session.
TEST_F(journal_core, nothing_of_the_session_before_comes_up_when_a_slot_is_damaged) {
    for (u8 i = 1; i <= 2; ++i) {
        ASSERT_TRUE(commit({i}, i));
        ASSERT_TRUE(core->apply_some(8, true));
    }
    auto next = who;
    next.generation += 1;
    ASSERT_TRUE(journal::core::start(disk, base, next, epoch, small));
    for (const u64 slot : {0, 1}) {
        lab::model_disk broken(disk.now());
        broken.now()[slot * journal::page + 40] ^= std::byte{4};
        const auto found = journal::read_header(broken);
        ASSERT_TRUE(found) << found.error().to_string();
        EXPECT_EQ(found->who, next) << "without slot " << slot;
    }
}

TEST_F(journal_core, the_header_says_how_long_the_journal_has_become) {
    std::vector<u64> lines(base_lines);
    std::iota(lines.begin(), lines.end(), u64{0});
    for (u8 i = 1; i <= 3; ++i) ASSERT_TRUE(commit(lines, i));
    EXPECT_GT(core->segments(), small.segments);
    ASSERT_TRUE(core->apply_some(~u64{0}, true));
    const auto facts = journal::read_header(disk);
    ASSERT_TRUE(facts) << facts.error().to_string();
    EXPECT_EQ(facts->segments, core->segments());
}

TEST_F(journal_core, counts_the_bytes_that_applying_has_written) {
    ASSERT_TRUE(commit({3, 5}, 1));
    EXPECT_EQ(core->base_bytes(), 0U);
    ASSERT_TRUE(core->apply_some(8, true));
    EXPECT_EQ(core->base_bytes(), journal::page);
    ASSERT_TRUE(commit({900}, 2));
    ASSERT_TRUE(core->apply_some(8, true));
    EXPECT_EQ(core->base_bytes(), 2 * journal::page);
}

// Any truncation: of a record, of several, or of space that was used.
TEST_F(journal_core, a_file_that_was_cut_short_is_an_error_or_lacks_unused_space_only) {
    u64 accepted = 0;
    const auto check_all_cuts = [&, this] {
        const auto whole = journal::scan(disk);
        ASSERT_TRUE(whole) << whole.error().to_string();
        for (u64 length = disk.now().size() - journal::page;; length -= journal::page) {
            lab::model_disk cut(bytes(disk.now().begin(),
                                      disk.now().begin() + static_cast<std::ptrdiff_t>(length)));
            const auto found = journal::scan(cut);
            if (found) {
                ++accepted;
                ASSERT_EQ(found->last_epoch, whole->last_epoch) << length;
                ASSERT_EQ(found->chunks.size(), whole->chunks.size()) << length;
            } else {
                ASSERT_EQ(found.error().code, errc::corrupt);
            }
            if (length == 0) break;
        }
    };
    check_all_cuts();
    EXPECT_GT(accepted, 0U) << "of a journal without records";
    accepted = 0;
    ASSERT_TRUE(commit({1}, 0));
    check_all_cuts();
    EXPECT_GT(accepted, 0U) << "of one with a record";
    xoshiro256ss random(7);
    for (u8 i = 1; i <= 60; ++i) {
        // It grows, sometimes by more than one segment, and segments are reused in any order.
        std::vector<u64> lines;
        const u64 count = 1 + random() % (i % 10 == 0 ? 900 : 150);
        for (u64 l = 0; l < count; ++l) lines.push_back(l);
        ASSERT_TRUE(commit(lines, i));
        check_all_cuts();
        if (random() % 8 == 0) {
            ASSERT_TRUE(core->apply_some(1 + random() % 4, random() % 4 == 0));
            check_all_cuts();
        }
    }
    EXPECT_GT(core->segments(), 2 * small.segments);
}

// A file that is longer than its header says had just grown at the power failure.
TEST_F(journal_core, a_longer_file_is_none) {
    ASSERT_TRUE(commit({1}, 1));
    disk.now().resize(disk.now().size() + journal::page + 17);
    EXPECT_TRUE(journal::scan(disk));
}

TEST_F(journal_core, one_slot_of_the_header_is_enough) {
    ASSERT_TRUE(commit({1}, 1));
    ASSERT_TRUE(core->apply_some(8, true));
    for (const u64 slot : {0, 1}) {
        lab::model_disk broken(disk.now());
        broken.now()[slot * journal::page + 40] ^= std::byte{4};
        EXPECT_TRUE(journal::scan(broken)) << slot;
    }
    lab::model_disk broken(disk.now());
    broken.now()[40] ^= std::byte{4};
    broken.now()[journal::page + 40] ^= std::byte{4};
    EXPECT_FALSE(journal::scan(broken));
}

TEST_F(journal_core, a_header_is_written_beside_the_one_before_it) {
    const auto slot = [&](u64 i) {
        const auto begin = disk.now().begin() + static_cast<std::ptrdiff_t>(i * journal::page);
        return bytes(begin, begin + journal::page);
    };
    u64 last = 2;
    for (u8 i = 1; i <= 6; ++i) {
        const bytes before[2] = {slot(0), slot(1)};
        ASSERT_TRUE(commit({i}, i));
        ASSERT_TRUE(core->apply_some(8, true));
        const bool changed[2] = {slot(0) != before[0], slot(1) != before[1]};
        ASSERT_NE(changed[0], changed[1]) << "one of them";
        EXPECT_NE(changed[1] ? 1U : 0U, last) << "and the older one";
        last = changed[1] ? 1 : 0;
        const auto facts = journal::read_header(disk);
        ASSERT_TRUE(facts);
        EXPECT_EQ(facts->base_epoch, epoch);
        EXPECT_EQ(facts->serial % 2, last);
    }
}

TEST_F(journal_core, what_was_applied_is_in_the_base_and_its_space_free) {
    for (u8 i = 1; i <= 40; ++i) {
        std::vector<u64> lines;
        for (u64 l = i; l < i + 60U; ++l) lines.push_back(l);
        if (core->used() > 2) {
            ASSERT_TRUE(core->apply_some(2));
        }
        ASSERT_TRUE(commit(lines, i));
    }
    EXPECT_EQ(core->segments(), small.segments) << "applying made room, nothing had to grow";
    ASSERT_TRUE(core->apply_some(100, true));
    EXPECT_EQ(core->used(), 0U);
    for (u64 l = 1; l < 100; ++l) {
        EXPECT_EQ(base.now()[l * line_size + 63], std::byte(std::min<u64>(l, 40))) << l;
    }
    EXPECT_EQ(base.synced(), base.now());
}

TEST_F(journal_core, a_record_larger_than_the_ring_makes_it_grow) {
    std::vector<u64> lines;
    for (u64 l = 0; l < base_lines; l += 2) lines.push_back(l);
    ASSERT_TRUE(commit(lines, 1));
    ASSERT_TRUE(commit(lines, 2));
    EXPECT_GT(core->segments(), small.segments);
    const auto found = journal::scan(disk);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->last_epoch, 2U);
}

TEST_F(journal_core, a_full_disk_refuses_a_record_and_takes_it_later) {
    disk.capacity = disk.now().size();
    std::vector<u64> lines;
    for (u64 l = 0; l < base_lines; ++l) lines.push_back(l);
    const auto refused = commit(lines, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::no_space);
    disk.capacity = ~u64{0};
    --epoch;
    ASSERT_TRUE(commit(lines, 1));
    EXPECT_EQ(journal::scan(disk)->last_epoch, 1U);
}

TEST_F(journal_core, a_failed_call_of_the_disk_is_an_error_wherever_it_happens) {
    // The base's sync, the chunk, the zeros after it, the journal's sync.
    for (u64 calls = 0; calls < 5; ++calls) {
        u64 left = calls;
        disk.calls_left = base.calls_left = &left;
        core->base_has_grown();
        const bool committed = commit({calls}, 1).has_value();
        EXPECT_EQ(committed, calls >= 4) << calls;
        disk.calls_left = base.calls_left = nullptr;
    }
}

TEST_F(journal_core, small_records_find_their_space_written) {
    disk.now() = bytes(disk.now().size(), std::byte{0xee});  // makes holes visible
    ASSERT_TRUE(commit({1}, 1));
    const u64 segment_end = journal::first_segment + small.segment_bytes;
    for (u64 at = journal::first_segment; at < segment_end; ++at) {
        ASSERT_NE(disk.now()[at], std::byte{0xee}) << at;
    }
    EXPECT_EQ(disk.now()[segment_end], std::byte{0xee}) << "the next segment's is not due yet";
    const u64 written = core->journal_bytes();
    EXPECT_GE(written, small.segment_bytes - journal::page) << "zeros count";
    ASSERT_TRUE(commit({2}, 2));
    EXPECT_EQ(core->journal_bytes() - written, journal::chunk_bytes(1, 1)) << "nothing else";
}

}  // namespace hf::test
