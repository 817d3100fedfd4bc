// base/lock_order.hpp: the one order in which the house's mutexes are taken.
//
// Purpose. A thread takes a mutex only if its rank is higher than those of all that it holds, so no
// cycle of waiting threads can form. The ranks follow the layers: rooms call downwards, so the
// mutexes of lower rooms are taken later. Assertions check it wherever they run (HF_ASSERT); else
// a ranked_guard is a std::lock_guard.
//
//     const ranked_guard lock(lock_rank::growth, growth_mutex_);
//
// Two mutexes of one rank are never held together. Without a rank, and not checked: locks in nodes
// and lanes, whose orders their rooms state; mutexes that condition variables wait on; those that a
// thread keeps for a whole transaction (transactions.hpp); and the tables of heap/ and section/.
// Concurrency. The held ranks are a word of the thread.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"

#include <mutex>

namespace hf {

/// From the outermost to the innermost; the list of docs/architecture.md.
enum class lock_rank : u8 {
    store_purge,      ///< one purge at a time
    store_master,     ///< the store's own record
    key_stripe,       ///< conditional writes of an eager map
    retired_memory,   ///< memory taken from idle threads' lists of grace periods
    swept_old_pages,  ///< pages whose free blocks the sweep has not found yet
    heap_pages,       ///< free pages and segments of a heap
    shared_undo_log,  ///< the undo log of lane 0
    log_segments,     ///< the segments that logs lie in
    growth,           ///< the region's length, its directory and intent
    superblocks,      ///< updates of the superblocks
    roots,            ///< the names of roots
    arena,            ///< windows
    journal_ring,     ///< the lists of a journal's segments
    journal_file,     ///< mappings and syncs of a journal's file
    page_copies,      ///< pages that may be dropped
    dirty_lines,      ///< the set of changed lines
};
inline constexpr unsigned lock_ranks = static_cast<unsigned>(lock_rank::dirty_lines) + 1;

/// While it exists, the calling thread counts as holding a mutex of this rank.
class rank_held {
   public:
    explicit rank_held(lock_rank rank) noexcept {
        if constexpr (assertions_run) {
            bit_ = u32{1} << static_cast<unsigned>(rank);
            HF_CHECK(held < bit_, "a mutex is taken against the order of base/lock_order.hpp");
            held |= bit_;
        }
    }
    ~rank_held() {
        if constexpr (assertions_run) held &= ~bit_;
    }
    rank_held(const rank_held&) = delete;
    rank_held& operator=(const rank_held&) = delete;

   private:
    static_assert(lock_ranks <= 32);
    inline static thread_local constinit u32 held = 0;  ///< a bit for each rank
    u32 bit_ = 0;
};

/// std::lock_guard with a rank.
template <class Mutex>
class ranked_guard {
   public:
    ranked_guard(lock_rank rank, Mutex& mutex) : rank_(rank), guard_(mutex) {}

   private:
    rank_held rank_;
    std::lock_guard<Mutex> guard_;
};

}  // namespace hf
