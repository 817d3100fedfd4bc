// transaction/transactions.hpp: the transactions of one region (Coburn et al., "NV-Heaps", ASPLOS
// 2011, section 3.5).
//
// Purpose. ACID transactions on memory: what one stores is there after a crash, whole or not at all
// (commit_engine.hpp); others see all of it or nothing; what is allocated and freed goes with it
// (alloc/committed_heap.hpp). Programs see include/holdfast/transaction.hpp and, over it, heaps of
// typed objects; this class leads an attempt from its begin to its end:
//
//    begin ─> the epoch is entered, the snapshot taken
//      │      loads: validated by line (T1 of transaction.hpp); stores: to private copies, owned
//      ├────> roll_back: copies are dropped, what was allocated is given up, lines go back
//    commit   the listener's last stores; version := clock + 1; reads still valid? room in the log
//      │                                    no: rolled back, and retried
//      ├────> the engine makes it durable and writes the home locations
//    end      lines are given back with the new version, the epoch is left
//
// Stores after the fence. Stores after a commit's fence wait in the processor's store buffer until
// the record has reached memory. When the buffer is full all instructions wait, the loads of the
// next transaction too. So between the fence and those loads unchanged values are not stored again,
// and calls are few: each stores its return address, and the registers that it saves.
//
// On the medium. Commit records (commit_record.hpp) in a log a lane (commit_log.hpp); the engine's
// number in the superblock; all else is the user's, or the heap's.
//
// Invariants.
//  V1  Memory that other threads can reach holds committed values only: copies are private until
//      they are durable. So an attempt that ends has nothing to undo. A crash interrupts only
//      changes that a durable record describes, or that no thread can see.
//  V2  A transaction owns each line that it changes, from its first store until the home location
//      is written.
//  V3  A transaction is inside an epoch from begin to end (epoch/gate.hpp). So what it could reach
//      is not handed out again before it has ended, and a boundary finds no half of one.
//
// Concurrency. Stores conflict at once: a transaction that finds a line owned waits for a moment,
// then ends its attempt. After several attempts a transaction is serialised: others wait before
// they begin. So each commits in the end. One thread runs one transaction.
//
// Literature. Besides transaction.hpp: Harris, Larus, Rajwar, "Transactional Memory" (2010),
// chapter 4; Volos, Tack, Swift, "Mnemosyne" (ASPLOS 2011) for redo logs with one fence.
#pragma once

#include "transaction/commit_engine.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

namespace hf {

/// Implemented by the room above: called with each transaction.
class transaction_listener {
   public:
    transaction_listener() = default;
    transaction_listener(const transaction_listener&) = delete;
    transaction_listener& operator=(const transaction_listener&) = delete;
    virtual ~transaction_listener() = default;

    /// The user's function has returned. May load, store, allocate and release, and end the attempt
    /// as the user's function may. Not called for what only reads.
    virtual void before_commit(transaction& t) = 0;
    /// It has committed, and is no transaction any more: others may be run.
    virtual void committed() = 0;
    /// Nothing of it happened.
    virtual void rolled_back(transaction& t) noexcept = 0;
};

struct transaction_statistics {
    u64 commits = 0;    ///< that wrote something
    u64 conflicts = 0;  ///< attempts that were retried
    u64 records = 0;
    u64 record_bytes = 0;
};

class transactions final : public transactional {
   public:
    /// On an open heap, in epochs that have been started before the first transaction.
    transactions(epoch_manager& epochs, committed_heap& heap, commit_engine& engine,
                 detail::isolation kept = detail::isolation::threads);
    transactions(const transactions&) = delete;
    transactions& operator=(const transactions&) = delete;
    /// No transaction is running.
    ~transactions();

    /// nullptr: none.
    void set_listener(transaction_listener* l) noexcept { listener_ = l; }

    [[nodiscard]] result<void> wait_durable(ticket when) override;
    [[nodiscard]] bool durable(ticket when) const noexcept override;
    [[nodiscard]] transaction_statistics numbers() const noexcept;
    [[nodiscard]] epoch_manager& epochs() noexcept { return epochs_; }
    [[nodiscard]] region& file() noexcept { return epochs_.file(); }
    [[nodiscard]] committed_heap& heap() noexcept { return heap_; }

   private:
    struct place {
        place(ownership& records, committed_heap& heap, std::unique_ptr<engine_lane> engine,
              u16 lane, u64 owner, detail::isolation kept)
            : running(records, heap, std::move(engine), lane, owner, kept) {}
        context running;
        std::optional<epoch_guard> inside;
        std::unique_lock<std::mutex> turn;
        /// A commit is under way: from before it moves the clock until its lines are given back.
        alignas(line_size) std::atomic<bool> commits_now{false};
        std::atomic<u64> commits{0};
        std::atomic<u64> conflicts{0};
    };

    [[nodiscard]] transaction& begin(bool read_only, unsigned attempt) override;
    [[nodiscard]] bool commit(transaction& t, ticket& done) override;
    void roll_back(transaction& t, bool anew) noexcept override;
    void back_off(unsigned attempt, bool asked_for) noexcept override;
    void committed(ticket when) override;
    [[nodiscard]] bool waits() const noexcept override { return waits_; }
    [[nodiscard]] u64 base() const noexcept override { return base_; }

    [[nodiscard]] place& place_of(const lane& l);
    [[nodiscard]] place& make_place(const lane& l);
    void refuse_others(const lane& l);
    void wait_for_turn(place& p, unsigned attempt);
    /// Takes it, or waits until it is given back.
    void take_turn(place& p, unsigned attempt);
    void accept_writer(place& p, lane& mine);
    void settle_all(u64 durable);
    /// After start(): whether its snapshot may be read by the clock (T2 of transaction.hpp).
    [[nodiscard]] bool is_quiet() const noexcept;
    [[nodiscard]] bool change(context& t);
    void leave(place& p, u64 version) noexcept;
    void give_turn_back(place& p) noexcept;

    epoch_manager& epochs_;
    committed_heap& heap_;
    const u64 base_;
    const bool waits_;
    const u64 number_;  ///< of this object, in the process
    const detail::isolation kept_;
    std::atomic<u64> settled_{0};  ///< the epoch up to which settle_all() has been called
    std::atomic<u32> only_lane_;   ///< of the one thread, where there is one
    ownership records_;
    commit_engine& engine_;
    transaction_listener* listener_ = nullptr;
    std::unique_ptr<std::array<std::atomic<place*>, max_lanes>> places_;  ///< by lane; owned
    std::mutex turn_;
    std::atomic<u32> turn_taken_{0};
};

}  // namespace hf
