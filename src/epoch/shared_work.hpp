// shared_work.hpp: work in pieces, shared by a leader and threads that wait.
//
// Purpose. Threads that wait at a closed gate may as well help. The leader sets the number of
// pieces and the function; every thread takes one piece after the other.
//
// Invariants.
//  W1  Each piece is done once. Phase, number of pieces and the next one are in one word, so a
//      late helper never takes a piece of another phase.
//  W2  run() returns when all are done; the leader sees the stores of all helpers.
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
    /// Helps as long as there are pieces left to take.
    void help();

   private:
    std::function<void(std::size_t)> piece_;
    std::atomic<u64> work_{0};       // [phase 24 | pieces 20 | next 20]
    std::atomic<u64> work_done_{0};  // sum over all phases, so it need not be reset
    u64 all_pieces_ = 0;
    u64 phase_ = 0;
};

}  // namespace hf
