// write_back.hpp: the end of an epoch on persistent memory.
//
// Persist order, with the gate closed and no operation running:
//  E1  every line dirtied in e is written back, and fenced by the same thread;
//  E2  then epoch_record := e + 1, written back and fenced;
//  E3  then e is announced (durable_epoch, waiting threads), and the gate opens for e + 1: by
//      epoch_manager, when end_epoch() has returned.
//
// The lines are those in the lanes' lists (lane.hpp, L1). All threads that wait at the gate share
// them in chunks; each fences its own write-backs, since a fence waits for the flushes of
// its own thread only.
//
// Recovery. After a crash before E2, the record still says e: e has failed, and disciplines with
// logs undo it. After E2 it says e + 1, in which nothing has happened yet.
#pragma once

#include "epoch/boundary.hpp"
#include "epoch/lane.hpp"
#include "epoch/shared_work.hpp"

#include <vector>

namespace hf {

class write_back final : public boundary {
   public:
    write_back(region& file, const lanes& all) noexcept : region_(file), lanes_(all) {}

    void end_epoch(u64 ending) override { make_durable(ending); }
    void help() override { work_.help(); }

   private:
    void make_durable(u64 ending);
    void write_back_all();

    region& region_;
    const lanes& lanes_;
    std::vector<line_chunk> chunks_;
    shared_work work_;
};

}  // namespace hf
