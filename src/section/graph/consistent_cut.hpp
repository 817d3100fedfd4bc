// section/graph/consistent_cut.hpp: which sections a crash may keep.
//
// Purpose. Threads run sections. Section s depends on section t if a release in t happens before an
// acquire in s, or if t precedes s in one thread (paper 003, section 2.3). A set of sections may
// survive a crash if every one of them has completed and the set contains all that its members
// depend on. The union of two such sets is one, so there is a largest; and since a thread's own
// sections depend on each other in their order, the set is a prefix of each thread's sections. The
// whole graph therefore reduces to one number per thread: a consistent cut.
//
//     lane 0:  s1 --- s2 --- s3 (running)          cut[0] = 2
//                      \                                       s2 of lane 0 is kept: it depends
//     lane 1:  s1 --- s2 <--- s3                   cut[1] = 1  on nothing that may be lost; s2
//                     depends on s3 of lane 0                  of lane 1 is not.
//
// Sections may depend on each other in a cycle, when each takes a lock that the other has released
// before its own end. They are kept or undone together; no case is needed for that.
//
// Invariants.
//  C1  Every kept section has completed, and each section that it depends on is kept.
//  C2  No larger cut has this property: the loop removes only sections that no such cut contains.
//
// Cost. Each pass checks every dependence of the sections that are still kept. A further pass is
// needed only after a cut was lowered, and a cut is lowered at most once for each section.
//
// Literature. Chakrabarti and Boehm, HotPar 2013, sections 2.2 to 2.4. The largest consistent set
// of recoverable states: Johnson and Zwaenepoel, "Recovery in Distributed Systems Using Optimistic
// Message Logging and Checkpointing", PODC 1988.
#pragma once

#include "base/bits.hpp"

#include <span>
#include <vector>

namespace hf::graph {

/// Names one section of one run.
struct section_id {
    u32 lane = 0;    ///< of the thread that ran it
    u64 number = 0;  ///< in that lane, counted from 1
    friend bool operator==(const section_id&, const section_id&) = default;
};

struct section_facts {
    bool completed = false;
    std::vector<section_id> depends_on;  ///< in other lanes; its own lane's order is implied
};

/// The sections of one lane, in their order.
struct lane_history {
    u64 kept = 0;  ///< number of the last section that can never be undone; 0: none
    std::vector<section_facts> sections;  ///< numbers kept + 1, kept + 2, ...
};

/// For each lane the number of the last section in the largest consistent cut. A dependence on a
/// section that no history contains is never satisfied.
[[nodiscard]] std::vector<u64> largest_consistent_cut(std::span<const lane_history> lanes);

}  // namespace hf::graph
