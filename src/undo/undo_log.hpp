// undo_log.hpp: the undo log of whole objects (Cohen et al., ASPLOS 2019, sections 3 and 4.2).
//
// Purpose. What in-cache-line logs can't undo is copied here before its first change in an epoch:
// splits, removals of nodes, interior nodes, a slot that was occupied when the epoch began. An
// object is logged at most once an epoch, so entries don't depend on one another and recovery
// applies them in parallel.
//
// On the medium. Each lane owns log segments (region/: segment_kind::log). In a segment entries
// follow each other from its start, each on a line boundary, padded to 64 bytes:
//
//   | checksum 8 | epoch 8 | object offset 8 | size 4 | 0 4 | size bytes of the object | pad |
//
// Invariants.
//  X1  An object is changed only after its entry is durable (append() fences before it returns).
//  X2  In each segment the entries of the running epoch form a prefix: writing starts over at an
//      epoch's first entry, and each append is fenced before the next one begins.
//  X3  The epoch number never repeats, and the checksum covers it, the object's place and all
//      bytes, seeded by the region's id. So what the memory still holds of older epochs, or half an
//      entry, is never applied.
//
//  X4  Entries have the number of their append, counted from 1 in an epoch; an append begins when
//      the one before it is durable. So where an entry is not whole, and behind it is one of the
//      append after the next, it was not torn by the crash: the log is damaged, and refused. Damage
//      in the last append looks like a tear; what it should have undone tells by its own stamp of
//      the epoch (check_undone() of masstree/checkpoint/external_adapter.hpp).
//
// Persist order. L1: entries durable before append() returns.
//
// Recovery. apply_log(): for every segment, while the next entry is whole and of the failed epoch,
// copy it back; write back, fence. Idempotent; cut short, it is run again.
//
// Full region. append() makes room (growing the region by a segment, or by what is left) before it
// writes anything; where that fails it returns the error and nothing has changed. The next epoch
// begins the log anew. All logs together have what the heap leaves to them (kept_from_heap()), and
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
    u32 append;  ///< its number in the epoch; 0: written by a program that did not count
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
    /// Takes over the segments of lane `owner`, found in the region's directory.
    void attach(region& r, u16 owner);

    /// Logs the objects as they are now; on return all are durable (L1). All or, on error, none.
    /// For want of ordinary memory the process ends: the caller holds nodes' locks.
    [[nodiscard]] result<void> append(std::span<const log_object> objects,
                                      u64 epoch) noexcept(!crashes_throw);

    [[nodiscard]] bool has_segments() const noexcept { return !space_.empty(); }
    [[nodiscard]] u64 entries() const noexcept { return entries_.load(std::memory_order_relaxed); }
    [[nodiscard]] u64 bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

   private:
    static constexpr u64 max_segment_pages = 1024;  // 64 MiB

    [[nodiscard]] result<void> make_room(std::span<const log_object> objects);
    [[nodiscard]] log_place next_place(log_place p, u64 stride) const noexcept;
    void write_entry(const log_object& object, u64 at) noexcept;

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
/// an entry leads to nowhere, or one is damaged that others of the epoch follow (X4).
[[nodiscard]] result<log_application> apply_log(region& r, u64 epoch, unsigned threads);

}  // namespace hf
