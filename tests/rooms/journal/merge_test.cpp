// merge() of records has the same result as writing them one after the other.
#include "journal/merge.hpp"

#include "base/random.hpp"
#include "crashlab/disk/model_disk.hpp"
#include "journal/apply.hpp"
#include "journal/core.hpp"
#include "journal/scan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hf::test {
namespace {

using lab::bytes;

constexpr u64 slice = (u64{1} << 20) / line_size;  // lines
constexpr journal::geometry shape{64 * journal::page, 24};

/// Records the calls of a disk.
class watched_disk final : public journal::block_file {
   public:
    using range = std::pair<u64, u64>;  ///< offset, bytes

    explicit watched_disk(bytes content) : disk_(std::move(content)) {}

    [[nodiscard]] result<void> write(u64 offset,
                                     std::span<const std::span<const std::byte>> pieces) override {
        u64 size = 0;
        for (const auto& piece : pieces) size += piece.size();
        writes.emplace_back(offset, size);
        return disk_.write(offset, pieces);
    }
    [[nodiscard]] result<void> read(u64 offset, std::span<std::byte> into) override {
        reads.emplace_back(offset, into.size());
        return disk_.read(offset, into);
    }
    [[nodiscard]] result<void> sync() override { return disk_.sync(); }
    [[nodiscard]] result<void> extend(u64 size) override { return disk_.extend(size); }
    [[nodiscard]] result<u64> size() override { return disk_.size(); }
    [[nodiscard]] std::string name() const override { return disk_.name(); }
    void begin_read(u64 offset, u64 size) noexcept override {
        asked_ahead.push_back({{offset, size}, reads.size()});
    }
    void begin_write_back(u64 offset, u64 size) noexcept override {
        begun.push_back({{offset, size}, writes.size()});
    }

    struct hint {
        range what;
        std::size_t calls_before;  ///< number of earlier calls of the same kind
    };
    std::vector<range> writes;
    std::vector<range> reads;
    std::vector<hint> asked_ahead;
    std::vector<hint> begun;

   private:
    lab::model_disk disk_;
};

class journal_merge : public ::testing::TestWithParam<u64> {
   protected:
    void begin(u64 lines) {
        base = some_bytes(lines * line_size);
        auto started = journal::core::start(disk, unused, {{7}, 3}, 0, shape);
        ASSERT_TRUE(started);
        core = std::move(*started);
    }

    void commit(const std::vector<u64>& lines) {
        const bytes data = some_bytes(lines.size() * line_size);
        ASSERT_TRUE(core->commit({++epoch, lines, data.data()}));
    }

    /// Some lines, each once, in runs of up to `row`.
    std::vector<u64> some_lines(u64 rows, u64 row, u64 from, u64 to) {
        std::set<u64> lines;
        for (u64 i = 0; i < rows; ++i) {
            const u64 first = from + random() % (to - from);
            const u64 last = std::min(to, first + 1 + random() % row);
            for (u64 line = first; line < last; ++line) lines.insert(line);
        }
        return {lines.begin(), lines.end()};
    }

    void merge_into(watched_disk& target) {
        const auto found = journal::scan(disk);
        ASSERT_TRUE(found) << found.error().to_string();
        ASSERT_TRUE(journal::merge(disk, found->chunks, target));
    }

    /// Compares a merge with writing one after the other.
    void expect_equal() {
        const auto found = journal::scan(disk);
        ASSERT_TRUE(found) << found.error().to_string();
        lab::model_disk merged(base);
        const auto written = journal::merge(disk, found->chunks, merged);
        ASSERT_TRUE(written) << written.error().to_string();
        EXPECT_TRUE(merged.now() == one_after_the_other(found->chunks)) << "seed " << GetParam();
    }
    bytes one_after_the_other(const std::vector<journal::chunk_place>& chunks) {
        bytes expected = base;
        EXPECT_TRUE(journal::apply(
            disk, chunks, [&expected](u64 offset, std::span<const std::byte> run) -> result<void> {
                std::copy(run.begin(), run.end(), expected.begin() + static_cast<long>(offset));
                return {};
            }));
        return expected;
    }
    bytes some_bytes(u64 n) {
        bytes b(n);
        for (std::byte& one : b) one = static_cast<std::byte>(random());
        return b;
    }

