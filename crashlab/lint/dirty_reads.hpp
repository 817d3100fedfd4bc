// lint/dirty_reads.hpp: detects that a thread acts on a value that it read before the value was
// durable.
//
// Purpose. Thread A stores; before the store is durable, B loads it and makes a store of its own
// durable. A crash then keeps B's store and loses what it depends on: a table entry to which no
// pointer exists any more, an answer about a key that is lost. (Inter-thread inconsistency: Chen et
// al., "Efficiently Detecting Concurrency Bugs in Persistent Memory Programs" (PMRace), ASPLOS
// 2022, and its finding in P-CLHT.) Neither A's store nor B's is wrong by itself.
//
// The rule. It fires for a store S, a load L and a durable act D if
//
//   S is by one thread, L of its bytes by another, and S is not durable at L;
//   D is a durable act of the thread of L, after L;
//   S is still not durable when D is done.
//
// A thread that flushes and fences S itself before it acts (flush-on-read, helping) is correct, and
// so is one that waits until A has done so. The discipline defines durable acts.
//
// Durable at once (promise::at_once). Two acts:
//   a fence (or sync) that makes a store W durable which the thread of L made after L, whichever
//   thread flushed and fenced it. W may depend on L's value, in its value, its address, or its
//   existence; a load after W cannot affect it;
//   the end of an operation: its result is guaranteed to survive, and may depend on L alone.
//
// Checkpoint (promise::at_epoch_end). Within an epoch dirty reads are normal, and no act of a lane
// is durable: what a lane has fenced there (an undo image, an extent's bytes, the growth of the
// file) is undone with the epoch, or is valid whatever was read. As long as the record says that
// the epoch is running, a crash loses A's store and everything that B made of it. The only durable
// act, of all threads together, is that the epoch is counted: the fence that makes the epoch's
// record durable (lint_rules::record), or the announcement if that is first. S is a store before
// the record's; a store after it belongs to the next epoch. The act concerns all lanes at once, so
// lanes that read nothing are not involved, and stores that were not read are covered by `unnoted`
// and `acknowledged_early`. Those check when everything is to be written back, or at the
// announcement; this rule checks when the record is durable, so it also detects a record that is
// counted before its lines are durable. An act that survives a failed epoch and depends on a read
// is an act of its thread alone: the fence after a persist point of lint_rules::lasting. Here: the
// failed set is cleared because every leaf was seen to be rolled back, possibly by another thread.
//
// Which loads. A load with acquire order is meant to be acted upon; an optimistic reader's plain
// and relaxed loads are discarded if its validation fails. reads::acquiring checks only the first
// kind.
//
// Limits. Data flow is not tracked: any act after L counts as depending on it. One fence for both S
// and a dependent store is not reported, although the medium has no order between the two; nor are
// spontaneous write-backs. The exploration covers both. A thread's first load of a store is the one
// that is reported.
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

/// The dirty reads of each thread that are not durable yet.
class dirty_reads {
   public:
    void note(u8 thread, dirty_read r) { of_[thread].push_back(r); }
    /// Call before a crash that is followed by a recovery.
    void forget() {
        for (auto& reads : of_) reads.clear();
    }

    /// Reports what a durable act of the thread depends on: loads and stores before these events.
    /// Each is reported once; those that have become durable are dropped.
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

/// The events that became durable at one fence, by number; `none`: nothing.
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
