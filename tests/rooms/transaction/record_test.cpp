// Commit records and their logs, byte by byte.
#include "base/checksum.hpp"
#include "base/random.hpp"
#include "region_of_words.hpp"
#include "transaction/recovery.hpp"

#include <cstring>

namespace hf::test {
namespace {

class records : public ::testing::Test {
   protected:
    static constexpr u64 epoch = 7;

    void SetUp() override {
        region_options o;
        o.kind = discipline::transaction;
        o.max_size = u64{256} << 20;
        file = must(region::create_volatile(u64{1} << 20, o));
        log.attach(*file, 1);
        place = file->at<u64>(layout::page_size * 4);
    }
    [[nodiscard]] written_line line_at(u64 i, u8 mask = 1, u64 value = 5) const {
        written_line l{reinterpret_cast<u64>(place) / 64 + i, mask, {}};
        l.words.fill(value);
        return l;
    }
    u64 lay(const written_line& l, u64 version = 1) {
        const record_body body{record_kind::redo, {&l, 1}, {}, {}};
        must(log.make_room(record_bytes(body), epoch));
        return log.lay(epoch, version, body);
    }
    /// So that what was changed is read.
    void mend(u64 at) const {
        auto* h = file->at<record_header>(at);
        h->checksum = checksum64(reinterpret_cast<const std::byte*>(h) + 8,
                                 sizeof *h - 8 + 8 * u64{h->words}, record_seed(*file));
    }
    [[nodiscard]] u64* body_of(u64 at) const { return file->at<u64>(at + sizeof(record_header)); }
    void expect_refused(u64 at) const {
        mend(at);
        const auto done = apply_records(*file, epoch);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, errc::corrupt);
        EXPECT_EQ(*place, 0U) << "nothing has been changed";
    }

