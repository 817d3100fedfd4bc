// tests/kill/judge.hpp: does what was found after a crash equal the end of one epoch?
//
// Purpose. Every key has a history: what was known of it, then its writes, in order, by session,
// each with the epoch that the map named (the ticket), or without one where the kill came first.
// What an observer found is one state of that history. For each session there must be one epoch E
// with: every write of an epoch <= E is there, none of an epoch > E, and E is no older than what
// the map had called durable.
//
// Rules.
//  J1  A found state that no write of the key explains, to the last byte, is a violation: half
//      done, or lost and then mixed up.
//  J2  The state found is the newest one that survived. So its write has ticket <= E of its
//      session, and every later write of the key has ticket > E of its session. Over all keys that
//      bounds E from both sides; bounds that contradict each other are a hole: something of an
//      epoch survived, something of an epoch no younger did not.
//  J3  E >= what was announced: durable_epoch(), wait_durable(), sync(). After a close: everything.
//  J4  Only the last epoch may be lost: whatever is lost has the newest ticket of its session. On a
//      disk the last three: one running, two on their way.
//  J5  A write in flight may be there or not. If it is, E is no older than the epoch that was
//      running before the call.
//  J6  Epochs of a session are younger than all of the sessions before it.
#pragma once

#include "journal.hpp"
#include "value.hpp"

#include <functional>
#include <string>
#include <vector>

namespace hf::kill_test {

/// A write as the judge sees it.
struct past_write {
    u32 session;
    write_kind kind;
    value_id id;
    u64 since;
    u64 ticket;  ///< or in_flight; never changed_nothing
};

struct past_session {
    u64 told = 0;         ///< newest epoch announced as durable
    bool closed = false;  ///< cleanly, and the map said so
};

struct verdict {
    std::vector<std::string> violations;
    u64 writes = 0;     ///< judged
    u64 lost = 0;       ///< acknowledged, not durable, and gone
    u64 unsettled = 0;  ///< in flight when the kill came
    u64 kept_in_flight = 0;
};

struct case_file {
    const key_state* known;    ///< by key; the judge replaces it with what was found
    const observation* found;  ///< by key
    std::vector<std::vector<past_write>> history;  ///< by key, in order
    std::vector<past_session> sessions;
    std::function<std::string(u32 key)> name_of;
    u64 may_lose = 1;  ///< epochs, counted from the newest
};

/// Judges, and writes into `settled` what is known of each key from now on.
[[nodiscard]] verdict judge(const case_file& all, const value_maker& values, key_state* settled);

/// The histories that a journal holds.
[[nodiscard]] std::vector<std::vector<past_write>> histories(const journal& record);

}  // namespace hf::kill_test
