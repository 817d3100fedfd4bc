// lint/dirty_reads.hpp: a value read before it was durable, and acted upon as if it were.
//
// Purpose. Thread A stores; before that is sure, B loads it and makes something of its own durable.
// A crash then keeps what B did and takes away what it rests on: an entry in a table that nobody
// points to any more, an answer given about a key that is not there. (Inter-thread inconsistency:
// Chen et al., "Efficiently Detecting Concurrency Bugs in Persistent Memory Programs" (PMRace),
// ASPLOS 2022, and its finding in P-CLHT.) No store of B and no store of A is wrong by itself.
//
// The rule. It fires for a store S, a load L and a durable act D when
//
//   S is by one thread, L of its bytes by another, and S is not sure at L;
//   D is a durable act of the thread of L, behind L;
//   S is still not sure when D is done.
//
// A thread that has flushed and fenced S by itself before it acts (who reads, helps) is right, and
// so is one that has waited until A had. What a durable act is, is the discipline's to say.
//
// Durable at once (promise::at_once). Two acts:
//   a fence (or sync) behind which a store W is sure that the thread of L made after L, whoever
//     flushed and fenced it. W may depend on what L read, in its value, in its address, or in that
//     it was made at all; a load after W cannot matter to it;
//   the end of an operation: its answer is promised to survive, and L may be all that it rests on.
//
// Checkpoint (promise::at_epoch_end). Inside of an epoch this reading is normal, and no act of a
// lane is durable: what a lane has fenced there (an undo image, an extent's bytes, the growth of
// the file) is undone with the epoch, or holds whatever has been read. As long as the record says
// that the epoch runs, a crash takes A's store and all that B made of it. The one durable act of
// all threads is that the epoch is counted: the fence behind which the epoch's record is sure
// (lint_rules::record), or the announcement if that comes first. S is a store in front of the
// record's; what is stored behind it belongs to the next epoch, and is undone with that. It is done
// for all lanes at once, so a lane that read nothing has no part in it, and a store that nobody
// read is the business of `unnoted` and `acknowledged_early`. Those look when everything is to be
// written back, or at the announcement; this rule looks when the record is sure, so it also sees a
// record that is counted first and backed up by its lines later. What outlives a failed epoch, and
// is done because of what was read, is an act of its thread alone: the fence behind a persist point
// of lint_rules::lasting. Here: the failed set is emptied since every leaf was seen to be undone,
// and perhaps by another thread.
//
// Which loads. A load with acquire order is meant to be acted upon; an optimistic reader's plain
// and relaxed ones are thrown away when its validation fails. reads::acquiring looks at the first
// kind alone.
//
// Limits. No data flow is followed: that B acts behind L counts as acting upon it. One fence for S
// and for what rests on it is silent, although the medium has no order between the two; so is what
// the caches write back unasked. Both are the exploration's. A thread's first load of a store is
// the one that is told.
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

/// What each thread has read and nobody has made sure.
class dirty_reads {
   public:
    void note(u8 thread, dirty_read r) { of_[thread].push_back(r); }
    /// Before the crash that an opening follows.
    void forget() {
        for (auto& reads : of_) reads.clear();
    }

    /// What a durable act of the thread rests on: loads and stores before these events. Each is
    /// told once; those that have become sure are dropped.
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

/// What became sure at one fence, as numbers of events; `none` where nothing did.
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
