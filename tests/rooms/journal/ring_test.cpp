// The placement of records: lines in a chunk, choice of segments, bytes written.
#include "crashlab/disk/model_disk.hpp"
#include "journal/core.hpp"
#include "journal/scan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace hf::test {
namespace {

using journal::page;
using lab::bytes;

class journal_ring : public ::testing::Test {
   protected:
    void start(const journal::geometry& shape) {
        disk = std::make_unique<lab::model_disk>();
        auto started = journal::core::start(*disk, base, {{7}, 3}, 0, shape);
        ASSERT_TRUE(started);
        core = std::move(*started);
        segment = shape.segment_bytes;
        epoch = 0;
    }
    void commit(const std::vector<u64>& lines) {
        ++epoch;
        const bytes data(lines.size() * line_size, static_cast<std::byte>(epoch));
        ASSERT_TRUE(core->commit({epoch, lines, data.data()}));
    }
    /// Consecutive lines.
    static std::vector<u64> row(u64 n, u64 from = 0) {
        std::vector<u64> lines(n);
        std::iota(lines.begin(), lines.end(), from);
        return lines;
    }
    std::vector<journal::chunk_place> chunks() {
        auto found = journal::scan(*disk);
        EXPECT_TRUE(found) << found.error().to_string();
        return found ? found->chunks : std::vector<journal::chunk_place>{};
    }
    /// Expects that each chunk of the newest record fills its segment.
    void expect_packed(const std::vector<u64>& lines,
                       const std::vector<journal::chunk_place>& got) {
        std::size_t from = 0;
        for (const auto& c : got) {
            const u64 room = segment - (c.offset - journal::first_segment) % segment;
            u64 runs = 0;
            u64 taken = 0;
            u64 in_run = 0;
            for (std::size_t i = from; i < lines.size(); ++i) {
                const bool follows = runs != 0 && lines[i] == lines[i - 1] + 1 && in_run < 65535;
                const u64 would_be = runs + (follows ? 0 : 1);
                if (64 + (would_be * 8 + 63) / 64 * 64 + (taken + 1) * 64 > room) break;
                in_run = follows ? in_run + 1 : 1;
                runs = would_be;
                ++taken;
            }
            ASSERT_EQ(c.lines, taken) << "of " << lines.size() << " lines, from " << from;
            ASSERT_EQ(c.runs, runs);
            from += taken;
        }
        ASSERT_EQ(from, lines.size());
    }

    lab::model_disk base;
    std::unique_ptr<lab::model_disk> disk;
    std::unique_ptr<journal::core> core;
    u64 segment = 0;
    u64 epoch = 0;
};

}  // namespace

TEST_F(journal_ring, puts_as_many_lines_into_a_chunk_as_fit) {
    for (const u64 segment_pages : {1, 2}) {
        for (u64 n = 1; n < 200; ++n) {
            for (const bool in_row : {true, false}) {
                start({segment_pages * page, 20});
                std::vector<u64> lines = row(n);
                if (!in_row) std::for_each(lines.begin(), lines.end(), [](u64& l) { l += l / 3; });
                commit({1000});  // so that the first chunk may begin within a segment
                commit(lines);
                auto found = chunks();
                ASSERT_FALSE(found.empty());
                found.erase(found.begin());
                expect_packed(lines, found);
                if (HasFatalFailure()) return;
            }
        }
    }
}

// A run's count is at most 65,535.
TEST_F(journal_ring, puts_no_more_lines_into_a_run_than_it_counts) {
    for (const u64 n : {65534, 65535, 65536, 65537}) {
        start({u64{5} << 20, 3});
        commit(row(n));
        const auto found = chunks();
        ASSERT_EQ(found.size(), 1U);
        expect_packed(row(n), found);
        EXPECT_EQ(found[0].end_line, n);
    }
}

// R3: only if necessary.
TEST_F(journal_ring, grows_by_as_many_segments_as_are_missing) {
    constexpr u64 in_segment = 62;
    for (u64 fill = 1; fill <= 3; ++fill) {
        for (u64 n = 1; n <= 8; ++n) {
            start({page, 4});
            for (u64 i = 0; i < fill; ++i) commit(row(in_segment));
            EXPECT_EQ(core->used(), fill);
            const auto lines = row(n * in_segment);
            const u64 needed = fill + n + 1;  // one after them is kept free
            EXPECT_EQ(core->needs_space({9, lines, nullptr}), needed > 4) << fill << ", " << n;
            EXPECT_EQ(core->segments(), 4U);
            commit(lines);
            EXPECT_EQ(core->used(), fill + n);
            EXPECT_EQ(core->segments(), std::max<u64>(4, needed)) << fill << ", " << n;
            EXPECT_EQ(disk->now().size(), journal::first_segment + core->segments() * page);
        }
    }
}

