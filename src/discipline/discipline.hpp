// discipline/discipline.hpp: the concept of a discipline, for authors of disciplines and
// structures.
//
// Purpose. A discipline is the rule that keeps the contents of a region consistent when the machine
// stops between any two instructions. It is a type D, and a template parameter of every index and
// of allocating code. No code queries the name or a property of D to choose between two
// implementations: an index has one file of adapters for each discipline (below), and the rest is
// written once.
//
// A discipline acts at these moments in the life of a node, a record, a bucket: of any piece of
// memory that other threads can reach.
//
//   moment                action of the discipline                             hook
//   --------------------  ---------------------------------------------------  --------------
//   an operation begins   enter the epoch, begin the transaction; leave at     D::operation
//                         its end
//   arrival               lazily roll back changes of a crash; check that the  arrive
//                         data to be read is durable
//   before a first write  log the old contents; may fail, and then nothing     before_*
//                         has changed
//   after a write         record the line for the boundary, or flush it        filled
//   a new node            nothing to undo, but its lines must become durable   fresh_*
//   publication           the one store that makes it reachable; what must     publish
//                         be durable before it, or at once after it
//   a reader leaves       ensure that the values read will not be undone       observed
//   retirement            determine when the memory may be reused              D::memory
//
//   discipline   before a first write          publication                    memory
//   -----------  ----------------------------  -----------------------------  -----------------
//   transient    nothing                       a release store                reused next epoch
//   logged       external log, one fence       a release store                rolled back
//   incll        a log in the line itself      a release store                rolled back
//   eager        nothing: it is unreachable    fence, store, flush, fence     swept
//   transaction  its undo log, or a copy       the commit                     committed with it
//
// Memory. D::memory allocates and frees memory in the way in which D undoes changes:
// if D rolls changes back, its heap rolls back with them. A heap of another discipline would leak
// after a crash, or allocate a block twice.
//
// Adapters. Only the index knows the discipline's words in its nodes, and when they are
// stored. So each index X defines, in src/index/X/adapter.hpp, the concept of an adapter for
// it: the types of its nodes, and the hooks above that it uses.
// src/index/X/<discipline>/ has the adapter itself. X<D> finds it by a trait, and checks it at
// instantiation. A new discipline is a new directory; no shared code of an index names one (a house
// test checks that).
//
// Guarantees for a discipline. One writer at a time has a node, by its lock. Writers call a
// before-hook before the first store that it concerns, and stop if it fails. Stores to reachable
// memory are release stores. Operations do not nest.
#pragma once

#include <holdfast/options.hpp>

#include <concepts>
#include <string_view>

namespace hf {

/// The types D::operation and D::memory may be incomplete here: a discipline names them, higher
/// rooms define them.
template <class D>
concept any_discipline = requires {
    { D::kind } -> std::convertible_to<discipline>;        // as recorded in the region's header
    { D::name } -> std::convertible_to<std::string_view>;  // for messages
    { D::durable } -> std::convertible_to<bool>;           // false: nothing outlives the process
    typename D::operation;
    typename D::memory;
};

}  // namespace hf
