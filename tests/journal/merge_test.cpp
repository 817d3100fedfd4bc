// What merge() makes of records is what writing them one after the other makes of them.
#include "journal/merge.hpp"

#include "base/random.hpp"
#include "crashlab/disk/model_disk.hpp"
#include "journal/apply.hpp"
#include "journal/core.hpp"
#include "journal/scan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hf::test {
namespace {

using lab::bytes;

constexpr u64 slice = (u64{1} << 20) / line_size;  // lines
constexpr journal::geometry shape{64 * journal::page, 128};

/// Writes down what is asked of a disk.
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
        std::size_t calls_before;  ///< of the kind that it is about
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
        base = bytes(lines * line_size);
        for (std::byte& b : base) b = static_cast<std::byte>(random());
        auto started = journal::core::start(disk, unused, {{7}, 3}, 0, shape);
        ASSERT_TRUE(started);
        core = std::move(*started);
    }

    void commit(const std::vector<u64>& lines) {
        bytes data(lines.size() * line_size);
        for (std::byte& b : data) b = static_cast<std::byte>(random());
        ASSERT_TRUE(core->commit({++epoch, lines, data.data()}));
    }

    /// Some lines, each once, in rows of up to `row`.
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

    /// Merged, and one after the other.
    void expect_equal() {
        const auto found = journal::scan(disk);
        ASSERT_TRUE(found) << found.error().to_string();
        bytes expected = base;
        ASSERT_TRUE(journal::apply(
            disk, found->chunks,
            [&expected](u64 offset, std::span<const std::byte> run) -> result<void> {
                std::copy(run.begin(), run.end(), expected.begin() + static_cast<long>(offset));
                return {};
            }));
        lab::model_disk merged(base);
        const auto written = journal::merge(disk, found->chunks, merged);
        ASSERT_TRUE(written) << written.error().to_string();
        EXPECT_TRUE(merged.now() == expected) << "seed " << GetParam();
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
    lines.push_back(2 * slice);  // alone there
    commit(lines);
    watched_disk target(base);
    merge_into(target);
    // Of the second slice before the first is read, of the third before the second is.
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

INSTANTIATE_TEST_SUITE_P(seeds, journal_merge, ::testing::Range(u64{1}, u64{6}));

}  // namespace hf::test
