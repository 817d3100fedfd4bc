// eager/persist_batch.hpp: the lines that one operation has to make durable, under few fences.
//
// Purpose. An operation notes what it stores to, and what it has read that may not be durable yet.
// order() and fence() flush each noted line once, whatever was stored to it how often, and wait
// once. Nothing noted, nothing done. A line is noted before or after its store: what counts is that
// the store comes before the next order() or fence().
//
// Invariants.
//  B1  Behind order() no store of this thread that follows can be durable without what was noted
//      before. Behind fence() all of it is durable.
//  B2  Between two fences a line is flushed once.
//
// On the medium `file` flushing is noting in the lane of the running epoch, which makes the lines
// durable at its end (epoch/lane.hpp); a fence is nothing.
//
// On eADR order is free: a cached store is as good as durable, and x86 keeps stores in order.
//
// `no_lines` does nothing, for what need not survive.
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

    /// By who is inside of an epoch, until it leaves.
    void note_in(lane& mine) noexcept { lane_ = &mine; }

    void add(const void* p, std::size_t n) noexcept {
        unsure_ = true;
        if (!notes_ || n == 0) return;
        const u64 first = align_down(reinterpret_cast<u64>(p), line_size);
        const u64 last = align_down(reinterpret_cast<u64>(p) + n - 1, line_size);
        if ((last - first) / line_size >= lines_.size()) {
            flush(p, n);  // written by now: nobody notes so much ahead of its stores
            return;
        }
        for (u64 line = first; line <= last; line += line_size) add_line(line);
    }
    /// A line; the common case.
    void add(const void* p) noexcept {
        unsure_ = true;
        if (notes_) add_line(align_down(reinterpret_cast<u64>(p), line_size));
    }

    /// Past the caches, where that pays: aligned words of memory that nobody reaches yet.
    void copy_fresh(void* to, const void* from, std::size_t n) noexcept {
        unsure_ = true;
        if (lane_ != nullptr) [[unlikely]] {
            std::memcpy(to, from, n);
            return note_in_lane(to, n);
        }
        medium_.stream(to, from, n);
    }
    /// The same of zeros.
    void write_zeros(void* p, std::size_t n) noexcept {
        static constexpr std::array<std::byte, 4096> zeros{};
        unsure_ = true;
        auto* to = static_cast<std::byte*>(p);
        for (std::size_t done = 0; done < n; done += zeros.size()) {
            medium_.stream(to + done, zeros.data(), std::min(zeros.size(), n - done));
        }
    }

    /// Whether there is anything to wait for.
    [[nodiscard]] bool is_unsure() const noexcept { return unsure_; }
    void order() noexcept {
        if (!unsure_) return;
        flush();
        medium_.order();
    }
    void fence() noexcept {
        if (!unsure_) return;
        flush();
        medium_.fence();
    }
    /// What was noted will not be stored to after all.
    void forget() noexcept {
        count_ = 0;
        unsure_ = false;
    }

   private:
    void add_line(u64 line) noexcept {
        for (unsigned i = count_; i > 0; --i) {
            if (lines_[i - 1] == line) return;
        }
        if (count_ == lines_.size()) flush();
        unsure_ = true;
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
        unsure_ = false;
    }
    // Out of the way: whoever has a lane waits for a disk.
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
    lane* lane_ = nullptr;  ///< nullptr: a fence makes durable
    bool unsure_ = false;
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
    [[nodiscard]] static constexpr bool is_unsure() noexcept { return false; }
    void order() noexcept {}
    void fence() noexcept {}
    void forget() noexcept {}
};

}  // namespace hf