    xoshiro256ss random{GetParam()};
    lab::model_disk disk;
    lab::model_disk unused;
    bytes base;
    std::unique_ptr<journal::core> core;
    u64 epoch = 0;
};

}  // namespace

TEST_P(journal_merge, of_overlapping_records_keeps_the_newest) {
    begin(4096);
    for (int i = 0; i < 20; ++i) commit(some_lines(1 + random() % 50, 20, 0, 4096));
    expect_equal();
}

TEST_P(journal_merge, takes_slice_after_slice) {
    begin(2 * slice + slice / 3);
    for (int i = 0; i < 10; ++i) commit(some_lines(40, 300, 0, 2 * slice + slice / 3));
    // A run that begins in one slice and ends in the next.
    commit(some_lines(1, 2000, slice - 500, slice + 1500));
    for (u64 i = 0; i < 4; ++i) commit({slice - 1, slice, 2 * slice - 1, 2 * slice});
    expect_equal();
}

// A run over several slices: from the middle of the first to the middle of the last.
TEST(journal_merge_of_a_long_run, takes_what_each_slice_has_of_it) {
    constexpr u64 slices = 4;
    lab::model_disk disk;
    lab::model_disk unused;
    const auto started = journal::core::start(disk, unused, {{7}, 3}, 0, {2048 * journal::page, 3});
    ASSERT_TRUE(started);
    bytes expected(slices * slice * line_size);
    u64 epoch = 0;
    // Each line of a record says which record and which line it is.
    const auto commit = [&](u64 first, u64 end) {
        ++epoch;
        std::vector<u64> lines;
        bytes data((end - first) * line_size);
        for (u64 line = first; line < end; ++line) {
            const u64 mark[2] = {epoch, line};
            std::memcpy(data.data() + lines.size() * line_size, mark, sizeof mark);
            lines.push_back(line);
        }
        std::copy(data.begin(), data.end(),
                  expected.begin() + static_cast<std::ptrdiff_t>(first * line_size));
        ASSERT_TRUE((*started)->commit({epoch, lines, data.data()}));
    };
    const bytes base(expected.size());
    commit(slice / 4, slice / 2 + 9);
    commit(slice / 2, 3 * slice + slice / 2);
    commit(2 * slice - 3, 2 * slice + 3);
    commit(3 * slice + slice / 2 - 1, 3 * slice + slice / 2 + 1);
    const auto found = journal::scan(disk);
    ASSERT_TRUE(found) << found.error().to_string();
    ASSERT_EQ(found->chunks.size(), 4U) << "each record is one chunk";
    lab::model_disk merged(base);
    const auto written = journal::merge(disk, found->chunks, merged);
    ASSERT_TRUE(written) << written.error().to_string();
    EXPECT_TRUE(merged.now() == expected);
}

TEST_P(journal_merge, of_a_base_that_ends_within_a_page) {
    begin(64 * 3 + 7);
    for (int i = 0; i < 8; ++i) commit(some_lines(5, 9, 64 * 2, 64 * 3 + 7));
    expect_equal();
}

TEST_P(journal_merge, of_records_that_are_not_sorted) {
    begin(4096);
    for (int i = 0; i < 6; ++i) {
        auto lines = some_lines(30, 4, 0, 4096);
        std::shuffle(lines.begin(), lines.end(), random);
        commit(lines);
    }
    expect_equal();
}

TEST_P(journal_merge, of_nothing_writes_nothing) {
    begin(64);
    lab::model_disk target(base);
    const auto written = journal::merge(disk, {}, target);
    ASSERT_TRUE(written);
    EXPECT_EQ(*written, 0U);
}

TEST_P(journal_merge, writes_each_page_once) {
    begin(4096);
    for (int i = 0; i < 20; ++i) commit({64, 65, 70, 1000});
    const auto found = journal::scan(disk);
    ASSERT_TRUE(found);
    lab::model_disk target(base);
    const auto written = journal::merge(disk, found->chunks, target);
    ASSERT_TRUE(written);
    EXPECT_EQ(*written, 2 * journal::page);
}

