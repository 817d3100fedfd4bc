// section/graph/graph.hpp: sections by happens-before, as the paper has them (graph mode).
//
// Purpose. The other way to keep failure-atomic sections: instead of one cut between all sections
// of the program (section/group.hpp), every section is logged, and a crash undoes those that had
// not ended and those that depend on them. No thread ever waits for a cut; each store waits for its
// log entry. Faithful to paper 003, sections 2.2 to 2.7; kept beside the epoch mode for comparison
// and for programs in which some thread is always inside a section.
//
//     auto g = graph_mode::open(region, {}).value();
//     lane_state& l = g->attach(lane_index).value();   // once a thread
//     g->begin(l);                                     // before the outermost acquire
//     g->acquired(l, &mutex, access::exclusive);       // after each acquire
//     g->before_store(l, p, 8); *p = value;
//     g->releasing(l, &mutex, access::exclusive);      // before each release
//     g->end(l);                                       // after the outermost release
//
// On the medium. log_entry.hpp: a control segment with the session's number, a ring for each lane.
//
// A section's life.
//
//     begin ----> open ----> completed ----------> kept
//       begin()       end()              step(): in the largest consistent cut, entries dropped
//
// Invariants.
//  I1  An open section has logged the old bytes of every store that it made.
//  I2  A completed section's stores are durable, and its entries, with those of earlier sections of
//      its lane, hold all that it depends on.
//  I3  A kept section's entries, and those of all that it depends on, were durable before its
//      lane's head said so.
//  Hence a crash may undo exactly the sections outside of the largest consistent cut of the durable
//  entries (consistent_cut.hpp), and what is left is closed under happens-before.
//
// Persist order.
//  G1  A store's undo entry, and all entries of the lane before it, durable before the store.
//  G2  A section's stores durable before its end entry is written.
//  G3  All entries of the sections that a step keeps durable before a head says that they are kept.
//  G4  The heads durable before the ring space of dropped entries is used again.
//  G5  Recovery: all restored bytes, and all other data, durable before the session's number
//      changes. The data, because a process that was killed leaves stores in the caches that have
//      no entry (`elide_outside`): the next session depends on what it reads there.
//  G6  The session's number durable before a log of that session is started; an empty log durable
//      before its first entry. The one store of G6 ends recovery for all lanes at once: a crash
//      before it repeats the same undo, a crash after it undoes nothing.
//  G7  A store that needs no entry durable before the thread's next store outside of sections,
//      unless both lie in one line, the same: so a crash leaves the first of them, never a later
//      one without an earlier one.
//  G8  The heads of a file that was closed in order empty before the file counts as open (O1). A
//      crash before O1 leaves a clean file, whose heads no open reads. A copy needs it: the heads
//      have checksums of the original's identity, and after O1 they would be damage.
//
// Stores outside of sections. They form a section of their own, a gap, which ends before the next
// outermost acquire, at the latest after 64 stores or entries. If every earlier section of the
// thread is kept, it depends on nothing that could be undone, and the store needs no entry (section
// 2.7.2: `elide_outside`); its line is written back before the next such store (G7), or with the
// next section.
//
// Full log. A section that begins while its lane's ring is half full waits for the manager; after
// `patience` the process ends with a message. One section may use the other half.
//
// Concurrency. A lane has one owner. step() is called by the manager's thread and by threads that
// wait; a mutex serialises it. Lock order: step_mutex_, lanes_mutex_, then a lane's or the lock
// table's spin lock.
// Media. shm, dax, eadr: where a store reaches the medium by itself. errc::medium on `file`.
#pragma once

#include "epoch/clock.hpp"
#include "section/graph/lane_state.hpp"
#include "section/graph/lock_table.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

