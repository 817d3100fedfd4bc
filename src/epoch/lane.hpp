// lane.hpp: a thread's state in an epoch: its flag at the gate, and its list of dirty lines.
//
// Purpose. A lane is owned by one thread at a time and outlives it: the next thread takes it over
// (sync/thread_slots.hpp). It lists the cache lines that the thread has dirtied in the running
// epoch; exactly these are made durable at the epoch's end. User space cannot flush the whole cache
// as the checkpointing paper does (section 4); so the first touch of a line, which every discipline
// detects anyway, is recorded here. Other modules keep their data of each thread in arrays of their
// own, indexed by the lane's index.
//
// Two kinds of lines, because they are flushed at different times:
//  once    lines whose every write is recorded (value records, block headers). They may be written
//          back at any time after the write; the owner does so by the batch, long before the
//          boundary, with one fence each.
//  sticky  lines of which only the first touch in an epoch is recorded (nodes, logged cells). A
//          line may be dirtied again at any moment until the boundary, so it is written back inside
//          it.
//
// When to write back early. On the processors measured, clwb takes the line out of the cache (a
// reload costs a hundred nanoseconds), so early is not free for lines that are still in use. `once`
// batches are large, and sticky lines are written back ahead only when there are so many that the
// boundary would take long.
//
// Invariants.
//  L1  A line that was stored to in the running epoch is in a list of some lane, or was written
//      back and fenced after its last store.
//  L2  Only the owner appends; the lists are read by others, and emptied, only while the gate is
//      closed and all flags are down.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"
#include "persist/medium.hpp"
#include "persist/trace.hpp"
#include "sync/quiescence.hpp"
#include "sync/thread_slots.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

namespace hf {

inline constexpr u32 max_lanes = 256;

class alignas(64) lane {
   public:
    /// Up while its owner is inside an epoch: gate.hpp.
    presence_flag presence;

    /// Offset of a large value that the owner reads outside of an operation; 0: none. Its space is
    /// not reused.
    alignas(64) std::atomic<u64> pinned{0};
    /// 1 while the owner waits at the gate to enter (gate.hpp, B6).
    std::atomic<u32> waits{0};

    alignas(64) u32 index = 0;
    /// Sections of the owner that are open one inside the other; 0: it is outside. For the owner.
    u32 depth = 0;
    /// The place in the program from which the owner entered last, for messages: for example the
    /// return address of its outermost acquire. 0: the owner sets none.
    std::atomic<u64> where{0};
    /// Whether dirty lines are recorded: the region is durable, and its medium needs write-backs.
    bool track = false;
    u64 epoch = 0;  ///< the epoch that the owner is inside
    std::byte* base = nullptr;
    medium med;

    /// Anything written in this epoch by this lane? Set by the owner, cleared at the epoch's end.
    std::atomic<bool> wrote{false};

    void mark_written() noexcept {
        if (!wrote.load(std::memory_order_relaxed)) wrote.store(true, std::memory_order_relaxed);
    }

    /// Records [p, p + n) as just written (`once`); the owner calls it after each write to it.
    void note_once(const void* p, std::size_t n) noexcept {
        if (!track) return;
        HF_ASSERT(may_append(), "L2: a line is noted by who is outside of the epoch");
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

    /// As note_once(), but for one line that is written repeatedly: skips it if a small
    /// direct-mapped cache (`listed_`) says that the list has it.
    void note_line_once(const void* p) noexcept {
        if (!track) return;
        HF_ASSERT(may_append(), "L2: a line is noted by who is outside of the epoch");
        trace::noted(p, line_size);
        const u64 l = offset(p) / line_size;
        u64& known = listed_[l % listed_.size()];
        if (known == l) return;
        if (once_count_ == once_capacity) flush_once();
        known = l;
        once_[once_count_++] = l;
    }

    /// Notes [p, p + n) as dirty for the rest of the epoch. Without memory for the list the process
    /// ends, as in a crash: the caller holds a node's lock, and what it changes is half done.
    void note_sticky(const void* p, std::size_t n) noexcept {
        if (!track) return;
        HF_ASSERT(may_append(), "L2: a line is noted by who is outside of the epoch");
        trace::noted(p, n);
        const u64 first = offset(p) / line_size;
        const u64 last = (offset(p) + n - 1) / line_size;
        for (u64 l = first; l <= last; ++l) sticky_.push_back(l);
        if (sticky_.size() >= preflushed_ + preflush_lag) [[unlikely]] {
            preflush();
        }
    }

    /// Writes the `once` lines back and fences.
    void flush_once() noexcept {
        if (once_count_ == 0) return;
        med.flush_lines(base, once_.data(), once_count_);
        med.fence();
        forget_once();
    }

    [[nodiscard]] const std::vector<u64>& sticky() const noexcept { return sticky_; }
    [[nodiscard]] std::span<const u64> once() const noexcept { return {once_.data(), once_count_}; }
    /// The lists are empty again (L2).
    void reset_lists() noexcept {
        sticky_.clear();
        preflushed_ = 0;
        forget_once();
        wrote.store(false, std::memory_order_relaxed);
    }

   private:
    /// The owner is inside; lane 0 belongs to the leader at the closed gate.
    [[nodiscard]] bool may_append() const noexcept { return index == 0 || presence.is_up_here(); }

    void forget_once() noexcept {
        if (once_count_ == 0) return;
        once_count_ = 0;
        listed_.fill(no_line);
    }

    static constexpr u64 no_line = ~u64{0};
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
    /// Lines that are in that list, by the lowest bits of their number: some of them.
    std::array<u64, 64> listed_ = [] {
        std::array<u64, 64> none{};
        none.fill(no_line);
        return none;
    }();
};

using lanes = thread_slots<lane>;

/// A piece of some lane's list.
struct line_chunk {
    const u64* lines;
    std::size_t count;
};
/// Lines to a chunk, at most: what one thread takes at a time.
inline constexpr std::size_t lines_per_chunk = 2048;

/// The lists of all lanes; the gate is closed.
void gather(const lanes& all, std::vector<line_chunk>& into);
/// The same lines, cut into chunks.
void cut(std::span<const u64> lines, std::vector<line_chunk>& into);

}  // namespace hf
