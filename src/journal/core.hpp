// journal/core.hpp: the persist order on the medium `file`.
//
// Purpose. The two steps of a journal, each executed by one thread, and identical with threads
// (redo_journal.hpp) and without (crash lab): commit() makes an epoch durable; apply_some() writes
// old records to the base file and frees their space.
//
// Persist order.
//  J0 The base file's length is durable before a record that needs it is written.
//  J1 All chunks of a record are durable before its epoch is announced, and before the next record
//     is begun.
//  J2 A record is durable before any line of it is written to the base file.
//  J3 The lines are durable in the base file before the header stops covering their records.
//  J4 The header is durable before a segment of such records is reused.
//  J5 The journal's length is durable before the header or a record mentions it.
// A crash at any instant leaves a base file in which each line has a value of an epoch between
// header.base_epoch and the last durable one, or a part of such a value. The records from
// header.oldest on contain all lines that may differ from the last durable epoch, and the scan
// finds them complete.
//
// Concurrency. One thread may commit while another applies. The mutex guards the ring's lists; the
// chunks that apply_some() reads are durable and not overwritten before it frees them.
// Recovery. scan.hpp, then replay.hpp.
#pragma once

#include "journal/header.hpp"
#include "journal/ring.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace hf::journal {

/// One is written, one is applied, one is free after the newest.
inline constexpr u64 least_segments = 3;

struct geometry {
    u64 segment_bytes = u64{8} << 20;  ///< a multiple of 4,096
    u64 segments = 16;                 ///< initial maximum; more are added as needed
    u64 most_bytes = u64{5} << 29;     ///< may be exceeded by a single record
};

class core {
   public:
    /// Makes the file the journal of a session that starts with a base file of `base_epoch`. Syncs.
    [[nodiscard]] static result<std::unique_ptr<core>> start(block_file& journal, block_file& base,
                                                             const identity& who, u64 base_epoch,
                                                             const geometry& shape);

    /// Makes one epoch durable (J0, J1, J5). errc::no_space: the ring is full and cannot grow; the
    /// call had no effect and may be retried. Any other error is final.
    [[nodiscard]] result<void> commit(const record& r);
    /// Makes the next commit() make the base file's length durable first.
    void base_has_grown() noexcept { base_grown_.store(true, std::memory_order_release); }
    /// Whether commit(r) would have to wait for space, or to grow.
    [[nodiscard]] bool needs_space(const record& r);

    /// Applies the oldest full segments of durable records, at most `most` (J2-J4). Returns their
    /// number. With `all`, also the segment that is being filled, if all in it is durable: it
    /// counts as full then. errc::no_space: nothing was freed, and the call may be retried; a retry
    /// first writes the header for what the base contains by then.
    [[nodiscard]] result<u64> apply_some(u64 most, bool all = false);

    [[nodiscard]] u64 records() const;
    /// The base file contains this epoch and all before it.
    [[nodiscard]] u64 applied_epoch() const noexcept { return applied_epoch_; }
    [[nodiscard]] u64 segment_bytes() const noexcept { return ring_.segment_bytes(); }
    [[nodiscard]] u64 segments() const noexcept { return segments_; }
    /// Number of segments with records that are not applied.
    [[nodiscard]] u64 used() const noexcept { return used_; }
    /// Bytes written to the journal: records with their chunk headers, and zeros ahead (ring.hpp).
    [[nodiscard]] u64 journal_bytes() const;
    [[nodiscard]] u64 base_bytes() const noexcept { return base_bytes_; }  ///< written by applying
    [[nodiscard]] u64 syncs() const noexcept { return syncs_; }

   private:
    core(block_file& journal, block_file& base, const identity& who, u64 base_epoch,
         const geometry& shape);
    [[nodiscard]] result<void> make_room(const record& r);
    [[nodiscard]] result<void> lengthen(u64 segments);
    [[nodiscard]] result<bool> append(const record& r);
    [[nodiscard]] bool is_durable(const ring::used_segment& s) const noexcept;
    [[nodiscard]] result<void> bring_to_base(u64 most, bool all);
    [[nodiscard]] result<u64> give_up_applied();
    [[nodiscard]] result<void> say_applied();

    block_file& journal_;
    block_file& base_;
    mutable std::mutex mutex_;  // guards ring_, durable_
    ring ring_;
    u64 durable_ = 0;  ///< the last durable record
    // Used by apply_some() only:
    header_facts header_;
    header_facts next_;         ///< to be written if unsaid_ is not 0
    u64 unsaid_ = 0;            ///< segments that the base contains, but no durable header excludes
    std::atomic<u64> used_{0};  ///< of the ring; readable without the mutex
    std::atomic<u64> segments_{0};  ///< of the ring; readable without the mutex
    std::atomic<u64> applied_epoch_{0};
    std::atomic<bool> base_grown_{false};
    std::atomic<u64> base_bytes_{0};
    std::atomic<u64> syncs_{0};
};

}  // namespace hf::journal