namespace hf::graph {

struct graph_options {
    u64 log_bytes = u64{1} << 20;            ///< a lane's ring; rounded up to 64 KiB
    std::chrono::microseconds period{1000};  ///< between two steps of the manager; 0: no thread
    std::chrono::milliseconds patience{10'000};
    bool elide_outside = true;
};

struct graph_statistics {
    u64 sections = 0;  ///< completed
    u64 kept = 0;
    u64 entries = 0;
    u64 elided_stores = 0;
    u64 waits = 0;  ///< for room in a log
};

struct graph_recovery {
    u64 session = 0;  ///< number of the session that was found; 0: none
    u64 sections_undone = 0;
    u64 bytes_restored = 0;
};

/// Makes all logs like those that were never used. For a file that was closed in order, before it
/// counts as open: no entry counts then, and in a copy the heads have checksums of the original's
/// identity. Durable when it returns; a crash before leaves a clean file, which is emptied again.
void empty_logs(region& r);

/// Undoes the sections that a crash interrupted and those that depend on them. Durable when it
/// returns; may be repeated. errc::corrupt: a log is damaged; nothing was changed.
[[nodiscard]] result<graph_recovery> recover(region& r);

class graph_mode {
   public:
    /// Recovers, then starts a session. errc::medium: the region is on the medium `file`.
    [[nodiscard]] static result<std::unique_ptr<graph_mode>> open(region& r,
                                                                  const graph_options& options);
    graph_mode(const graph_mode&) = delete;
    graph_mode& operator=(const graph_mode&) = delete;
    /// No section is open. Keeps what has completed.
    ~graph_mode();

    /// The state of that lane, 0 <= index < max_lanes; its log is made at first use.
    /// errc::no_space: the region has no room for it.
    [[nodiscard]] result<lane_state*> attach(u32 index);

    void begin(lane_state& l);
    /// As begin(), but never waits. False: the lane's log is half full, and nothing has changed.
    [[nodiscard]] bool try_begin(lane_state& l);
    void acquired(lane_state& l, const void* object, access how);
    /// Announces a store to [p, p + n) in the region, at any depth.
    void before_store(lane_state& l, const void* p, u64 n);
    void releasing(lane_state& l, const void* object, access how);
    void end(lane_state& l);
    void destroyed(const void* object) { locks_.forget(object); }

    /// Ends the gap and makes stores durable that needed no entry. Returns the number of the lane's
    /// newest section: once that is kept, so is all that the thread has done. Outside of sections.
    u64 settle(lane_state& l);
    /// Whether every section that has completed is kept.
    [[nodiscard]] bool are_all_kept() const;
    /// Waits until all that the lane's thread has done is kept. Outside of sections. errc::busy:
    /// after `limit` a section that it depends on has still not ended.
    [[nodiscard]] result<void> wait_stable(lane_state& l, std::chrono::milliseconds limit);
    /// Computes the largest consistent cut and drops its entries. Returns whether it grew.
    bool step();

    [[nodiscard]] graph_statistics stats() const;
    [[nodiscard]] const graph_recovery& recovery() const noexcept { return recovered_; }

   private:
    graph_mode(region& r, const graph_options& options) : region_(r), options_(options) {}

    void start_session(u64 control, u64 number);
    [[nodiscard]] result<segment> log_segment(u16 owner);
    void open_section(lane_state& l, bool gap);
    void close_section(lane_state& l);
    void close_gap(lane_state& l) {
        if (l.is_open && l.is_gap) close_section(l);
    }
    [[nodiscard]] static bool has_room(const lane_state& l) noexcept {
        return 2 * l.log.used() < l.log.capacity();
    }
    void wait_for_room(lane_state& l);
    void write_back(lane_state& l) const;
    void depend_on(lane_state& l, const std::vector<section_id>& others);
    void log_store(lane_state& l, u64 offset, u64 n);
    [[nodiscard]] bool is_kept(const section_id& id) const noexcept;
    [[nodiscard]] lane_history history_of(lane_state& l) const;
    void keep(const std::vector<u64>& cut, const std::vector<u64>& written);

    region& region_;
    const graph_options options_;
    u64 session_ = 0;
    graph_recovery recovered_;
    lock_table locks_;

    std::mutex lanes_mutex_;  ///< the making of lanes
    std::array<std::unique_ptr<lane_state>, max_lanes> owned_lanes_;
    std::array<std::atomic<lane_state*>, max_lanes> lanes_{};

    std::mutex step_mutex_;
    std::atomic<u64> waits_{0};
    epoch_clock manager_;
};

}  // namespace hf::graph
