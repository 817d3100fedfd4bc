// transaction/context.hpp: all of a running transaction: transaction.hpp has what the fast paths
// need, this the rest. One for each lane, used again and again.
#pragma once

#include <holdfast/transaction.hpp>

#include "alloc/committed_heap.hpp"
#include "epoch/epoch_manager.hpp"
#include "sync/spin_lock.hpp"
#include "transaction/engine_lane.hpp"
#include "transaction/noted_lines.hpp"
#include "transaction/ownership.hpp"
#include "transaction/write_set.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

namespace hf {

class context final : public transaction {
   public:
    context(ownership& records, committed_heap& heap, std::unique_ptr<engine_lane> engine, u16 lane,
            u64 owner_number, detail::isolation kept);

    [[nodiscard]] static context& of(transaction& t) noexcept { return static_cast<context&>(t); }

    // --- an attempt ---
    /// `inside`: the lane is in the epoch.
    void start(lane& inside, bool read_only, bool anew);
    /// It goes by T2 of transaction.hpp: no commit of its snapshot is under way. After start().
    void read_by_clock() noexcept;
    /// Before all commits.
    static constexpr u64 no_version = 0;
    /// The end of it: it is no transaction any more, and owns nothing. Lines that it changed bear
    /// `version`; no_version: it changed nothing. (What is no one word would be written to the
    /// stack in parts; to read them as one waits for the fence before it, as long as a miss.)
    void end(u64 version) noexcept;

    // --- loads and stores (transaction.cpp) ---
    [[nodiscard]] u64 load_word(const void* at, unsigned bytes);
    void store_word(void* at, unsigned bytes, u64 value);
    /// Stores a whole line, which begins at `at`. False, nothing done: its words have to be stored
    /// one by one, for some are those of the newest block, or all go to their home location.
    [[nodiscard]] bool store_line(std::byte* at, const std::byte* from);
    void recycle_reads();
    [[nodiscard]] std::byte* allocate_block(u64 bytes);
    /// As allocate_block(), but nullptr if the heap is full; does not wait for the epoch's end,
    /// which may bring memory.
    [[nodiscard]] std::byte* try_allocate_block(u64 bytes);
    void release_block(void* p, u64 bytes);

    // --- a commit ---
    [[nodiscard]] bool changes_nothing() const noexcept {
        return lines_.empty() && blocks_ == nullptr && releases_.empty();
    }
    /// Gives the released blocks to the batch. After is_valid(): in an attempt that will not commit
    /// they may belong to another transaction by now.
    void release_blocks();
    /// Whether everything that was read is still as it was, or owned by this transaction.
    [[nodiscard]] bool is_valid() const noexcept;
    [[nodiscard]] u64 snapshot() const noexcept { return snapshot_; }
    /// Whether it can only end. Words in their home locations can't be taken back, and stay.
    [[nodiscard]] bool is_doomed() const noexcept {
        return doomed_ && kept_ != detail::isolation::in_place;
    }
    /// Of one that is doomed.
    [[nodiscard]] bool begins_anew() const noexcept { return begins_anew_; }
    [[nodiscard]] std::span<const written_line> lines() const noexcept { return lines_.lines(); }
    [[nodiscard]] std::span<const committed::word_change> heap_changes() {
        return blocks_ == nullptr ? std::span<const committed::word_change>{} : blocks_->changes();
    }
    /// Puts the words of the private copies in place, and notes their lines.
    void place_lines() noexcept;
    /// Does so with the allocator's words; freed blocks wait for the epoch's end.
    void place_heap_changes() noexcept;
    /// Flushes the places of the private copies, in place by now.
    void flush_lines() const noexcept;
    [[nodiscard]] std::span<const fresh_block> fresh() const noexcept { return fresh_blocks_; }
    [[nodiscard]] u64 fresh_bytes() const noexcept;
    /// Flushes what was allocated, or notes it for the epoch's end.
    void flush_fresh() const noexcept;
    void note_fresh() const noexcept;
    [[nodiscard]] lane& my_lane() const noexcept { return *inside_; }
    /// The engine's state for the lane.
    [[nodiscard]] engine_lane& engine_state() noexcept { return *engine_; }
    [[nodiscard]] const engine_lane& engine_state() const noexcept { return *engine_; }
    [[nodiscard]] commit_log& log() noexcept { return engine_->log(); }
    /// Ends the attempt by an exception: the next one is to begin in the next epoch, whose begin
    /// makes room.
    [[noreturn]] void wait_for_boundary();
    [[nodiscard]] u64 epoch() const noexcept { return inside_->epoch; }
    [[nodiscard]] region& file() const noexcept { return heap_.store(); }

