// shadow/rules.hpp: the rules of optimised shadow paging, once for simulator, engine and tests.
//
// Purpose. A page has two physical slots, P0 and P1, and two bits a cache line. The committed bit
// says which slot holds the line's last committed version; the updated bit says that the running
// transaction has written the line, into the other slot. A commit flips committed bits: no old or
// new data is copied into a log. The rules are pure functions and plain structs over memory. They
// neither flush nor allocate nor lock: their callers do, in the order given here.
//
//     page_bits b = ...;                        // of a page, from its entry in the state table
//     if (b.needs_old_line(line)) copy(slot(b.read_slot(line)) -> slot(b.write_slot(line)));
//     b.store(line);                            // now read_slot(line) == write_slot(line)
//     page_change c = b.change(page);           // the commit's record of this page
//     b.commit();                               // or b.abort()
//
//   header                  rules
//   bitmaps.hpp             committed and updated bits; which slot is read and which is written
//   state_table.hpp         {V, P0, P1, CB} on the medium
//   home_entry.hpp          the same for a page whose P0 is its home, with checks; the engine's
//   journal_record.hpp      the record of one commit: packed {page, mask, value} and a checksum
//   super_page.hpp          the other way to commit: pages whose lines hold committed bitmaps
//   consolidation.hpp       from two slots back to one
//   recovery.hpp            replay, and the slots that are in use
//
// Invariants.
//   shadow I1  A line's committed version is never written: stores go to slot C xor 1.
//   shadow I2  While a line's updated bit is 0, the content of slot C xor 1 has no meaning.
//   shadow I3  A page with updated bits is not consolidated.
//   shadow I4  A line is updated by at most one transaction at a time. Two transactions may update
//              different lines of one page: their records change different bits, and so commute.
//
// Persist order of a commit by journal.
//   shadow P1  The updated lines are durable before the record is.
//   shadow P2  The record is durable: the durable point. Its checksum covers all of it, so a part
//              of it counts as nothing.
//   shadow P3  The new bits go to the state table; the table's lines are durable before the record
//              is overwritten. A truncation waits for commits that are durable, but whose bits
//              are not all in the table yet.
// Commit by super page: P1 for the lines of data and of bitmaps at all levels, then one store of
// eight bytes, the root's committed bitmap, flushed and fenced: the durable point.
// Consolidation: consolidation.hpp, shadow K1 to K5. Insertion and removal: state_table.hpp.
//
// Concurrency. None here: a caller guards a page_bits; I4 is the caller's (line or page owners).
//
// Recovery. shadow R1: replay the records that follow the last truncation, oldest first, up to the
// first one that is not whole. shadow R2: updated bits are not on the medium, which aborts what had
// not reached P2. shadow R3: a slot that neither page table nor state table names is free. Replay
// writes bits, it does not flip them: running it twice gives the same table.
//
// Bad input. A damaged record ends the replay as a torn one does (recovery.hpp says which records
// make that damage). An entry that cannot be is reported by is_sane().
//
// Literature. Ni, Zhao, Bittman, Miller, "Reducing NVM Writes with Optimized Shadow Paging"
// (HotStorage 2018). The paper leaves open: the record's form, ordering, aborts of overflowing
// transactions, crash points of consolidation, several cores. These are this project's engineering.
#pragma once

#include "shadow/bitmaps.hpp"
#include "shadow/consolidation.hpp"
#include "shadow/home_entry.hpp"
#include "shadow/journal_record.hpp"
#include "shadow/recovery.hpp"
#include "shadow/state_table.hpp"
#include "shadow/super_page.hpp"
