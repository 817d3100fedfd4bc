// tests/campaigns/kill/judge.hpp: checks that the state found after a crash is the end of one
// epoch.
//
// Purpose. Every key has a history: its known state, then its writes, in order, by session, each
// with the epoch that the map returned (the ticket), or without one if the kill came first. The
// state that an observer found is one state of that history. For each session there must be one
// epoch E such that every write of an epoch <= E is there, none of an epoch > E is there, and E is
// at least the newest epoch that the map had reported as durable.
//
// Rules.
//  J1  A found state that no write of the key explains, to the last byte, is a violation: a partial
//      or corrupted write.
//  J2  The found state is the newest that survived. So its write has ticket <= E of its session,
//      and every later write of the key has ticket > E of its session. Over all keys that bounds E
//      from both sides. Contradicting bounds are a hole: a write of an epoch survived, and one of
//      the same or an older epoch did not.
//  J3  E >= the epochs reported as durable: by durable_epoch(), wait_durable(), sync(). After a
//      close: all of them.
//  J4  Only the last epoch may be lost: each lost write has the newest ticket of its session. On a
//      disk the last three: one running, two in flight.
//  J5  A write in flight may be there or not. If it is, E is at least the epoch that was current
//      before the call.
//  J6  Epochs of a session are greater than all of the sessions before it.
#pragma once

#include "journal.hpp"
#include "value.hpp"

#include <functional>
#include <string>
#include <vector>

namespace hf::kill_test {

/// A write, for the judge.
struct past_write {
    u32 session;
    write_kind kind;
    value_id id;
    u64 since;
    u64 ticket;  ///< or in_flight; never changed_nothing
};

struct past_session {
    u64 told = 0;         ///< newest epoch reported as durable
    bool closed = false;  ///< cleanly, with success
};

struct verdict {
    std::vector<std::string> violations;
    u64 writes = 0;     ///< number of judged writes
    u64 lost = 0;       ///< acknowledged, not durable, and lost
    u64 unsettled = 0;  ///< in flight at the kill
    u64 kept_in_flight = 0;
};

struct case_file {
    const key_state* known;    ///< by key; the judge replaces it with the found state
    const observation* found;  ///< by key
    std::vector<std::vector<past_write>> history;  ///< by key, in order
    std::vector<past_session> sessions;
    std::function<std::string(u32 key)> name_of;
    u64 may_lose = 1;  ///< number of epochs, counted from the newest
};

/// Judges, and stores the new known state of each key in `settled`.
[[nodiscard]] verdict judge(const case_file& all, const value_maker& values, key_state* settled);

/// The histories that a journal contains.
[[nodiscard]] std::vector<std::vector<past_write>> histories(const journal& record);

}  // namespace hf::kill_test
