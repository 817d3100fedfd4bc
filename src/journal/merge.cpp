#include "journal/merge.hpp"

#include "journal/apply.hpp"
#include "journal/runs.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

namespace hf::journal {

namespace {

constexpr u64 slice_bytes = u64{1} << 20;
constexpr u64 slice_lines = slice_bytes / line_size;
constexpr u64 slice_pages = slice_bytes / page;
/// Untouched pages between touched ones that are written with them: an additional request costs the
/// disk and the processors as much as this number of pages.
constexpr u64 small_gap = 2;

/// Adjacent lines.
struct piece {
    u64 line;
    u64 count;
};

/// The position of the walk through the base in one chunk.
class cursor {
   public:
    cursor(const chunk_place& place, std::vector<u64> runs)
        : runs_(std::move(runs)), source_(lines_offset(place)) {}

    [[nodiscard]] bool is_sorted() const {
        u64 end = 0;
        return std::all_of(runs_.begin(), runs_.end(), [&end](u64 run) {
            const bool behind = run_line(run) >= end && run_count(run) != 0;
            end = run_line(run) + run_count(run);
            return behind;
        });
    }
    [[nodiscard]] bool at_end() const noexcept { return at_ == runs_.size(); }
    /// One past its last line.
    [[nodiscard]] u64 end_line() const noexcept {
        return runs_.empty() ? 0 : run_line(runs_.back()) + run_count(runs_.back());
    }
    /// The next line; not at the end.
    [[nodiscard]] u64 line() const noexcept { return run_line(runs_[at_]) + within_; }
    /// The offset of that line in the journal.
    [[nodiscard]] u64 source() const noexcept { return source_; }

    /// Appends its lines below `end` to the pieces; returns their number.
    u64 take(u64 end, std::vector<piece>& pieces) {
        u64 taken = 0;
        for (; !at_end() && line() < end; within_ = 0, ++at_) {
            const u64 rest = run_count(runs_[at_]) - within_;
            const u64 count = std::min(rest, end - line());
            pieces.push_back({line(), count});
            taken += count;
            if (count != rest) {
                within_ += count;
                break;
            }
        }
        source_ += taken * line_size;
        return taken;
    }

   private:
    std::vector<u64> runs_;
    std::size_t at_ = 0;
    u64 within_ = 0;  ///< lines of runs_[at_] that were taken
    u64 source_;
};

class merger {
   public:
    merger(block_file& journal, block_file& base, u64 base_size)
        : journal_(journal), base_(base), base_size_(base_size) {}

    result<bool> open(std::span<const chunk_place> chunks);
    result<void> run();
    [[nodiscard]] u64 written() const noexcept { return written_; }
    /// One past the last line of any chunk. The base file is at least this long (J0).
    [[nodiscard]] u64 end_line() const noexcept { return last_end_; }

   private:
    /// A chunk's lines in the slice.
    struct part {
        u64 source;
        u64 lines;
        std::size_t first_piece;
        std::size_t end_piece;
    };

    void wait_for_its_slice(std::size_t chunk);
    void take_due(u64 end);
    void gather(u64 end);
    void mark_touched();
    void close_small_gaps();
    void read_ahead();
    result<void> fill(const part& p);
    /// Calls `work` with each run of touched pages: its offset in the base, and its bytes in
    /// memory.
    template <class Work>
    result<void> for_each_row(Work work);

