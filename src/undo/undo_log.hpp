// undo_log.hpp: the undo log of whole objects (Cohen et al., ASPLOS 2019, sections 3 and 4.2).
//
// Purpose. Changes that in-cache-line logs cannot undo are preceded by a copy of the object:
// splits, removals of nodes, interior nodes, a slot that was occupied when the epoch began. An
// object is logged at most once an epoch, so entries are independent and recovery
// applies them in parallel.
//
// On the medium. Each lane owns log segments (region/: segment_kind::log). In a segment entries
// follow each other from its start, each on a line boundary, padded to 64 bytes:
//
//   | checksum 8 | epoch 8 | object offset 8 | size 4 | 0 4 | size bytes of the object | pad |
//
// Invariants.
//  X1  An object is changed only after its entry is durable (append() fences before it returns).
//  X2  In each segment the entries of the running epoch form a prefix: writing restarts at an
//      epoch's first entry, and each append is fenced before the next one begins.
//  X3  The epoch number never repeats, and the checksum covers it, the object's offset and all
//      bytes, seeded by the region's id. So entries of older epochs, and incomplete
//      ones, are never applied.
//
//  X4  Entries have the number of their append, counted from 1 in an epoch; an append begins when
//      the one before it is durable. So if an incomplete entry is followed by one of the append
//      after the next, it was not torn by the crash: the log is damaged, and refused. Damage
//      in the last append looks like a tear; the object that it should have restored shows that by
//      its own epoch stamp (check_undone() of masstree/checkpoint/external_adapter.hpp).
//
// Persist order. L1: entries durable before append() returns.
//
// Recovery. apply_log(): for every segment, while the next entry is complete and of the failed
// epoch, copy it back; write back, fence. Idempotent; after an interruption it is run again.
//
// Full region. append() makes room (growing the region by a segment, or by the space left) before
// it writes anything; if that fails it returns the error and nothing has changed. The next epoch
// restarts the log. All logs together have the reserve that the heap leaves (kept_from_heap()), and
// one page of that is for lane 0, whose log serves all lanes that came too late for one of their
// own (checkpoint_state.hpp).
#pragma once

#include "base/bits.hpp"
#include "persist/persist_point.hpp"
#include "region/region.hpp"
#include "undo/log_space.hpp"

#include <atomic>
#include <span>
#include <vector>

namespace hf {

struct log_object {
    u64 offset;  ///< in the region, a multiple of 8
    u32 size;    ///< bytes, at most max_log_object
};

inline constexpr u32 max_log_object = 4096;

namespace detail {

struct log_entry_header {
    u64 checksum;
    u64 epoch;
    u64 object;
    u32 size;
    u32 append;  ///< its number in the epoch; 0: written by a program without these numbers
};
static_assert(sizeof(log_entry_header) == 32);

[[nodiscard]] constexpr u64 log_entry_stride(u32 size) noexcept {
    return align_up(sizeof(log_entry_header) + size, line_size);
}

/// Checksum of an entry whose header fields other than the checksum are set.
[[nodiscard]] u64 log_entry_checksum(const log_entry_header* entry, u64 seed) noexcept;

[[nodiscard]] u64 log_seed(const region& r) noexcept;

}  // namespace detail

/// Appends to the log segments of one lane. One thread at a time.
class log_writer {
   public:
    /// Finds the segments of lane `owner` in the region's directory.
    void attach(region& r, u16 owner);

    /// Logs the current contents of the objects; on return all are durable (L1). All or, on error,
    /// none. Ends the process if ordinary memory is exhausted: the caller holds nodes' locks.
    [[nodiscard]] result<void> append(std::span<const log_object> objects,
                                      u64 epoch) noexcept(!crashes_throw);

    /// append() for one line, at a multiple of line_size, if the newest segment has room. False:
    /// nothing was done.
    [[nodiscard]] bool try_append_line(u64 offset, u64 epoch) noexcept(!crashes_throw);

    /// Whether entries of that many bytes still fit, if no other lane takes the space.
    [[nodiscard]] bool has_room(u64 bytes) const {
        return space_.room_with(place_, log_share::fair, bytes) >= bytes;
    }
    [[nodiscard]] bool has_segments() const noexcept { return !space_.empty(); }
    [[nodiscard]] u64 entries() const noexcept { return entries_.load(std::memory_order_relaxed); }
    [[nodiscard]] u64 bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

   private:
    static constexpr u64 max_segment_pages = 1024;  // 64 MiB

    [[nodiscard]] result<void> make_room(std::span<const log_object> objects);
    [[nodiscard]] log_place next_place(log_place p, u64 stride) const noexcept;
    void write_entry(const log_object& object, u64 at) noexcept;
    void complete(u64 entries, u64 bytes) noexcept(!crashes_throw);

    region* region_ = nullptr;
    u64 seed_ = 0;
    u64 epoch_ = 0;    ///< of the newest entries
    u32 appends_ = 0;  ///< in that epoch
    log_place place_;
    log_space space_{max_segment_pages};
    std::atomic<u64> entries_{0};
    std::atomic<u64> bytes_{0};
};

struct log_application {
    u64 entries = 0;
    u64 bytes = 0;
};

/// Copies all entries of `epoch` back to their objects, writes them back and fences. errc::corrupt:
/// an entry has an invalid offset, or a damaged one is followed by others of the epoch (X4).
[[nodiscard]] result<log_application> apply_log(region& r, u64 epoch, unsigned threads);

}  // namespace hf