    std::unique_ptr<region> file;
    commit_log log;
    u64* place = nullptr;
};

TEST_F(records, the_words_of_its_mask_are_applied_and_no_others) {
    lay(line_at(0, 0b10000001, 9));
    const applied_records found = must(apply_records(*file, epoch));
    EXPECT_EQ(found.records, 1U);
    EXPECT_EQ(found.bytes, 64U);
    for (u64 i = 0; i < 8; ++i) EXPECT_EQ(place[i], i == 0 || i == 7 ? 9U : 0U) << i;
}

TEST_F(records, of_another_epoch_they_are_not_applied) {
    lay(line_at(0));
    EXPECT_EQ(must(apply_records(*file, epoch + 1)).records, 0U);
    EXPECT_EQ(*place, 0U);
}

TEST_F(records, later_versions_win_whatever_log_they_are_in) {
    commit_log other;
    other.attach(*file, 2);
    const written_line newer = line_at(0, 1, 20);
    const record_body body{record_kind::redo, {&newer, 1}, {}, {}};
    must(other.make_room(record_bytes(body), epoch));
    other.lay(epoch, 2, body);
    lay(line_at(0, 1, 30), 3);
    lay(line_at(1, 1, 10), 1);
    EXPECT_EQ(must(apply_records(*file, epoch)).records, 3U);
    EXPECT_EQ(place[0], 30U);
    EXPECT_EQ(place[8], 10U);
}

// In the shared log two may have changed places.
TEST_F(records, later_versions_win_in_whatever_order_they_are_in_one_log) {
    lay(line_at(0, 1, 30), 3);
    lay(line_at(0, 1, 20), 2);
    EXPECT_EQ(must(apply_records(*file, epoch)).records, 2U);
    EXPECT_EQ(place[0], 30U);
}

TEST_F(records, a_lane_whose_log_goes_on_behind_another_ones_is_read_as_one) {
    commit_log other;
    other.attach(*file, 2);
    const written_line l = line_at(1, 1, 10);
    const record_body body{record_kind::redo, {&l, 1}, {}, {}};
    lay(line_at(0, 1, 1), 1);
    must(other.make_room(record_bytes(body), epoch));
    other.lay(epoch, 2, body);
    u64 version = 2;
    for (u64 used = 64; used <= file->segments().back().bytes(); used += 64) {
        lay(line_at(0, 1, version), version + 1);
        ++version;
    }
    ASSERT_EQ(file->segments().back().owner, 1U);
    EXPECT_EQ(must(apply_records(*file, epoch)).records, version);
    EXPECT_EQ(place[0], version - 1);
    EXPECT_EQ(place[8], 10U);
}

TEST_F(records, a_log_is_used_up_where_its_last_segment_is_and_in_that_epoch_alone) {
    EXPECT_FALSE(log.is_used_up(0)) << "it has no segment, and no epoch";
    EXPECT_FALSE(log.has_records(epoch));
    lay(line_at(0));
    EXPECT_FALSE(log.is_used_up(epoch));
    EXPECT_TRUE(log.has_records(epoch));
    EXPECT_FALSE(log.has_records(epoch + 1));
    const u64 bytes = file->segments().back().bytes();
    u64 used = 64;
    for (; used <= bytes * 3 / 4; used += 64) {
        EXPECT_FALSE(log.is_used_up(epoch));
        lay(line_at(0));
    }
    EXPECT_TRUE(log.is_used_up(epoch));
    EXPECT_FALSE(log.is_used_up(epoch + 1));
    for (; used <= bytes; used += 64) lay(line_at(0));
    must(log.make_room(64, epoch + 1));
    for (used = 0; used < bytes; used += 64) {
        EXPECT_FALSE(log.is_used_up(epoch + 1)) << "there is another segment";
        const written_line l = line_at(0);
        const record_body body{record_kind::redo, {&l, 1}, {}, {}};
        must(log.make_room(record_bytes(body), epoch + 1));
        log.lay(epoch + 1, 1, body);
    }
}

TEST_F(records, one_takes_no_more_than_it_needs_of_the_room_that_there_is) {
    EXPECT_FALSE(log.has_room(64, epoch)) << "it has no segment";
    const u64 first = lay(line_at(0, 1, 1), 1);
    const u64 bytes = file->segments().back().bytes();
    EXPECT_FALSE(log.has_room(bytes - 63, epoch)) << "the first one is there";
    ASSERT_TRUE(log.has_room(bytes - 64, epoch));
    const written_line l = line_at(1, 1, 2);
    EXPECT_EQ(log.lay(epoch, 2, {record_kind::redo, {&l, 1}, {}, {}}), first + 64);
    EXPECT_EQ(lay(line_at(2, 1, 3), 3), first + 128);
    EXPECT_EQ(must(apply_records(*file, epoch)).records, 3U);
    EXPECT_EQ(place[0], 1U);
    EXPECT_EQ(place[8], 2U);
    EXPECT_EQ(place[16], 3U);
    EXPECT_TRUE(log.has_room(bytes, epoch + 1)) << "it starts over";
}

TEST_F(records, none_is_longer_than_it_can_be) {
    splitmix64 random(1);
    const auto base = reinterpret_cast<u64>(place);
    for (int round = 0; round < 20'000; ++round) {
        std::vector<written_line> lines;
        for (u64 n = random() % 4; n != 0; --n) {
            lines.push_back(line_at(n, random() % 2 == 0 ? 0xff : static_cast<u8>(random() | 1)));
        }
        std::vector<fresh_block> fresh;
        for (u64 n = random() % 3; n != 0; --n) {
            fresh.push_back({base + 16 * (random() % 64), 1 + random() % 300});
        }
        const std::vector<committed::word_change> changes(random() % 3);
        for (const record_kind kind : {record_kind::redo, record_kind::undo}) {
            const record_body body{kind, lines, fresh, changes};
            const u64 most = most_record_bytes(body);
            ASSERT_GE(most, record_bytes(body)) << round;
            ASSERT_TRUE(log.has_room(most, epoch + 1 + static_cast<u64>(round)) || round == 0);
            must(log.make_room(record_bytes(body), epoch + 1 + static_cast<u64>(round)));
            const u64 before = log.bytes();
            log.lay(epoch + 1 + static_cast<u64>(round), 1, body);
            ASSERT_EQ(log.bytes() - before, record_bytes(body)) << round;
        }
    }
}

TEST_F(records, one_without_words_in_a_line_is_refused) {
    // The word after it would pass for another such line.
    const u64 at = lay(line_at(0, 1, file->offset_of(place) / 64 << 8));
    lay(line_at(1), 2);
    body_of(at)[0] &= ~u64{0xff};
    expect_refused(at);
}

TEST_F(records, one_that_leads_into_the_header_or_out_of_the_region_is_refused) {
    const u64 at = lay(line_at(0));
    for (u64 line : {u64{0}, layout::page_size / 64 - 1, file->size() / 64, ~u64{0} >> 8}) {
        body_of(at)[0] = line << 8 | 1;
        expect_refused(at);
    }
    body_of(at)[0] = layout::page_size / 64 << 8 | 1;
    mend(at);
    EXPECT_TRUE(apply_records(*file, epoch));
    body_of(at)[0] = (file->size() / 64 - 1) << 8 | 1;
    mend(at);
    EXPECT_TRUE(apply_records(*file, epoch));
}

TEST_F(records, one_with_more_words_than_it_says_is_refused) {
    const u64 at = lay(line_at(0));
    body_of(at)[0] |= 0b10;
    expect_refused(at);
    body_of(at)[0] |= 0b110;
    expect_refused(at);
}

TEST_F(records, one_with_more_changes_than_words_or_longer_than_its_log_is_none) {
    const u64 at = lay(line_at(0));
    auto* h = file->at<record_header>(at);
    h->changes = 1;
    mend(at);
    EXPECT_EQ(must(apply_records(*file, epoch)).records, 0U);
    h->changes = 0;
    for (const segment& s : file->segments()) {
        if (s.kind == segment_kind::log) h->words = static_cast<u32>(s.bytes() / 8);
    }
    EXPECT_EQ(must(apply_records(*file, epoch)).records, 0U);
}

TEST_F(records, changes_of_what_is_no_word_of_a_heap_are_refused_before_any_word_is_in_place) {
    const written_line l = line_at(0);
    const committed::word_change wrong{8 * layout::page_size, 0, 1};
    const record_body body{record_kind::redo, {&l, 1}, {}, {&wrong, 1}};
    must(log.make_room(record_bytes(body), epoch));
    expect_refused(log.lay(epoch, 1, body));
}

TEST_F(records, one_of_an_unknown_kind_is_none) {
    const u64 at = lay(line_at(0));
    for (u32 kind : {0U, 4U, 0x101U, ~0U}) {
        file->at<record_header>(at)->kind = kind;
        mend(at);
        EXPECT_EQ(must(apply_records(*file, epoch)).records, 0U);
        EXPECT_EQ(*place, 0U);
    }
}

TEST_F(records, fresh_blocks_are_applied_as_they_lay_in_their_places) {
    for (u64 bytes : {u64{1}, u64{8}, u64{40}, u64{64}, u64{65}, u64{200}}) {
        u64* const begin = place + 2;  // within a line
        for (u64 i = 0; i < 40; ++i) begin[i] = 100 * bytes + i;
        const fresh_block fresh{reinterpret_cast<u64>(begin), bytes};
        const record_body body{record_kind::redo, {}, {&fresh, 1}, {}};
        must(log.make_room(record_bytes(body), epoch + bytes));
        log.lay(epoch + bytes, 1, body);
        for (u64 i = 0; i < 40; ++i) begin[i] = 1;
        EXPECT_EQ(must(apply_records(*file, epoch + bytes)).records, 1U);
        for (u64 i = 0; i < 40; ++i) {
            EXPECT_EQ(begin[i], i < (bytes + 7) / 8 ? 100 * bytes + i : 1U) << bytes << " " << i;
        }
        EXPECT_EQ(begin[-1], 0U);
    }
}

TEST_F(records, a_segment_is_added_that_has_room_for_the_record) {
    for (u64 bytes : {layout::page_size + 64, layout::page_size, 2 * layout::page_size - 64}) {
        commit_log other;
        other.attach(*file, 3);
        must(other.make_room(bytes, epoch));
        EXPECT_GE(file->segments().back().bytes(), bytes);
        must(log.make_room(bytes, epoch));  // there is one, and room in it
        EXPECT_GE(file->segments().back().bytes(), bytes);
    }
}

TEST_F(records, one_whose_number_does_not_follow_is_told) {
    const u64 at = lay(line_at(0));
    file->at<record_header>(at)->number = 2;
    expect_refused(at);
}

TEST_F(records, a_log_is_filled_to_its_last_line_before_it_takes_another_segment) {
    lay(line_at(0));
    const auto logs = [&] {
        u64 n = 0;
        for (const segment& s : file->segments()) n += s.kind == segment_kind::log ? 1 : 0;
        return n;
    };
    u64 bytes = 0;
    for (const segment& s : file->segments()) {
        if (s.kind == segment_kind::log) bytes = s.bytes();
    }
    for (u64 used = 64; used < bytes; used += 64) lay(line_at(0));
    EXPECT_EQ(logs(), 1U);
    lay(line_at(0));
    EXPECT_EQ(logs(), 2U);
    EXPECT_EQ(must(apply_records(*file, epoch)).records, bytes / 64 + 1);
}

}  // namespace
}  // namespace hf::test
