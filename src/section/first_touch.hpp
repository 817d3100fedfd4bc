// section/first_touch.hpp: the lines that announced stores have changed since the last cut, and
// their undo log where stores go in place.
//
// Purpose. The first store to a line since the last cut is preceded by a copy of the line in the
// log of the storing thread. Further stores to the line cost a load of its tag. A tag is a byte
// in DRAM for each line of the window: untouched, busy, or touched.
//
//     touch(line):  tag == touched?  ------------------------------------------> store
//                   CAS untouched -> busy,  append to the log, fence,  tag := touched  (release)
//                   busy: another thread is copying the line; wait for it
//
// In a private image (a disk, or private memory over persistent memory) nothing has to be undone:
// a line is claimed likewise, without an entry, and the cut hands the lists to the journal
// (collect()). So no page is protected and no page fault counts stores, and the cut copies the
// lines that changed, not their pages.
//
// Two sections under different locks may store to one line. Without `busy` both would find it
// untouched, and the second could copy the first one's new word into its entry (rule C2).
//
// Invariants.
//  U-a  A line that was stored to since the last cut has a whole, durable entry in some log, made
//       before its first store: the tag is set, with release, after the entry's fence, and a thread
//       that finds it touched loads it with acquire.
//  U-b  A line has one entry in an epoch. So entries can be applied in any order.
//  U-c  At an open gate after a cut all tags are untouched: reset() clears those that the threads'
//       lists name. Tags do not count epochs, so they cannot wrap (rule C8).
//  U-d  Lines of memory that was free at the last cut need no entry: their contents after a crash
//       do not matter, for the cut calls them free. The heap claims those of a large block when it
//       takes the block; they are written back at the cut like all others, before it is durable
//       that the block is taken.
//
// Persist order. section U0: the entry is durable before touch() returns; the rest in group.hpp.
// Bounds. A line is logged once an epoch, in 128 bytes: the log of an epoch is at most twice the
// region (rule C9). Long before the log is full, should_cut() asks for a cut and holds new
// sections. If it is full all the same, the process ends with a message; recovery goes back to the
// last cut.
#pragma once

#include "persist/dirty_set.hpp"
#include "region/region.hpp"
#include "section/gate.hpp"
#include "section/threads.hpp"
#include "section/touched.hpp"
#include "undo/undo_log.hpp"

#include <array>
#include <atomic>
#include <memory>

namespace hf::section {

class first_touch {
   public:
    /// `keeps_log`: stores go in place.
    first_touch(region& r, bool keeps_log);
    first_touch(const first_touch&) = delete;
    first_touch& operator=(const first_touch&) = delete;
    ~first_touch();

    /// Before a store to [p, p + n), by a thread that is inside.
    void touch(thread_record& by, const void* p, std::size_t n,
               u64 epoch) noexcept(!crashes_throw) {
        const u64 first = line_of(p);
        const u64 last = line_of(static_cast<const std::byte*>(p) + n - 1);
        // One after the other they would each wait for memory.
        for (u64 l = first + 1; l <= last && l < first + max_prefetched; ++l) {
            __builtin_prefetch(region_.base() + l * line_size, 1);
        }
        for (u64 l = first; l <= last; ++l) {
            if (tags_[l].load(std::memory_order_acquire) != touched) [[unlikely]] {
                claim(by, l, epoch);
            }
        }
    }

    /// By a thread that is inside and has just taken [p, p + n), which has been free since before
    /// the last cut. Its whole lines count as touched without an entry (U-d).
    void own_fresh(thread_record& by, const void* p, std::size_t n) noexcept;

    /// The gate is closed. Writes the lines of all threads back, and fences (U2).
    void write_back(const thread_table& threads) const noexcept;
    /// Instead, for a private image: the lines of all threads are to be in the next capture.
    static void collect(const thread_table& threads, dirty_set& into);
    /// The gate is closed and the epoch is counted. The lists are empty, and no line is touched.
    void reset(const thread_table& threads) noexcept;

    /// Whether the logs of this epoch are so long that it should end, or one of them can grow no
    /// more: other threads' logs keep their space across epochs.
    [[nodiscard]] bool should_cut() const noexcept {
        return epoch_bytes_.load(std::memory_order_relaxed) > limit_ ||
               is_short_.load(std::memory_order_relaxed);
    }
    /// From here on a log of twice that length holds new sections at the gate.
    void hold_at(gate* entrance) noexcept { gate_ = entrance; }
    /// Lines that were claimed so far.
    [[nodiscard]] u64 lines() const noexcept;
    [[nodiscard]] const std::atomic<u8>* tags() const noexcept { return tags_; }
    [[nodiscard]] u64 log_bytes() const noexcept {
        return keeps_log_ ? 2 * line_size * lines() : 0;
    }

   private:
    static constexpr u64 max_prefetched = 16;
    enum tag : u8 { untouched = 0, busy = 1, touched = touched_tag };

    [[nodiscard]] u64 line_of(const void* p) const noexcept {
        return (reinterpret_cast<u64>(p) & window_mask) / line_size;
    }
    void claim(thread_record& by, u64 line, u64 epoch) noexcept(!crashes_throw);
    void append(thread_record& by, u64 line, u64 epoch) noexcept(!crashes_throw);

    struct alignas(64) thread_log {
        std::atomic<bool> attached{false};
        log_writer writer;
        std::atomic<u64> lines{0};  ///< stored to by the owner only
    };
    /// A thread tells the length of its log after that many entries.
    static constexpr u64 told_lines = 16;
    static void append_slowly(thread_log& mine, u64 line, u64 epoch) noexcept(!crashes_throw);
    void attach(thread_log& mine, u32 index);

    region& region_;
    const bool keeps_log_;
    std::atomic<u8>* tags_;
    u64 limit_;
    u64 least_room_;  ///< a thread whose log has less room asks for a cut
    gate* gate_ = nullptr;
    std::unique_ptr<std::array<thread_log, max_threads>> logs_;
    std::atomic<u32> logs_used_{0};  ///< logs past these have never been attached
    alignas(64) std::atomic<u64> epoch_bytes_{0};
    std::atomic<bool> is_short_{false};  ///< a thread's log has less than least_room_
};

}  // namespace hf::section
