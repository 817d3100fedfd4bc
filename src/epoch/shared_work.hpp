// shared_work.hpp: work in pieces, done by whoever leads and by all who happen to wait.
//
// Purpose. Behind a closed gate threads wait; they may as well help. The leader says how many
// pieces there are and what a piece is; everybody takes one after the other.
//
// Invariants.
//  W1  Each piece is done once. Phase, number of pieces and the next one lie in one word, so a
//      helper that comes late never takes a piece of another phase.
//  W2  run() returns when all are done; what helpers did is seen by the leader.
#pragma once

#include "base/bits.hpp"

#include <atomic>
#include <cstddef>
#include <functional>

namespace hf {

class shared_work {
   public:
    /// Leads: `piece(i)` for each i < pieces. One leader at a time.
    void run(std::size_t pieces, std::function<void(std::size_t)> piece);
    /// Helps as long as there are pieces that nobody has taken.
    void help();

   private:
    std::function<void(std::size_t)> piece_;
    std::atomic<u64> work_{0};       // [phase 24 | pieces 20 | next 20]
    std::atomic<u64> work_done_{0};  // of all phases, so it need not be begun anew
    u64 all_pieces_ = 0;
    u64 phase_ = 0;
};

}  // namespace hf
