// discipline/discipline.hpp: what a discipline is, for those who write one or a structure for one.
//
// Purpose. A region survives, the process does not. A discipline is a way of keeping what lies in
// the region consistent when the machine stops between any two instructions. It is a type D, and a
// template parameter of every index and of what allocates. Nothing asks D for its name or for a
// property to choose between two pieces of code: an index has one file of adapters a discipline
// (below), and what remains is written once.
//
// A discipline answers for these moments in the life of a node, a record, a bucket: of any piece of
// memory that others can reach.
//
//   moment                what the discipline does then                        hook
//   --------------------  ---------------------------------------------------  --------------
//   an operation begins   epoch entered, transaction begun; left at its end    D::operation
//   arrival               roll back lazily what a crash has left; see whether  arrive
//                         what is to be read is durable
//   before a first write  log the old contents; may fail, and then nothing     before_*
//                         has changed
//   after a write         remember the line for the boundary, or flush it      filled
//   a fresh node          there is nothing to undo, but its lines must become  fresh_*
//                         durable
//   publication           the one store after which others find it; what must  publish
//                         be durable before it, or at once after it
//   a reader leaves       make sure that what it has seen will not be undone   observed
//   retirement            when the memory may be used again                    D::memory
//
//   discipline   before a first write          publication                    memory
//   -----------  ----------------------------  -----------------------------  -----------------
//   transient    nothing                       a release store                reused next epoch
//   logged       external log, one fence       a release store                rolled back
//   incll        a log in the line itself      a release store                rolled back
//   eager        nothing: it is unreachable    fence, store, flush, fence     swept
//   transaction  its undo log, or a copy       the commit                     committed with it
//
// Whose heap it is. D::memory hands out and takes back memory in the way in which D undoes changes:
// what a discipline rolls back, its heap rolls back with it. A heap of another discipline leaks
// after a crash, or hands out twice.
//
// Adapters. Which words a node has for a discipline, and what is stored to them when, only the
// index knows. So each index X states, in src/index/X/adapter.hpp, the concept of an adapter for
// it: the types of its nodes, and those of the hooks above that it has use for.
// src/index/X/<discipline>/ has the adapter itself. X<D> finds it by a trait, and checks it when it
// is made. A new discipline is a new directory; no shared code of an index names one (a test of the
// house checks that).
//
// What a discipline may rely on. One writer at a time has a node, by its lock. Writers call a
// before-hook before the first store that it is about, and stop if it fails. Stores to what others
// can reach are release stores. Operations do not nest.
#pragma once

#include <holdfast/options.hpp>

#include <concepts>
#include <string_view>

namespace hf {

/// The types of what encloses an operation and of the heap may be incomplete here: a discipline
/// names them, rooms above define them.
template <class D>
concept any_discipline = requires {
    { D::kind } -> std::convertible_to<discipline>;        // as the region's header has it
    { D::name } -> std::convertible_to<std::string_view>;  // as people are told
    { D::durable } -> std::convertible_to<bool>;           // whether anything outlives the process
    typename D::operation;
    typename D::memory;
};

}  // namespace hf