    block_file& journal_;
    block_file& base_;
    u64 base_size_;
    u64 written_ = 0;
    std::vector<cursor> cursors_;  ///< oldest chunk first
    /// The chunks that are not at their end, by their next line, lowest first.
    std::priority_queue<std::pair<u64, std::size_t>, std::vector<std::pair<u64, std::size_t>>,
                        std::greater<>>
        waiting_;
    std::vector<std::size_t> due_;  ///< chunks that have lines in the slice
    u64 first_line_ = 0;            ///< of the slice
    std::vector<piece> pieces_;
    std::vector<part> parts_;
    std::bitset<slice_pages> touched_;
    u64 last_end_ = 0;  ///< one past the last line of any chunk
    u64 pages_ = 0;     ///< of the image
    std::unique_ptr<std::byte[]> image_;
    std::vector<std::byte> lines_;
};

/// False: some chunk's lines are not sorted.
result<bool> merger::open(std::span<const chunk_place> chunks) {
    cursors_.reserve(chunks.size());
    for (const chunk_place& place : chunks) {
        std::vector<u64> runs;
        if (auto ok = read_runs(journal_, place, runs); !ok) return tl::unexpected(ok.error());
        cursors_.emplace_back(place, std::move(runs));
        if (!cursors_.back().is_sorted()) return false;
        wait_for_its_slice(cursors_.size() - 1);
        last_end_ = std::max(last_end_, cursors_.back().end_line());
    }
    return true;
}

void merger::wait_for_its_slice(std::size_t chunk) {
    if (!cursors_[chunk].at_end()) waiting_.emplace(cursors_[chunk].line(), chunk);
}

/// Oldest first: the newest value of a line is written last.
void merger::take_due(u64 end) {
    due_.clear();
    for (; !waiting_.empty() && waiting_.top().first < end; waiting_.pop()) {
        due_.push_back(waiting_.top().second);
    }
    std::sort(due_.begin(), due_.end());
}

void merger::gather(u64 end) {
    pieces_.clear();
    parts_.clear();
    take_due(end);
    for (const std::size_t chunk : due_) {
        cursor& c = cursors_[chunk];
        part p{c.source(), 0, pieces_.size(), 0};
        p.lines = c.take(end, pieces_);
        p.end_piece = pieces_.size();
        parts_.push_back(p);
        wait_for_its_slice(chunk);
    }
    mark_touched();
}

void merger::mark_touched() {
    touched_.reset();
    for (const piece& p : pieces_) {
        constexpr u64 page_lines = page / line_size;
        const u64 last = p.line + p.count - 1;
        for (u64 at = (p.line - first_line_) / page_lines; at <= (last - first_line_) / page_lines;
             ++at) {
            touched_.set(at);
        }
    }
    close_small_gaps();
}

void merger::close_small_gaps() {
    u64 gap = slice_pages;  // there is no gap before the slice's first touched page
    for (u64 at = 0; at != slice_pages; ++at) {
        if (!touched_[at]) {
            ++gap;
            continue;
        }
        if (gap > small_gap) gap = 0;
        for (; gap != 0; --gap) touched_.set(at - gap);
    }
}

template <class Work>
result<void> merger::for_each_row(Work work) {
    for (u64 from = 0; from < pages_; ++from) {
        if (!touched_[from]) continue;
        u64 to = from;
        while (to < pages_ && touched_[to]) ++to;
        const std::span bytes(image_.get() + from * page, (to - from) * page);
        if (auto ok = work(first_line_ * line_size + from * page, bytes); !ok) return ok;
        from = to;
    }
    return {};
}

/// Reads the next slice ahead if most of the current one is needed, because then the next one
/// probably is.
void merger::read_ahead() {
    if (waiting_.empty() || 2 * touched_.count() < pages_) return;
    base_.begin_read(align_down(waiting_.top().first, slice_lines) * line_size, slice_bytes);
}

result<void> merger::fill(const part& p) {
    lines_.resize(p.lines * line_size);
    if (auto ok = journal_.read(p.source, lines_); !ok) return ok;
    const std::byte* from = lines_.data();
    for (std::size_t i = p.first_piece; i < p.end_piece; ++i) {
        const u64 bytes = pieces_[i].count * line_size;
        std::memcpy(image_.get() + (pieces_[i].line - first_line_) * line_size, from, bytes);
        from += bytes;
    }
    return {};
}

result<void> merger::run() {
    // Small regions, of which the crash lab creates millions, get a small buffer.
    pages_ = std::min(slice_pages, align_up(last_end_ * line_size, page) / page);
    image_ = std::make_unique_for_overwrite<std::byte[]>(pages_ * page);
    while (!waiting_.empty()) {
        first_line_ = align_down(waiting_.top().first, slice_lines);
        gather(first_line_ + slice_lines);
        read_ahead();
        // The base may end within its last page.
        const auto in_base = [this](u64 offset, std::span<std::byte> row) {
            return row.first(std::min<u64>(row.size(), base_size_ - offset));
        };
        auto read = for_each_row([&](u64 offset, std::span<std::byte> row) {
            return base_.read(offset, in_base(offset, row));
        });
        if (!read) return read;
        for (const part& p : parts_) {
            if (auto ok = fill(p); !ok) return ok;
        }
        auto written = for_each_row([&](u64 offset, std::span<std::byte> row) {
            const auto bytes = in_base(offset, row);
            written_ += bytes.size();
            return base_.write(offset, bytes);
        });
        if (!written) return written;
        base_.begin_write_back(first_line_ * line_size, pages_ * page);
    }
    return {};
}

result<u64> apply_one_by_one(block_file& journal, std::span<const chunk_place> chunks,
                             block_file& base) {
    u64 written = 0;
    auto done = apply(journal, chunks, [&](u64 offset, std::span<const std::byte> bytes) {
        written += bytes.size();
        return base.write(offset, bytes);
    });
    if (!done) return tl::unexpected(done.error());
    return written;
}

}  // namespace

result<u64> merge(block_file& journal, std::span<const chunk_place> chunks, block_file& base) {
    const auto size = base.size();
    if (!size) return tl::unexpected(size.error());
    merger m(journal, base, *size);
    const auto sorted = m.open(chunks);
    if (!sorted) return tl::unexpected(sorted.error());
    if (!*sorted) return apply_one_by_one(journal, chunks, base);
    if (m.end_line() * line_size > *size) {
        return failure({errc::corrupt, "apply the journal", base.name(),
                        "the journal has lines past its end",
                        "restore the region and its journal from a backup"});
    }
    if (auto ok = m.run(); !ok) return tl::unexpected(ok.error());
    return m.written();
}

}  // namespace hf::journal
