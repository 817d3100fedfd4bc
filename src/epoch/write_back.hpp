// write_back.hpp: the end of an epoch on persistent memory.
//
// Persist order, gate closed and all operations out:
//  E1  every line dirtied in e is written back and fenced by whoever wrote it back;
//  E2  then epoch_record := e + 1, written back and fenced;
//  E3  then e is announced (durable_epoch, waiters), and the gate opens for e + 1: by
//      epoch_manager, when end_epoch() has returned.
//
// The lines are those that the lanes have noted (lane.hpp, L1). All threads at hand share them out
// by the chunk; each fences what it has written back itself, since a fence waits for the flushes of
// its own thread only.
//
// Recovery. Cut short before E2, the record still says e: e has failed, and whoever keeps a log
// undoes it. Behind E2 it says e + 1, in which nothing has happened yet.
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
