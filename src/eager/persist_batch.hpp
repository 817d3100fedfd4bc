// eager/persist_batch.hpp: the lines that one operation has to make durable, with few fences.
//
// Purpose. An operation records the lines it stored to, and the lines it read that may be volatile.
// order() and fence() flush each recorded line once, however often it was stored to, and wait once.
// Without recorded lines they do nothing. A line may be recorded before or after its store, as long
// as the store precedes the next order() or fence().
//
// Invariants.
//  B1  After order(), no later store of this thread can be durable without the lines recorded
//      before. After fence(), all of them are durable.
//  B2  Between two fences a line is flushed once.
//
// On the medium `file` a line is not flushed but recorded in the lane of the running epoch, which
// makes it durable at its end (epoch/lane.hpp); fences do nothing.
//
// On eADR order() is free unless flushes were requested explicitly: a cached store is as good as
// durable, and x86 keeps stores in order.
//
// `no_lines` has the same interface and does nothing.
#pragma once

#include "epoch/lane.hpp"
#include "persist/medium.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace hf {

class persist_batch {
   public:
    explicit persist_batch(const medium& m) noexcept : medium_(m), notes_(m.flushes()) {}
    persist_batch(const persist_batch&) = delete;
    persist_batch& operator=(const persist_batch&) = delete;

    /// Records into the epoch's lane from now on. The caller has entered the epoch.
    void note_in(lane& mine) noexcept { lane_ = &mine; }

    void add(const void* p, std::size_t n) noexcept {
        pending_ = true;
        if (!notes_ || n == 0) return;
        const u64 first = align_down(reinterpret_cast<u64>(p), line_size);
        const u64 last = align_down(reinterpret_cast<u64>(p) + n - 1, line_size);
        if ((last - first) / line_size >= lines_.size()) {
            flush(p, n);  // already stored: only small ranges are recorded ahead of their stores
            return;
        }
        for (u64 line = first; line <= last; line += line_size) add_line(line);
    }
    /// Records one line; the common case.
    void add(const void* p) noexcept {
        pending_ = true;
        if (notes_) add_line(align_down(reinterpret_cast<u64>(p), line_size));
    }

    /// Copies aligned words to unreachable memory, with non-temporal stores where they are faster.
    void copy_fresh(void* to, const void* from, std::size_t n) noexcept {
        pending_ = true;
        if (lane_ != nullptr) [[unlikely]] {
            std::memcpy(to, from, n);
            return note_in_lane(to, n);
        }
        medium_.stream(to, from, n);
    }
    /// Zeroes aligned words of unreachable memory like copy_fresh().
    void write_zeros(void* p, std::size_t n) noexcept {
        static constexpr std::array<std::byte, 4096> zeros{};
        pending_ = true;
        auto* to = static_cast<std::byte*>(p);
        for (std::size_t done = 0; done < n; done += zeros.size()) {
            medium_.stream(to + done, zeros.data(), std::min(zeros.size(), n - done));
        }
    }

    /// True if lines are recorded that may be volatile.
    [[nodiscard]] bool has_pending() const noexcept { return pending_; }
    void order() noexcept {
        if (!pending_) return;
        flush();
        medium_.order();
    }
    void fence() noexcept {
        if (!pending_) return;
        flush();
        medium_.fence();
    }
    /// Drops the recorded lines, because they will not be stored to.
    void forget() noexcept {
        count_ = 0;
        pending_ = false;
    }

   private:
    void add_line(u64 line) noexcept {
        for (unsigned i = count_; i > 0; --i) {
            if (lines_[i - 1] == line) return;
        }
        if (count_ == lines_.size()) flush();
        pending_ = true;
        lines_[count_++] = line;
    }
    void flush(const void* p, std::size_t n) noexcept {
        if (lane_ != nullptr) [[unlikely]] {
            return note_in_lane(p, n);
        }
        medium_.flush(p, n);
    }
    void flush() noexcept {
        if (lane_ != nullptr) [[unlikely]] {
            note_all_in_lane();
        } else {
            medium_.flush_lines(lines_.data(), count_);
        }
        count_ = 0;
        pending_ = false;
    }
    // Not inlined: with a lane, the disk dominates.
    [[gnu::cold, gnu::noinline]] void note_in_lane(const void* p, std::size_t n) noexcept {
        lane_->mark_written();
        lane_->note_once(p, n);
    }
    [[gnu::cold, gnu::noinline]] void note_all_in_lane() noexcept {
        for (unsigned i = 0; i < count_; ++i) {
            note_in_lane(reinterpret_cast<const void*>(lines_[i]), 1);
        }
    }

    const medium& medium_;
    const bool notes_;
    lane* lane_ = nullptr;  ///< nullptr: a fence makes lines durable
    bool pending_ = false;
    unsigned count_ = 0;
    std::array<u64, 32> lines_;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by count_
};

class no_lines {
   public:
    explicit no_lines(const medium&) noexcept {}
    void note_in(lane&) noexcept {}
    void add(const void*, std::size_t) noexcept {}
    void add(const void*) noexcept {}
    void copy_fresh(void* to, const void* from, std::size_t n) noexcept {
        std::memcpy(to, from, n);
    }
    void write_zeros(void* p, std::size_t n) noexcept { std::memset(p, 0, n); }
    [[nodiscard]] static constexpr bool has_pending() noexcept { return false; }
    void order() noexcept {}
    void fence() noexcept {}
    void forget() noexcept {}
};

}  // namespace hf
