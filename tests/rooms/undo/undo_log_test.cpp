// The external log: what is applied after a crash, and what is not.
#include "undo/undo_log.hpp"

#include "base/random.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace hf {
namespace {

using test::must;

constexpr u16 owner = 3;

/// A region whose first segment holds objects, and a log for them.
class an_external_log : public test::on_tmpfs {
   protected:
    an_external_log() {
        region_options o;
        o.initial_size = u64{4} << 20;
        o.flush = flush_policy::always;
        region_ = must(region::open(file, o));
        log_.attach(*region_, owner);
    }

    static constexpr u64 object_at(u64 i) { return layout::page_size + i * max_log_object; }
    [[nodiscard]] char* bytes(u64 i) { return region_->at<char>(object_at(i)); }
    void fill(u64 i, char with, u32 size = max_log_object) { std::memset(bytes(i), with, size); }
    [[nodiscard]] std::string content(u64 i, u32 size) { return {bytes(i), size}; }

    void append(u64 i, u32 size, u64 epoch) {
        const std::array one{log_object{object_at(i), size}};
        must(log_.append(one, epoch));
    }
    u64 apply(u64 epoch, unsigned threads = 1) {
        return must(apply_log(*region_, epoch, threads)).entries;
    }
    [[nodiscard]] std::vector<segment> segments() const {
        std::vector<segment> logs;
        for (const segment& s : region_->segments()) {
            if (s.kind == segment_kind::log) logs.push_back(s);
        }
        return logs;
    }
    /// The i-th entry of the first segment, if all have this size.
    [[nodiscard]] detail::log_entry_header* entry(u64 i, u32 size) {
        return region_->at<detail::log_entry_header>(segments().front().offset +
                                                     i * detail::log_entry_stride(size));
    }

