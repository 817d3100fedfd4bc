#include "journal/ring.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <array>

namespace hf::journal {

namespace {

/// Zeros ahead: enough for some hundred small records, and written in one or two milliseconds.
constexpr u64 ahead = u64{1} << 20;
alignas(page) constexpr std::array<std::byte, u64{64} << 10> zeros{};

std::span<const std::byte> bytes_of(const void* p, std::size_t n) {
    return {static_cast<const std::byte*>(p), n};
}

}  // namespace

ring::ring(const identity& who, u64 segment_bytes, u64 segments)
    : segment_bytes_(segment_bytes), seed_(seed_of(who)), at_(segment_bytes) {
    HF_CHECK(segment_bytes % page == 0 && segment_bytes != 0, "a segment is made of whole pages");
    while (segments_ != segments) add_segment();
}

void ring::add_segment() {
    free_.push_back(segments_++);
    touched_.push_back(0);
}

// Plans a chunk with as many lines as fit, adjacent ones in one run.
ring::planned ring::plan_chunk(const record& r, u64 from, u64 room) {
    planned p{false, 0, from, runs_.size(), 0, 0};
    for (u64 i = from; i < r.lines.size(); ++i) {
        const u64 line = r.lines[i];
        const bool follows = p.runs != 0 && run_count(runs_.back()) < max_run &&
                             run_line(runs_.back()) + run_count(runs_.back()) == line;
        if (chunk_bytes(p.runs + (follows ? 0 : 1), p.lines + u64{1}) > room) break;
        if (follows) {
            ++runs_.back();
        } else {
            runs_.push_back(pack_run(line, 1));
            ++p.runs;
        }
        ++p.lines;
    }
    return p;
}

void ring::plan(const record& r) {
    HF_CHECK(!r.lines.empty(), "a record holds a line at least");
    plan_.clear();
    runs_.clear();
    u64 at = at_;
    for (u64 from = 0; from < r.lines.size(); from += plan_.back().lines) {
        const bool opens = at == segment_bytes_;
        if (opens) at = 0;
        planned p = plan_chunk(r, from, segment_bytes_ - at);
        p.opens_segment = opens;
        p.within = at;
        plan_.push_back(p);
        at = align_up(at + chunk_bytes(p.runs, p.lines), page);
    }
}

u64 ring::missing(const record& r) {
    plan(r);
    const auto needed = static_cast<u64>(std::count_if(
        plan_.begin(), plan_.end(), [](const planned& p) { return p.opens_segment; }));
    const u64 wanted = needed == 0 ? 0 : needed + 1;  // R3
    return std::max<u64>(wanted, free_.size()) - free_.size();
}

result<void> ring::append(block_file& file, const record& r) {
    plan(r);
    std::vector<used_segment> fresh;
    std::vector<chunk_place> into_newest;
    u64 written = 0;
    half_written_ = true;
    for (u64 i = 0; i < plan_.size(); ++i) {
        const planned& p = plan_[i];
        if (p.opens_segment) {
            HF_CHECK(fresh.size() + 1 < free_.size(), "the journal's ring is full");
            fresh.push_back({free_[fresh.size()], {}});
        }
        const u64 segment = fresh.empty() ? used_.back().index : fresh.back().index;
        chunk_place place{first_segment + segment * segment_bytes_ + p.within,
                          r.epoch,
                          {next_record_, i},
                          static_cast<u32>(plan_.size()),
                          p.runs,
                          p.lines};
        chunk_header header{chunk_magic, 0,      next_record_, r.epoch,   static_cast<u32>(i),
                            place.count, p.runs, p.lines,      segments_, 0};
        const u64 run_area = p.runs * sizeof(u64);
        std::array<std::span<const std::byte>, 4> pieces{
            bytes_of(&header, sizeof header).subspan(offsetof(chunk_header, record)),
            bytes_of(runs_.data() + p.first_run, run_area),
            std::span(zeros).first(runs_bytes(p.runs) - run_area),
            bytes_of(r.data + p.first_line * line_size, p.lines * line_size)};
        header.checksum = checksum64(pieces, seed_);
        pieces[0] = bytes_of(&header, sizeof header);
        if (auto ok = file.write(place.offset, pieces); !ok) return ok;
        (fresh.empty() ? into_newest : fresh.back().chunks).push_back(place);
        written += place.bytes();
        u64& touched = touched_[segment];
        touched = std::max(touched, p.within + place.bytes());
    }
    const planned& last = plan_.back();
    const u64 end = align_up(last.within + chunk_bytes(last.runs, last.lines), page);
    const auto filled =
        write_ahead(file, fresh.empty() ? used_.back().index : fresh.back().index, end);
    if (!filled) return tl::unexpected(filled.error());
    written += *filled;
    if (!into_newest.empty()) {
        auto& newest = used_.back().chunks;
        newest.insert(newest.end(), into_newest.begin(), into_newest.end());
    }
    free_.erase(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(fresh.size()));
    for (auto& s : fresh) used_.push_back(std::move(s));
    at_ = end;
    written_ += written;
    ++next_record_;
    half_written_ = false;
    return {};
}

/// Writes zeros after the newest record, which ends at `end` of a segment. Returns the bytes
/// written; 0 if the file system has no space.
result<u64> ring::write_ahead(block_file& file, u64 segment, u64 end) {
    u64& touched = touched_[segment];
    if (touched > end) return 0;
    const u64 start = touched;
    const u64 until = std::min(end + ahead, segment_bytes_);
    while (touched < until) {
        const auto piece = std::span(zeros).first(std::min(until - touched, zeros.size()));
        auto ok = file.write(first_segment + segment * segment_bytes_ + touched, piece);
        if (!ok) {
            if (ok.error().code == errc::no_space) break;  // the record itself was written
            return tl::unexpected(ok.error());
        }
        touched += piece.size();
    }
    return touched - start;
}

bool ring::seal() noexcept {
    if (half_written_) return false;
    at_ = segment_bytes_;
    return true;
}

void ring::free_oldest(u64 n) {
    for (; n != 0; --n) {
        free_.push_back(used_.front().index);
        used_.pop_front();
        if (used_.empty()) at_ = segment_bytes_;
    }
}

}  // namespace hf::journal
