// journal/core.hpp: what is durable before what, on the medium `file`.
//
// Purpose. The two steps that a journal is made of, each a matter of one thread, and the same with
//  threads (redo_journal.hpp) and without (crash lab): commit() makes an epoch durable;
//  apply_some() brings old records to the base file and gives their space back.
//
// Persist order.
//  J0 The base file's length is durable before a record that needs it is written.
//  J1 All chunks of a record are durable before its epoch is announced, and before the next record
//     is begun.
//  J2 A record is durable before any line of it is written to the base file.
//  J3 The lines are durable in the base file before the header gives their records up.
//  J4 The header is durable before a segment of such records is used again.
//  J5 The journal's length is durable before the header or a record says it.
// A crash at any instant leaves a base file that holds, for each line, a value of an epoch between
// header.base_epoch and the last durable one, or a part of it; the records from header.oldest on
// say all lines that may differ from the last durable epoch, and the scan finds them complete.
//
// Concurrency. One thread may commit while another applies. The mutex covers the ring's lists; the
//  chunks that apply_some() reads are durable and not written again before it frees them.
// Recovery. scan.hpp, then replay.hpp.
#pragma once

#include "journal/header.hpp"
#include "journal/ring.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace hf::journal {

/// One is written, one is applied, one is free behind the newest.
inline constexpr u64 least_segments = 3;

struct geometry {
    u64 segment_bytes = u64{8} << 20;  ///< a multiple of 4,096
    u64 segments = 16;                 ///< at first, at most; more are added as needed
    u64 most_bytes = u64{5} << 29;     ///< unless one record needs more
};

class core {
   public:
    /// Makes the file the journal of a session that starts with a base file of `base_epoch`. Syncs.
    [[nodiscard]] static result<std::unique_ptr<core>> start(block_file& journal, block_file& base,
                                                             const identity& who, u64 base_epoch,
                                                             const geometry& shape);

    /// Makes one epoch durable (J0, J1, J5). errc::no_space: the ring is full and cannot grow;
    /// nothing counts, and it may be tried again. Any other error is final.
    [[nodiscard]] result<void> commit(const record& r);
    /// The next commit() makes the base file's length durable first.
    void base_has_grown() noexcept { base_grown_.store(true, std::memory_order_release); }
    /// Whether commit(r) would have to wait for space, or to grow.
    [[nodiscard]] bool needs_space(const record& r);

    /// Applies the oldest full segments of durable records, at most `most` (J2-J4). Returns how
    /// many that were. With `all` the segment that is being filled, too, if all in it is durable:
    /// it counts as full then. errc::no_space: nothing was given up, and it may be tried again;
    /// what the base has by then is said first.
    [[nodiscard]] result<u64> apply_some(u64 most, bool all = false);

    [[nodiscard]] u64 records() const;
    /// The base file has the whole of this epoch, and of all before it.
    [[nodiscard]] u64 applied_epoch() const noexcept { return applied_epoch_; }
    [[nodiscard]] u64 segment_bytes() const noexcept { return ring_.segment_bytes(); }
    [[nodiscard]] u64 segments() const noexcept { return segments_; }
    /// Segments that hold something not applied.
    [[nodiscard]] u64 used() const noexcept { return used_; }
    /// Written: records, with the headers of their chunks, and zeros ahead (ring.hpp).
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
    mutable std::mutex mutex_;  // ring_, durable_
    ring ring_;
    u64 durable_ = 0;  ///< the last durable record
    // apply_some() only:
    header_facts header_;
    header_facts next_;         ///< to be written, if anything is unsaid
    u64 unsaid_ = 0;            ///< segments that the base has, though no header says so for sure
    std::atomic<u64> used_{0};  ///< of the ring, for those who must not wait for it
    std::atomic<u64> segments_{0};  ///< the same
    std::atomic<u64> applied_epoch_{0};
    std::atomic<bool> base_grown_{false};
    std::atomic<u64> base_bytes_{0};
    std::atomic<u64> syncs_{0};
};

}  // namespace hf::journal