    std::unique_ptr<region> region_;
    log_writer log_;
};

TEST_F(an_external_log, brings_objects_back_as_they_were) {
    for (const u32 size : {1U, 7U, 8U, 31U, 32U, 33U, 64U, 304U, max_log_object}) {
        SCOPED_TRACE(size);
        const u64 epoch = 100 + size;
        fill(0, 'a');
        fill(1, 'b');
        const std::array both{log_object{object_at(0), size}, log_object{object_at(1), size}};
        must(log_.append(both, epoch));
        fill(0, 'x');
        fill(1, 'y');
        EXPECT_EQ(apply(epoch), 2U);
        EXPECT_EQ(content(0, size), std::string(size, 'a'));
        EXPECT_EQ(content(1, size), std::string(size, 'b'));
        if (size < max_log_object) {
            EXPECT_EQ(bytes(0)[size], 'x') << "no byte more";
        }
        fill(0, 'z');
        EXPECT_EQ(apply(epoch), 2U) << "applied again";
        EXPECT_EQ(content(0, size), std::string(size, 'a'));
    }
}

TEST_F(an_external_log, has_nothing_for_an_epoch_without_entries) {
    append(0, 64, 5);
    fill(0, 'x');
    EXPECT_EQ(apply(4), 0U);
    EXPECT_EQ(apply(6), 0U);
    EXPECT_EQ(content(0, 64), std::string(64, 'x'));
    EXPECT_EQ(log_.entries(), 1U);
    EXPECT_EQ(log_.bytes(), detail::log_entry_stride(64));
}

TEST_F(an_external_log, ends_at_a_torn_entry_wherever_it_is_torn) {
    constexpr u32 size = 120;
    const u64 covered = sizeof(detail::log_entry_header) + size;
    for (u64 torn = 0; torn < covered; ++torn) {
        SCOPED_TRACE(torn);
        const u64 epoch = 10 + torn;
        for (u64 i = 0; i < 4; ++i) fill(i, static_cast<char>('a' + i));
        append(0, size, epoch);
        append(1, size, epoch);
        must(log_.append(std::array{log_object{object_at(2), size}, log_object{object_at(3), size}},
                         epoch));
        reinterpret_cast<char*>(entry(2, size))[torn] ^= 1;
        for (u64 i = 0; i < 4; ++i) fill(i, 'x');
        EXPECT_EQ(apply(epoch), 2U);
        EXPECT_EQ(content(1, size), std::string(size, 'b'));
        EXPECT_EQ(content(2, size), std::string(size, 'x'));
        EXPECT_EQ(content(3, size), std::string(size, 'x')) << "nothing behind it counts";
    }
}

/// X4: an append begins when the one before it is durable.
TEST_F(an_external_log, is_refused_where_an_entry_that_others_follow_is_damaged) {
    constexpr u32 size = 120;
    constexpr u64 entries = 6;
    const u64 covered = sizeof(detail::log_entry_header) + size;
    for (u64 damaged = 0; damaged < entries; ++damaged) {
        for (u64 at = 0; at < covered; at += 7) {
            SCOPED_TRACE(std::to_string(damaged) + " " + std::to_string(at));
            const u64 epoch = 10 + damaged * covered + at;
            for (u64 i = 0; i < entries; ++i) append(i, size, epoch);
            reinterpret_cast<char*>(entry(damaged, size))[at] ^= 64;
            const auto applied = apply_log(*region_, epoch, 1);
            // The last one looks like a tear, and so does the one before it, if both were one.
            if (damaged + 1 >= entries) {
                EXPECT_EQ(must(applied).entries, damaged);
                continue;
            }
            ASSERT_FALSE(applied);
            EXPECT_EQ(applied.error().code, errc::corrupt);
            EXPECT_NE(applied.error().to_string().find("others follow it"), std::string::npos);
        }
    }
}

TEST_F(an_external_log, is_refused_where_a_whole_segment_of_it_was_lost) {
    constexpr u32 size = max_log_object;
    for (u64 n = 0; segments().size() < 2; ++n) append(n % 200, size, 7);
    append(0, size, 7);
    std::memset(region_->at<char>(segments().front().offset), 0, segments().front().bytes());
    const auto applied = apply_log(*region_, 7, 1);
    ASSERT_FALSE(applied);
    EXPECT_EQ(applied.error().code, errc::corrupt);
}

/// A program that did not count its appends wrote 0: its logs are read as ever.
TEST_F(an_external_log, whose_appends_have_no_numbers_ends_at_the_first_damage) {
    constexpr u32 size = 64;
    for (u64 i = 0; i < 4; ++i) append(i, size, 7);
    for (u64 i = 0; i < 4; ++i) {
        entry(i, size)->append = 0;
        entry(i, size)->checksum =
            detail::log_entry_checksum(entry(i, size), detail::log_seed(*region_));
    }
    EXPECT_EQ(apply(7), 4U);
    reinterpret_cast<char*>(entry(1, size))[40] ^= 1;
    EXPECT_EQ(apply(7), 1U);
}

TEST_F(an_external_log, fills_several_segments_and_applies_all_of_them) {
    constexpr u32 size = max_log_object;
    constexpr u64 objects = 200;
    std::vector<std::string> were;
    xoshiro256ss random(11);
    for (u64 round = 0; segments().size() < 3; ++round) {
        const u64 epoch = 20 + round;
        were.clear();
        for (u64 n = 0; n < (round + 1) * objects; ++n) {
            const u64 i = n % objects;
            if (n < objects) {
                fill(i, static_cast<char>(random()), size);
                were.push_back(content(i, size));
            }
            append(i, size, epoch);
        }
        for (const unsigned threads : {1U, 4U}) {
            for (u64 i = 0; i < objects; ++i) fill(i, 'x', size);
            EXPECT_EQ(apply(epoch, threads), (round + 1) * objects);
            for (u64 i = 0; i < objects; ++i) ASSERT_EQ(content(i, size), were[i]) << i;
        }
    }
}

TEST_F(an_external_log, that_spans_segments_in_one_call_is_whole) {
    constexpr u64 objects = 300;  // 1.2 MiB: more than the first segment
    std::vector<log_object> all;
    for (u64 i = 0; i < objects; ++i) {
        fill(i, static_cast<char>(i));
        all.push_back({object_at(i), max_log_object});
    }
    must(log_.append(all, 50));
    EXPECT_EQ(segments().size(), 2U);
    for (u64 i = 0; i < objects; ++i) fill(i, 'x');
    EXPECT_EQ(apply(50), objects);
    for (u64 i = 0; i < objects; ++i) {
        EXPECT_EQ(content(i, max_log_object), std::string(max_log_object, static_cast<char>(i)));
    }
}

TEST_F(an_external_log, starts_over_with_each_epoch_and_forgets_the_old_one) {
    constexpr u32 size = 304;
    for (u64 i = 0; i < 10; ++i) {
        fill(i, 'a');
        append(i, size, 7);
    }
    const u64 segments_before = segments().size();
    // The new epoch's entries cover the first of the old one's; the bytes after them are old.
    for (u64 i = 0; i < 3; ++i) {
        fill(i, 'b');
        append(i, size, 8);
    }
    EXPECT_EQ(segments().size(), segments_before);
    EXPECT_EQ(entry(3, size)->epoch, 7U) << "an old entry, whole, behind the new ones";
    for (u64 i = 0; i < 10; ++i) fill(i, 'x');
    EXPECT_EQ(apply(8), 3U);
    for (u64 i = 0; i < 3; ++i) EXPECT_EQ(content(i, size), std::string(size, 'b'));
    for (u64 i = 3; i < 10; ++i) EXPECT_EQ(content(i, size), std::string(size, 'x')) << i;
    EXPECT_FALSE(apply_log(*region_, 7, 1)) << "they are no prefix any more";
}

TEST_F(an_external_log, applies_nothing_old_behind_new_entries_even_if_it_is_of_the_failed_epoch) {
    // Epoch 7 used two segments, epoch 8 the first of them only. The second still begins with whole
    // entries of 7: they count for 7, which is over, and for nothing else.
    for (u64 i = 0; i < 300; ++i) append(i, max_log_object, 7);
    ASSERT_EQ(segments().size(), 2U);
    fill(0, 'b');
    append(0, max_log_object, 8);
    for (u64 i = 0; i < 300; ++i) fill(i, 'x');
    EXPECT_EQ(apply(8), 1U);
    EXPECT_EQ(bytes(0)[0], 'b');
    EXPECT_EQ(bytes(299)[0], 'x');
}

TEST_F(an_external_log, is_found_again_by_its_owner_and_by_recovery) {
    append(0, 64, 7);
    append(1, 64, 7);
    log_writer other;
    other.attach(*region_, owner + 1);
    const std::array one{log_object{object_at(2), 64}};
    must(other.append(one, 7));
    EXPECT_EQ(segments().size(), 2U) << "each owner has segments of its own";
    EXPECT_EQ(apply(7, 2), 3U);

    log_writer again;
    again.attach(*region_, owner);
    must(again.append(one, 8));
    EXPECT_EQ(segments().size(), 2U) << "the segments of an earlier session are used";
    EXPECT_EQ(apply(8), 1U);
}

TEST_F(an_external_log, of_another_region_is_not_applied) {
    append(0, 64, 7);
    entry(0, 64)->checksum =
        detail::log_entry_checksum(entry(0, 64), detail::log_seed(*region_) + 1);
    EXPECT_EQ(apply(7), 0U);
}

TEST_F(an_external_log, that_names_an_object_outside_of_the_region_is_corrupt) {
    append(0, 64, 6);  // the region grows by the log's segment
    for (const u64 object :
         {u64{0}, layout::page_size - 8, region_->size() - 56, region_->size(), ~u64{0} - 63}) {
        SCOPED_TRACE(object);
        log_writer fresh;  // writes from the segment's start
        fresh.attach(*region_, owner);
        const std::array one{log_object{object_at(0), 64}};
        must(fresh.append(one, 7));
        auto* e = entry(0, 64);
        e->object = object;
        e->checksum = detail::log_entry_checksum(e, detail::log_seed(*region_));
        const auto applied = apply_log(*region_, 7, 1);
        ASSERT_FALSE(applied);
        EXPECT_EQ(applied.error().code, errc::corrupt);
    }
}

TEST_F(an_external_log, brings_back_objects_at_both_ends_of_the_region) {
    append(0, 64, 6);  // the region grows by the log's segment
    for (const u32 size : {8U, 64U, max_log_object}) {
        SCOPED_TRACE(size);
        log_writer fresh;
        fresh.attach(*region_, owner);
        auto* const last = region_->at<char>(region_->size() - size);
        fill(0, 'a', size);
        std::memset(last, 'b', size);
        const std::array both{log_object{object_at(0), size},
                              log_object{region_->size() - size, size}};
        must(fresh.append(both, 100 + size));
        fill(0, 'x', size);
        std::memset(last, 'y', size);
        EXPECT_EQ(apply(100 + size), 2U);
        EXPECT_EQ(content(0, size), std::string(size, 'a'));
        EXPECT_EQ(std::string(last, size), std::string(size, 'b'));
    }
}

// Entries of one line each, as many as a segment has lines, leave the next segment alone, which is
// another owner's; and the last of them counts.
TEST_F(an_external_log, fills_a_segment_to_its_last_byte_and_no_further) {
    constexpr u32 size = 32;
    static_assert(detail::log_entry_stride(size) == line_size);
    append(0, size, 7);
    log_writer neighbour;
    neighbour.attach(*region_, owner + 1);
    const std::array one{log_object{object_at(1), size}};
    must(neighbour.append(one, 7));
    ASSERT_EQ(segments().size(), 2U);
    ASSERT_EQ(segments()[1].offset, segments()[0].offset + segments()[0].bytes());
    const auto* const behind = region_->at<unsigned char>(segments()[1].offset);
    const u64 lines = segments()[0].bytes() / line_size;
    for (u64 i = 1; i < lines; ++i) {
        // Not what stands there anyway.
        std::memset(bytes(0), ~behind[0], 2 * size);
        append(0, size, 7);
    }
    EXPECT_EQ(segments().size(), 2U);
    EXPECT_EQ(apply(7), lines + 1);
    append(0, size, 7);
    EXPECT_EQ(segments().size(), 3U);
    EXPECT_EQ(apply(7), lines + 2);
    EXPECT_EQ(log_.entries(), lines + 1);
    EXPECT_EQ(log_.bytes(), (lines + 1) * line_size);
}

TEST_F(an_external_log, that_is_full_at_the_regions_end_is_read_to_there) {
    constexpr u32 size = 32;
    append(0, size, 7);
    const u64 lines = segments()[0].bytes() / line_size;
    for (u64 i = 1; i < lines; ++i) append(0, size, 7);
    ASSERT_EQ(segments()[0].offset + segments()[0].bytes(), region_->size());
    EXPECT_EQ(apply(7), lines);
}

// Entries that no writer makes, with right checksums.
TEST_F(an_external_log, has_no_entry_that_is_too_large_or_reaches_into_the_next_segment) {
    constexpr u32 size = 32;
    append(0, size, 7);
    const auto forge = [&](u64 i, u32 forged) {
        entry(i, size)->size = forged;
        entry(i, size)->checksum =
            detail::log_entry_checksum(entry(i, size), detail::log_seed(*region_));
    };
    forge(0, max_log_object);
    EXPECT_EQ(apply(7), 1U);
    forge(0, max_log_object + 8);
    EXPECT_EQ(apply(7), 0U);
    forge(0, size);
    const u64 lines = segments()[0].bytes() / line_size;
    for (u64 i = 1; i < lines; ++i) append(0, size, 7);
    log_writer neighbour;
    neighbour.attach(*region_, owner + 1);
    const std::array one{log_object{object_at(1), size}};
    must(neighbour.append(one, 6));
    EXPECT_EQ(apply(7), lines);
    forge(lines - 1, size + 8);
    EXPECT_EQ(apply(7), lines - 1);
}

TEST_F(an_external_log, grows_by_segments_that_double_up_to_a_limit) {
    std::vector<u64> pages;
    std::vector<log_object> many(1000, log_object{object_at(0), max_log_object});
    while (segments().size() < 3) must(log_.append(many, 7));
    for (const segment& s : segments()) pages.push_back(s.pages);
    EXPECT_EQ(pages, (std::vector<u64>{16, 32, 64}));
}

TEST_F(an_external_log, takes_what_is_left_of_a_full_region_however_little) {
    region_options o;
    o.initial_size = u64{64} << 20;
    constexpr u64 for_others = 1;
    o.max_size = o.initial_size + (2 + for_others + 1) * layout::page_size;
    region_ = must(region::open(dir / "small.hf", o));
    log_.attach(*region_, owner);
    fill(0, 'a');
    constexpr u64 in_a_page = layout::page_size / detail::log_entry_stride(max_log_object);
    for (u64 i = 0; i < 2 * in_a_page; ++i) append(0, max_log_object, 7);
    std::vector<u64> pages;
    for (const segment& s : segments()) pages.push_back(s.pages);
    EXPECT_EQ(pages, (std::vector<u64>{1, 1})) << "it has wanted more";
    const std::array one{log_object{object_at(0), max_log_object}};
    const auto refused = log_.append(one, 7);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::no_space);
    // Others come late. They have a log each, and none takes more than leaves one to lane 0.
    for (u16 other = owner + 1; other <= owner + for_others; ++other) {
        log_writer late;
        late.attach(*region_, other);
        u64 entries = 0;
        while (late.append(one, 7)) ++entries;
        EXPECT_EQ(entries, in_a_page) << other;
    }
    log_writer last;
    last.attach(*region_, owner + for_others + 1);
    EXPECT_FALSE(last.append(one, 7));
    log_writer of_zero;
    of_zero.attach(*region_, 0);
    must(of_zero.append(one, 7));
    EXPECT_EQ(region_->size(), region_->max_pages() * layout::page_size);
}

