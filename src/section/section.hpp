// section/section.hpp: failure-atomic sections for programs with locks: what the room is for, and
// why it is right.
//
// Purpose. A program with locks comes back after a crash in a state that its own locks call
// consistent (Chakrabarti and Boehm, HotPar 2013, section 2). Its outermost critical sections are
// failure-atomic, and the effects of a section survive only together with those of every section
// that happens before it. The program is not rewritten: its locks are found by interposition
// (locks/), its stores by pages or by the hooks of holdfast/section_hooks.h.
//
// The cut. "If no locks are held by any thread, all data structures should be in a consistent
// state" (section 2 of the paper). The runtime makes such moments: it closes a gate that outermost
// sections pass, waits for those in flight, and takes the state for durable. A crash goes back to
// the newest durable cut. Nothing has to be recorded about which section happens before which:
//
//  Claim. The state at a cut is closed under happens-before, and has no part of a section.
//  Proof. Let cut c lie between the moments at which the gate is closed and opened. By S1
//  (gate.hpp) each section ends before c or begins after it, so the cut has none in part. If
//  section o1 happens before o2 and o2 is in the cut, then a release of o1 comes before an acquire
//  of o2, which comes before c. So o1 has begun before c, and by S1 has ended before c: it is in
//  the cut. A store outside of sections is a section of its own for the hooks (C1); found by pages,
//  it may be captured or not, and the rule of docs/sections.md makes that harmless. Figures 2 and 3
//  of the paper are instances: tests/rooms/section/litmus_test.cpp. Cycles between sections that
//  overlap are no case of their own, for all of them have ended.
//
//     thread 1   |---- o1 ----|         gate |--- waits ---|---- o3 ----|
//     thread 2        |------ o2 ------|     .             .
//     leader                      close ... cut ........ open
//
// Parts.
//     gate.hpp         which threads are inside; closing it with a time-out; proofs
//     cutter.hpp       the thread that cuts, and its pace
//     threads.hpp      what is kept for each thread
//     first_touch.hpp  undo log by line, claimed by one thread (in place), over undo/
//     group.hpp        the file: epochs, recovery, U0 to U4
//     graph_sections.hpp  the other mode, without cuts: sections by happens-before (graph/)
//     held_output.hpp  output that is written once it is stable
//     heap/            memory, whose metadata go back with the cut
//     runtime.hpp      the one of this process
//     locks/           pthread, C11 and C++ locks begin and end sections
//
// Rules. Each is a place where a simple implementation breaks, and a test.
//  C1  A store lies inside the gate: hf_section_store() at depth 0 enters, hf_section_stored()
//      leaves.
//  C2  One thread claims the first touch of a line; others wait until its entry is durable.
//  C3  One gate and one group a process. A group is one file, so one record decides for all of
//      its regions.
//  C4  The gate is closed with a time-out only, and never by a thread that holds a lock.
//  C5  A wait for a condition leaves the gate and enters it again (locks/condition.cpp).
//  C6  A thread that waits for its outermost lock is outside (locks/locked.hpp).
//  C7  Time-out and pause double after failed attempts; a thread that waited passes first (S3).
//  C8  Tags are cleared at the cut from the threads' lists; they do not count, and cannot wrap.
//  C9  The undo log of an epoch is at most twice the region; near its end new sections are held.
//  C10 An allocator's call is a section; a freed block is reused at once, with undo.
//  C11 The runtime takes no interposed lock as a section, keeps its lists in memory of its own,
//      lists each thread's locks, and ends the process with one message for a use it cannot carry
//      on from.
//  C12 hf_wait_stable() inside a section is an error.
//
// Persist order in place: U0 to U4 and R1 in group.hpp. With private memory the journal's
// (journal/): the cut's lines are copied in the closed gate (epoch/capture.hpp).
//
// Lock order. The program's locks; the gate; the table of regions; the heap; a region's growth.
//
// Literature. Chakrabarti and Boehm, "Durability Semantics for Lock-based Multithreaded Programs",
// HotPar 2013. Chakrabarti, Boehm, Bhandari, "Atlas: Leveraging Locks for Non-volatile Memory
// Consistency", OOPSLA 2014, for the graph of sections that this room does without.
#pragma once

#include "section/runtime.hpp"