    /// Hands out what was freed in epochs up to `durable`. As a rule there is nothing, and nothing
    /// is stored: transactions.hpp, "Stores after the fence".
    void settle(u64 durable) {
        if (wants_boundary_) [[unlikely]] {
            wants_boundary_ = false;
        }
        if (oldest_freed_.load(std::memory_order_relaxed) <= durable) [[unlikely]] {
            settle_freed(durable, true);
        }
    }
    /// The same, called by another thread: this context's thread may be idle, or have ended.
    void settle_for_others(u64 durable) {
        if (oldest_freed_.load(std::memory_order_relaxed) <= durable) settle_freed(durable, false);
    }
    /// Whether the last attempt ended because heap or log are full but for what the epoch's end
    /// will bring.
    [[nodiscard]] bool wants_boundary() const noexcept { return wants_boundary_; }

   private:
    struct owned_record {
        u32 index;
        u64 before;
    };
    struct freed_in {
        u64 epoch;
        std::unique_ptr<heap_batch> blocks;
    };

    [[nodiscard]] u64 load_unowned(const void* at, unsigned bytes) noexcept;
    void store_unowned(void* at, unsigned bytes, u64 value);
    [[noreturn, gnu::cold]] void refuse_store() const;
    /// REQUIRES: this is the calling thread's transaction. Otherwise ends the calling thread's own
    /// one (errc::usage), or the process if it has none.
    void check_thread() const {
        if (of_thread != this) [[unlikely]]
            refuse_other_thread();
    }
    [[noreturn, gnu::cold]] static void refuse_other_thread();
    /// Ends the transaction where a damaged pointer led out of the region, or into its header.
    [[gnu::cold]] void check_store(u64 offset, unsigned bytes);
    /// The private copy of a line that it stores to; made if there is none.
    [[nodiscard]] written_line& copy_of(u64 line);
    /// As copy_of(), if that takes no more than an exchange; else nullptr.
    [[nodiscard]] written_line* take_line(u64 line);
    /// False: it is this transaction's already.
    [[nodiscard]] bool take_ownership(u64 index);
    /// Moves the snapshot to now, or throws.
    void move_snapshot();
    void wait_for_owner(unsigned& spins) const;
    [[nodiscard]] heap_batch& my_blocks();
    [[nodiscard]] result<u64> reserve_block(u64 bytes);
    [[nodiscard]] std::byte* hand_out(u64 offset, u64 bytes);
    void note_heap_word(u64 offset) noexcept;
    void settle_freed(u64 durable, bool is_mine);

    ownership& records_;
    committed_heap& heap_;
    const u64 mark_;  ///< in records that it owns
    const detail::isolation kept_;
    u64 serials_;
    lane* inside_ = nullptr;

    std::vector<u32> read_room_;
    bool may_forget_ = false;    ///< it only reads, and is at its first attempt
    bool forgot_reads_ = false;  ///< for want of room
    write_set lines_;
    std::vector<owned_record> owned_;
    std::vector<fresh_block> fresh_blocks_;
    std::vector<fresh_block> releases_;
    std::unique_ptr<heap_batch> blocks_;
    std::vector<std::unique_ptr<heap_batch>> spare_;
    static constexpr u64 nothing_freed = ~u64{0};
    spin_lock freed_lock_;  ///< of freed_: other threads settle what is durable
    std::deque<freed_in> freed_;
    std::atomic<u64> oldest_freed_{nothing_freed};  ///< epoch of freed_.front()
    u64 newest_freed_ = 0;                          ///< epoch of what was pushed last
    unsigned boundaries_ = 0;  ///< that this transaction has waited for, for want of memory
    noted_lines noted_;
    bool wants_boundary_ = false;
    const std::unique_ptr<engine_lane> engine_;
};

}  // namespace hf