TEST_F(an_external_log, takes_no_segment_that_is_a_heaps) {
    log_writer of_zero;  // the owner of heap segments
    of_zero.attach(*region_, 0);
    fill(0, 'a');
    const std::array one{log_object{object_at(1), 64}};
    must(of_zero.append(one, 7));
    EXPECT_EQ(segments().size(), 1U);
    EXPECT_EQ(content(0, max_log_object), std::string(max_log_object, 'a'));
    EXPECT_EQ(apply(7), 1U);
}

TEST_F(an_external_log, writes_nothing_when_there_is_no_room_for_all) {
    region_options o;
    o.initial_size = u64{4} << 20;
    o.max_size = u64{6} << 20;
    o.flush = flush_policy::always;
    region_ = must(region::open(dir / "small.hf", o));
    log_writer fresh;
    fresh.attach(*region_, owner);
    fill(0, 'a');
    const std::array one{log_object{object_at(0), 64}};
    must(fresh.append(one, 7));
    std::vector<log_object> too_many;
    for (u64 i = 0; i < 900; ++i) too_many.push_back({object_at(i % 200), max_log_object});
    const auto refused = fresh.append(too_many, 7);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::no_space);
    EXPECT_EQ(fresh.entries(), 1U);
    EXPECT_EQ(apply(7), 1U);
    must(fresh.append(one, 7));
    EXPECT_EQ(apply(7), 2U);
}

}  // namespace
}  // namespace hf
