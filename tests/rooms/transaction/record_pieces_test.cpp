// Commit records that fit into no segment of their log, and lie in several.
#include "base/checksum.hpp"
#include "region_of_words.hpp"
#include "transaction/recovery.hpp"

#include <vector>

namespace hf::test {
namespace {

using layout::page_size;

class record_pieces : public ::testing::TestWithParam<record_kind> {
   protected:
    static constexpr u64 epoch = 7;
    static constexpr u64 lines = 8900;  // 72 bytes each: 9.8 pages

    void SetUp() override {
        region_options o;
        o.kind = discipline::transaction;
        o.max_size = u64{256} << 20;
        file = must(region::create_volatile(u64{1} << 20, o));
        place = file->at<u64>(page_size * 4);
        log.attach(*file, 0);
        commit_log other;
        other.attach(*file, 2);
        must(log.make_room(page_size, 1));
        must(other.make_room(page_size, 1));  // the log's segments do not follow each other
        must(log.make_room(2 * page_size, 1));
        must(log.make_room(4 * page_size, 1));
        ASSERT_EQ(kept_from_heap(file->max_pages()), 16U);
    }
    [[nodiscard]] std::vector<written_line> changed(u64 n, u64 value) const {
        std::vector<written_line> all;
        for (u64 i = 0; i < n; ++i) {
            all.push_back({reinterpret_cast<u64>(place) / 64 + i, 0xff, {}});
            all.back().words.fill(value + i);
        }
        return all;
    }
    /// Words in place are 3 when a record of kind undo is written.
    u64 lay(u64 n, u64 value, u64 version) {
        const auto all = changed(n, value);
        const record_body body{GetParam(), all, {}, {}};
        must(log.make_room(record_bytes(body), epoch));
        return log.lay(epoch, version, body);
    }
    void fill_places(u64 with) const {
        for (u64 i = 0; i < 8 * lines; ++i) place[i] = with;
    }
    [[nodiscard]] bool is_redo() const { return GetParam() == record_kind::redo; }
    /// The segments of the log, in their order.
    [[nodiscard]] std::vector<segment> segments() const {
        std::vector<segment> all;
        for (const segment& s : file->segments()) {
            if (s.kind == segment_kind::log && s.owner == 0) all.push_back(s);
        }
        return all;
    }

    std::unique_ptr<region> file;
    commit_log log;
    u64* place = nullptr;
};

TEST_P(record_pieces, a_long_record_takes_what_several_segments_have) {
    fill_places(3);
    lay(lines, 100, 1);
    fill_places(4);
    EXPECT_GE(segments().size(), 4U);
    const applied_records found = must(apply_records(*file, epoch));
    EXPECT_EQ(found.records, 1U);
    for (u64 i = 0; i < lines; ++i) {
        ASSERT_EQ(place[8 * i], is_redo() ? 100 + i : 3U) << i;
        ASSERT_EQ(place[8 * i + 7], is_redo() ? 100 + i : 3U) << i;
    }
}

TEST_P(record_pieces, records_that_follow_a_long_one_are_found) {
    fill_places(3);
    lay(lines, 100, 1);
    lay(1, 5000, 2);
    lay(200, 6000, 3);
    fill_places(4);
    const applied_records found = must(apply_records(*file, epoch));
    EXPECT_EQ(found.records, 3U);
    EXPECT_EQ(place[0], is_redo() ? 6000U : 3U);
    EXPECT_EQ(place[8 * 199], is_redo() ? 6199U : 3U);
    EXPECT_EQ(place[8 * 200], is_redo() ? 300U : 3U);
}

TEST_P(record_pieces, a_torn_one_is_none_wherever_it_is_torn) {
    fill_places(3);
    lay(lines, 100, 1);
    fill_places(4);
    for (const segment& s : segments()) {
        u64* const torn = file->at<u64>(s.offset + 4096);
        *torn ^= 1;
        EXPECT_EQ(must(apply_records(*file, epoch)).records, 0U) << s.offset;
        EXPECT_EQ(place[0], 4U);
        *torn ^= 1;
    }
    EXPECT_EQ(must(apply_records(*file, epoch)).records, 1U);
}

TEST_P(record_pieces, one_that_was_marked_done_is_not_undone) {
    if (is_redo()) GTEST_SKIP() << "redo records have no mark";
    fill_places(3);
    const u64 at = lay(lines, 100, 1);
    fill_places(4);
    const u64* const mark = reinterpret_cast<const u64*>(&mark_done(*file, at));
    EXPECT_EQ(*mark, file->at<record_header>(at)->checksum);
    EXPECT_FALSE(segments().front().offset < file->offset_of(mark) &&
                 file->offset_of(mark) < segments().front().offset + segments().front().bytes())
        << "it is in the last piece";
    EXPECT_EQ(must(apply_records(*file, epoch)).records, 1U);
    EXPECT_EQ(place[0], 4U);
}

TEST_P(record_pieces, with_records_of_the_epoch_before_it_the_epoch_is_to_end_first) {
    lay(1, 100, 1);
    const auto all = changed(lines, 200);
    const record_body body{GetParam(), all, {}, {}};
    const auto refused = log.make_room(record_bytes(body), epoch);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::no_space);
    EXPECT_TRUE(log.has_records(epoch));
    EXPECT_TRUE(log.make_room(record_bytes(body), epoch + 1));
}

TEST_P(record_pieces, one_longer_than_all_that_is_kept_is_refused_with_the_numbers) {
    const auto refused = log.make_room(15 * page_size + 64, epoch);  // one page is the other log's
    ASSERT_FALSE(refused);
    EXPECT_NE(
        refused.error().why.find("its record of 983104 bytes finds room for 983040 in the 1048576 "
                                 "that the region keeps for logs"),
        std::string::npos)
        << refused.error().to_string();
    EXPECT_TRUE(log.make_room(15 * page_size, epoch));
}

INSTANTIATE_TEST_SUITE_P(kinds, record_pieces,
                         ::testing::Values(record_kind::redo, record_kind::undo),
                         [](const auto& at) {
                             return at.param == record_kind::redo ? "redo" : "undo";
                         });

}  // namespace
}  // namespace hf::test
