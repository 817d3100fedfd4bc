// lint/dirty_reads.hpp: detects threads that act on a value before it is durable.
//
// Purpose. Thread A stores; before that store is durable, B loads the value and makes something of
// its own durable. A crash then keeps B's effect and loses the store on which it depends: an entry
// in a table that is no longer referenced, an answer about a key that is absent. (Inter-thread
// inconsistency: Chen et al., "Efficiently Detecting Concurrency Bugs in Persistent Memory
// Programs" (PMRace), ASPLOS 2022, and its finding in P-CLHT.) Neither the stores of A nor those of
// B are wrong by themselves.
//
// The rule reports a store S, a load L and a durable act D if
//
//   S is by one thread, L of its bytes by another, and S is not durable at L;
//   D is a durable act of the thread of L, after L;
//   S is still not durable when D is complete.
//
// It is correct to flush and fence S before acting (helping), or to wait until A has done so. The
// discipline defines durable acts.
//
// Durable at once (promise::at_once). Two acts:
//   a fence (or sync) that makes durable a store W made by the thread of L after L, whichever
//   thread
//     flushed and fenced it. W may depend on the value of L, in its own value, its address, or its
//     execution; a load after W cannot influence it;
//   the end of an operation: its result is promised to survive, and may depend on L only.
//
// Checkpoint (promise::at_epoch_end). Within an epoch such reads are normal, and no act of a
// lane is durable: data that a lane has fenced there (an undo image, an extent's bytes, the growth
// of the file) is undone with the epoch, or does not depend on values read. As long as the record
// says that the epoch is running, a crash undoes A's store and everything that B derived from it.
// The one durable act, common to all threads, is counting the epoch: the fence after which the
// epoch's record is durable (lint_rules::record), or the announcement if that comes first. S is a
// store before the record's; later stores belong to the next epoch, and are undone with that. The
// act is done for all lanes at once, so a lane that read nothing has no part in it; stores that no
// other thread reads are left to `unnoted` and `acknowledged_early`. Those rules check when
// everything is to be written back, or at the announcement; this rule checks when the record is
// durable, so it also reports a record that is counted first, with its lines written back later.
// An act that outlives a failed epoch, and depends on values read, is a durable act of its thread
// alone: the fence after a persist point of lint_rules::lasting. In this project: the failed set is
// emptied because every leaf was seen to be undone, perhaps by another thread.
//
// Loads. A program acts on acquire loads; an optimistic reader discards the values of its plain
// and relaxed loads if its validation fails. reads::acquiring considers acquire loads only.
//
// Limits. Data flow is not tracked: an act of B after L counts as acting on it. One fence for both
// S and a dependent store is not reported, although the medium does not order the two; nor are
// evictions. Both are left to the exploration. Only a thread's first load of a store is reported.
#pragma once

#include <holdfast/crashlab/rules.hpp>

#include "crashlab/trace/event.hpp"

#include <array>
#include <vector>

namespace hf::lab {

/// Numbers of events.
struct dirty_read {
    u32 store = 0;
    u32 load = 0;
};

/// For each thread, the values it has read that are not durable.
class dirty_reads {
   public:
    void note(u8 thread, dirty_read r) { of_[thread].push_back(r); }
    /// Before the crash that precedes a recovery.
    void forget() {
        for (auto& reads : of_) reads.clear();
    }

    /// Reports the loads on which a durable act of the thread may depend: of stores before these
    /// events. Each is reported once; those that have become durable are dropped.
    template <class IsUnsure, class F>
    void act(unsigned thread, u32 loads_before, u32 stores_before, IsUnsure&& is_unsure, F&& tell) {
        std::erase_if(of_[thread], [&](const dirty_read& r) {
            if (!is_unsure(r.store)) return true;
            if (r.load >= loads_before || r.store >= stores_before) return false;
            tell(r);
            return true;
        });
    }

   private:
    std::array<std::vector<dirty_read>, max_threads> of_;
};

/// The stores that one fence made durable, as numbers of events; `none`: no store.
struct made_sure {
    static constexpr u32 none = ~u32{0};

    std::array<u32, max_threads> newest = filled();  ///< of each thread's stores
    u32 record = none;                               ///< the newest one to an epoch record

   private:
    static constexpr std::array<u32, max_threads> filled() {
        std::array<u32, max_threads> all{};
        all.fill(none);
        return all;
    }
};

}  // namespace hf::lab
