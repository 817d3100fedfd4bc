// lane.hpp: what one thread brings along into an epoch: its place at the gate, its dirty lines, its
// log.
//
// Purpose. A lane is owned by one thread at a time and outlives it: the next thread takes it over.
// It lists the cache lines that the thread has dirtied in the running epoch; exactly these are
// written back at the epoch's end (user space cannot wbinvd, paper 000 section 4, so the first
// touch, which passes through the log check anyway, notes the line).
//
// Two kinds of lines, because they are flushed at different times:
//  once    lines whose every write is noted (value records, block headers). They may be written
//  back at any
//          time after the write; the owner does so by the batch, long before the barrier, with one
//          fence each.
//  sticky  lines of which only the first touch in an epoch is noted (nodes, logged cells). A line
//  may be
//          dirtied again at any moment until the barrier, so it is written back inside it.
//
// When to write back early. On the processors measured, clwb takes the line out of the cache (a
// reload costs a hundred nanoseconds), so early is not free for lines that are still in use. `once`
// batches are large, and sticky lines are written back ahead only when there are so many that the
// barrier would take long.
//
// Invariants.
//  L1  A line that was stored to in the running epoch is in a list of some lane, or was written
//  back and
//      fenced after its last store.
//  L2  Only the owner appends; the lists are read by others only while the gate is closed.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/bits.hpp"
#include "checkpoint/external_log.hpp"
#include "persist/medium.hpp"
#include "persist/trace.hpp"

namespace hf {

inline constexpr u32 max_lanes = 256;

class alignas(64) lane {
   public:
    /// Nonzero while its owner is inside an operation. In a line of its own: the gate's leader
    /// polls it.
    alignas(64) std::atomic<u32> inside{0};

    /// Offset of a large value that the owner reads outside of an operation; 0: none. Its space is
    /// not reused.
    alignas(64) std::atomic<u64> pinned{0};

    alignas(64) u32 index = 0;
    bool track =
        false;  ///< whether dirty lines are noted at all (durable discipline, medium that flushes)
    u64 epoch = 0;  ///< epoch of the running operation
    std::byte* base = nullptr;
    medium med;
    log_writer log;
    void* allocator_state = nullptr;  ///< of alloc/, volatile

    /// Anything written in this epoch by this lane? Set by the owner, cleared at the epoch's end.
    std::atomic<bool> wrote{false};

    void mark_written() noexcept {
        if (!wrote.load(std::memory_order_relaxed)) wrote.store(true, std::memory_order_relaxed);
    }

    /// Notes [p, p + n) as written just now; every later write to it is noted again.
    void note_once(const void* p, std::size_t n) noexcept {
        if (!track) return;
        trace::noted(p, n);
        const u64 first = offset(p) / line_size;
        const u64 last = (offset(p) + n - 1) / line_size;
        for (u64 l = first; l <= last; ++l) {
            // Neighbours are often written one after the other; the list is flushed after both.
            if (once_count_ != 0 && once_[once_count_ - 1] == l) continue;
            if (once_count_ == once_capacity) flush_once();
            once_[once_count_++] = l;
        }
    }

    /// Notes [p, p + n) as dirty for the rest of the epoch. Without memory for the list the process
    /// ends, as in a crash: the caller holds a node's lock, and what it changes is half done.
    void note_sticky(const void* p, std::size_t n) noexcept {
        if (!track) return;
        trace::noted(p, n);
        const u64 first = offset(p) / line_size;
        const u64 last = (offset(p) + n - 1) / line_size;
        for (u64 l = first; l <= last; ++l) sticky_.push_back(l);
        if (sticky_.size() >= preflushed_ + preflush_lag) [[unlikely]]
            preflush();
    }

    /// Writes the `once` lines back and fences.
    void flush_once() noexcept {
        if (once_count_ == 0) return;
        med.flush_lines(base, once_.data(), once_count_);
        med.fence();
        once_count_ = 0;
    }

    [[nodiscard]] const std::vector<u64>& sticky() const noexcept { return sticky_; }
    [[nodiscard]] std::span<const u64> once() const noexcept { return {once_.data(), once_count_}; }
    /// The lists are empty again; the gate is closed.
    void reset_lists() noexcept {
        sticky_.clear();
        preflushed_ = 0;
        once_count_ = 0;
        wrote.store(false, std::memory_order_relaxed);
    }

   private:
    static constexpr std::size_t once_capacity = 2048;
    static constexpr std::size_t preflush_batch = 512;
    static constexpr std::size_t preflush_lag = std::size_t{1} << 16;  // about 0.5 ms of write-back

    [[nodiscard]] u64 offset(const void* p) const noexcept {
        return static_cast<u64>(static_cast<const std::byte*>(p) - base);
    }

    // The oldest sticky lines are written back early and unfenced. They are written back again
    // inside the barrier, where a clean line costs less than a dirty one.
    void preflush() noexcept {
        med.flush_lines(base, sticky_.data() + preflushed_, preflush_batch);
        preflushed_ += preflush_batch;
    }

    std::size_t once_count_ = 0;
    std::size_t preflushed_ = 0;
    std::vector<u64> sticky_;
    std::array<u64, once_capacity> once_{};
};

}  // namespace hf
