// sim/observer.hpp: what a simulated machine tells of each thing that it does to the medium.
//
// The simulator keeps no contents. A test gives it an observer that does: it stores, flushes and
// fences on a modelled medium in the same order, and can cut the power by an exception at any call.
// The default does nothing and costs nothing.
#pragma once

#include "base/bits.hpp"
#include "shadow/rules.hpp"

#include <span>

namespace hf::sim {

struct no_observer {
    // Lines are physical: page * 64 + line.
    static constexpr void fetch(u64 /*from*/, u64 /*to*/) {}  ///< the old version, before a store
    static constexpr void write(u64 /*line*/, u64 /*address*/) {}  ///< the program's store
    static constexpr void copy(u64 /*from*/, u64 /*to*/) {}        ///< by a consolidation
    static constexpr void flush(u64 /*line*/) {}
    static constexpr void fence() {}
    /// Stores a commit's record at line `at` of the journal, and flushes it.
    static constexpr void record(u64 /*at*/, u64 /*sequence*/,
                                 std::span<const shadow::page_change> /*changes*/) {}
    /// Stores the sequence number of the record at line 0, and flushes it.
    static constexpr void journal_begins(u64 /*sequence*/) {}
    static constexpr void table_entry(u64 /*index*/, const shadow::table_entry& /*now*/) {}
    static constexpr void table_bits(u64 /*index*/, shadow::line_set /*committed*/) {}
    static constexpr void flush_table(u64 /*line*/) {}
    /// Stores the physical page of a virtual one, and flushes it.
    static constexpr void map(u64 /*page*/, u64 /*physical*/) {}
};

}  // namespace hf::sim