// A record that a full disk has refused is written again at the same place: until then the segment
// must not be sealed before it.
TEST_F(journal_ring, keeps_the_place_of_a_record_that_has_begun) {
    journal::ring ring({{7}, 3}, 4 * page, 4);
    lab::model_disk file(bytes(journal::ring::file_bytes(4 * page, 4)));
    lab::disk_faults faults{errc::no_space};
    file.faults = &faults;
    const auto lines = row(3);
    const bytes data(lines.size() * line_size);
    ASSERT_TRUE(ring.append(file, {1, lines, data.data()}));
    const u64 first = ring.used().back().chunks.back().offset;
    faults.from = faults.calls;
    ASSERT_FALSE(ring.append(file, {2, lines, data.data()}));
    EXPECT_FALSE(ring.seal());
    ASSERT_TRUE(ring.append(file, {2, lines, data.data()}));
    ASSERT_EQ(ring.used().size(), 1U) << "behind the first one";
    EXPECT_GT(ring.used().back().chunks.back().offset, first);
    EXPECT_TRUE(ring.seal());
    ASSERT_TRUE(ring.append(file, {3, lines, data.data()}));
    EXPECT_EQ(ring.used().size(), 2U);
}

// Makes holes visible. Zeros are written up to 1 MiB ahead of a record that reaches unwritten
// space, and never into the next segment.
TEST_F(journal_ring, fills_some_space_with_zeros_ahead) {
    constexpr u64 ahead = u64{1} << 20;
    constexpr std::byte hole{0xee};
    xoshiro256ss random(11);
    start({u64{3} << 20, 3});
    disk->now().assign(disk->now().size(), hole);
    u64 at = 0;       // end of the newest record
    u64 touched = 0;  // end of the written part of the segment
    u64 written = 0;
    while (at < segment) {
        // Often exactly a multiple of pages.
        const u64 lines = random() % 3 == 0 ? 62 + 64 * (random() % 60) : 1 + random() % 5000;
        if (at + journal::chunk_bytes(1, lines) > segment) break;
        commit(row(lines));
        const u64 bytes = journal::chunk_bytes(1, lines);
        const u64 before = std::max(touched, at + bytes);
        at = align_up(at + bytes, page);
        touched = before > at ? before : std::min(at + ahead, segment);
        written += bytes + (touched - before);
        ASSERT_EQ(core->journal_bytes(), written) << "behind " << at;
        const auto begin = disk->now().begin() + journal::first_segment;
        const auto end = begin + static_cast<std::ptrdiff_t>(touched);
        ASSERT_EQ(std::search_n(begin, end, 16, hole), end) << "a hole before " << touched;
        ASSERT_EQ(std::count(end, disk->now().end(), hole), disk->now().end() - end)
            << "more than 1 MiB ahead of " << at;
    }
    EXPECT_GT(at, 2 * ahead);
}

// Segments that were free the longest are used first.
TEST_F(journal_ring, uses_segments_in_the_order_in_which_they_became_free) {
    start({page, 4});
    std::vector<u64> used;
    for (int i = 0; i < 30; ++i) {
        commit(row(62));
        used.push_back((chunks().back().offset - journal::first_segment) / page);
        if (core->used() == 3) {
            ASSERT_TRUE(core->apply_some(1 + i % 2));
        }
        base.now().resize(100 * line_size);
    }
    std::vector<u64> expected;
    std::deque<u64> free{0, 1, 2, 3};
    std::deque<u64> busy;
    for (int i = 0; i < 30; ++i) {
        busy.push_back(free.front());
        expected.push_back(free.front());
        free.pop_front();
        for (int n = busy.size() == 3 ? 1 + i % 2 : 0; n != 0; --n) {
            free.push_back(busy.front());
            busy.pop_front();
        }
    }
    EXPECT_EQ(used, expected);
}

}  // namespace hf::test