TEST_P(journal_merge, writes_small_gaps_between_pages_with_them) {
    begin(4096);
    commit({0, 3 * 64, 7 * 64});  // pages 0, 3 and 7
    watched_disk target(base);
    merge_into(target);
    const std::vector<watched_disk::range> expected{{0, 4 * journal::page},
                                                    {7 * journal::page, journal::page}};
    EXPECT_EQ(target.writes, expected);
}

TEST_P(journal_merge, asks_ahead_for_the_next_slice_where_most_of_one_is_needed) {
    begin(3 * slice);
    std::vector<u64> lines;
    for (u64 line = 0; line < 2 * slice; line += 64) lines.push_back(line);
    lines.push_back(2 * slice);  // the only one in its slice
    commit(lines);
    watched_disk target(base);
    merge_into(target);
    // The second slice is requested before the first is read, the third before the second is read.
    ASSERT_EQ(target.asked_ahead.size(), 2U);
    for (u64 i = 0; i < 2; ++i) {
        const watched_disk::range next{(i + 1) * slice * line_size, slice * line_size};
        EXPECT_EQ(target.asked_ahead[i].what, next);
        EXPECT_EQ(target.asked_ahead[i].calls_before, i);
    }
}

TEST_P(journal_merge, of_few_pages_asks_for_none_ahead) {
    begin(3 * slice);
    commit({0, slice, 2 * slice});
    watched_disk target(base);
    merge_into(target);
    EXPECT_TRUE(target.asked_ahead.empty());
}

TEST_P(journal_merge, has_each_slice_written_back_at_once) {
    begin(3 * slice);
    commit({0, slice, 2 * slice});
    watched_disk target(base);
    merge_into(target);
    ASSERT_EQ(target.begun.size(), 3U);
    for (u64 i = 0; i < 3; ++i) {
        const watched_disk::range written{i * slice * line_size, slice * line_size};
        EXPECT_EQ(target.begun[i].what, written);
        EXPECT_EQ(target.begun[i].calls_before, i + 1);
    }
}

// The pages of a slice that contain some line are read and written once, in runs that include small
// gaps. The next slice is requested if half of this one is needed.
TEST_P(journal_merge, asks_for_the_pages_that_it_needs_once) {
    constexpr u64 pages = slice / 64;
    begin(4 * slice);
    std::vector<u64> lines;
    std::vector<watched_disk::range> rows;
    std::vector<watched_disk::range> ahead;
    for (u64 s = 0; s < 4; ++s) {
        const u64 density = 1 + random() % 8;
        std::vector<bool> touched(pages);
        for (u64 p = 0; p < pages; ++p) {
            // Half of the pages, one less, or a random choice; never none, and never the first
            // page.
            const bool is_next = s == 1   ? p < pages / 2
                                 : s == 2 ? p < pages / 2 - 1
                                          : random() % 8 < density;
            if (!is_next && p != 5) continue;
            touched[p] = true;
            lines.push_back(s * slice + p * 64 + random() % 64);
        }
        for (u64 p = 0; p + 1 < pages; ++p) {
            for (u64 gap = 1; gap <= 2 && touched[p] && p + gap + 1 < pages; ++gap) {
                if (!touched[p + gap + 1]) continue;
                for (u64 g = 1; g <= gap; ++g) touched[p + g] = true;
            }
        }
        for (u64 p = 0; p < pages; ++p) {
            if (!touched[p]) continue;
            const u64 offset = s * slice * line_size + p * journal::page;
            if (p != 0 && touched[p - 1]) {
                rows.back().second += journal::page;
            } else {
                rows.emplace_back(offset, journal::page);
            }
        }
        const auto needed = std::count(touched.begin(), touched.end(), true);
        const u64 next = (s + 1) * slice * line_size;
        if (s < 3 && 2 * needed >= static_cast<long>(pages)) {
            ahead.emplace_back(next, slice * line_size);
        }
    }
    commit(lines);
    watched_disk target(base);
    merge_into(target);
    EXPECT_EQ(target.reads, rows);
    EXPECT_EQ(target.writes, rows);
    std::vector<watched_disk::range> asked;
    for (const auto& hint : target.asked_ahead) asked.push_back(hint.what);
    EXPECT_EQ(asked, ahead);
}

TEST_P(journal_merge, reads_of_a_chunk_its_runs_and_what_it_has_in_each_slice) {
    begin(3 * slice);
    commit({1, slice - 1});
    commit({slice - 1, slice, slice + 1});
    commit({2 * slice});
    const auto found = journal::scan(disk);
    ASSERT_TRUE(found);
    watched_disk journal(disk.now());
    lab::model_disk target(base);
    ASSERT_TRUE(journal::merge(journal, found->chunks, target));
    ASSERT_EQ(journal.reads.size(), 3U + 4U);
    std::vector<watched_disk::range> lines;
    for (const auto& [chunk, from, count] :
         {std::array<u64, 3>{0, 0, 2}, {1, 0, 1}, {1, 1, 2}, {2, 0, 1}}) {
        const journal::chunk_place& c = found->chunks[chunk];
        lines.emplace_back(c.offset + sizeof(journal::chunk_header) + journal::runs_bytes(c.runs) +
                               from * line_size,
                           count * line_size);
    }
    EXPECT_TRUE(std::equal(lines.begin(), lines.end(), journal.reads.begin() + 3));
}

// Runs that overlap, go back, have no lines, or fewer than the chunk has.
TEST_P(journal_merge, of_whatever_runs_does_as_if_one_after_the_other) {
    for (int turn = 0; turn < 60; ++turn) {
        base = some_bytes((200 + random() % 100) * line_size);
        const u64 lines = base.size() / line_size;
        disk.now() = some_bytes(64 * journal::page);
        std::vector<journal::chunk_place> chunks(1 + random() % 4);
        u64 at = 0;
        u64 named = 0;  // number of lines in the runs of the newest chunk
        for (journal::chunk_place& c : chunks) {
            std::vector<u64> runs;
            named = 0;
            const bool is_sorted = random() % 2 == 0;
            for (u64 line = 0, i = 1 + random() % 6; i != 0; --i) {
                line = is_sorted ? line + random() % 20 : random() % (lines - 20);
                const u64 count = random() % 4 == 0 ? 0 : 1 + random() % 20;
                runs.push_back(journal::pack_run(line, count));
                named += count;
                line += count;
            }
            c.lines = static_cast<u32>(named);
            c.lines += random() % 4 == 0 ? 1 : 0;
            c.runs = static_cast<u32>(runs.size());
            c.offset = at;
            std::memcpy(disk.now().data() + at + sizeof(journal::chunk_header), runs.data(),
                        runs.size() * sizeof(u64));
            at = align_up(at + c.bytes(), journal::page);
        }
        lab::model_disk merged(base);
        ASSERT_TRUE(journal::merge(disk, chunks, merged));
        EXPECT_TRUE(merged.now() == one_after_the_other(chunks)) << "turn " << turn;
        // Now the newest chunk names one line more than it has, as many, or one less.
        chunks.back().lines = static_cast<u32>(std::max<u64>(named + random() % 3, 1) - 1);
        const auto again = journal::merge(disk, chunks, merged);
        const u64 has = chunks.back().lines;
        ASSERT_EQ(again.has_value(), named <= has) << named << " of " << has;
        if (!again) {
            EXPECT_EQ(again.error().code, errc::corrupt);
        }
    }
}

TEST_P(journal_merge, of_lines_behind_the_end_of_the_base_is_an_error) {
    begin(100);
    commit({3, 98, 99});
    for (const u64 size : {u64{98}, u64{99}, u64{100}, u64{101}}) {
        base = bytes(size * line_size);
        const auto found = journal::scan(disk);
        lab::model_disk target(base);
        const auto done = journal::merge(disk, found->chunks, target);
        ASSERT_EQ(done.has_value(), size >= 100) << size;
        if (done) continue;
        EXPECT_EQ(done.error().code, errc::corrupt);
        EXPECT_EQ(target.now(), base) << "something was written";
    }
}

INSTANTIATE_TEST_SUITE_P(seeds, journal_merge, ::testing::Range(u64{1}, u64{6}));

}  // namespace hf::test
