// discipline.hpp: the disciplines of the checkpoint family, as template arguments of alloc/ and of
// the indexes.
//
// A structure that takes a discipline D asks it at compile time what to do before a first change.
// The code of the structure is the same for all; `transient` compiles every hook away and is the
// yardstick of every overhead (the paper's MT+, section 6).
#pragma once

#include <holdfast/options.hpp>

namespace hf {

template <class Logs>
class list_heap;
struct rolled_back_lists;
struct unlogged_lists;
class malloc_heap;

/// Nothing survives. Memory comes from the region, epochs are only a grace period (the paper's
/// MT+).
struct transient_discipline {
    using memory = list_heap<unlogged_lists>;  ///< heap/heap.hpp
    static constexpr discipline kind = discipline::transient;
    static constexpr bool durable = false;       ///< logs, dirty lines, recovery
    static constexpr bool incll = false;         ///< in-cache-line logs in leaves
    static constexpr bool malloc_nodes = false;  ///< memory from malloc instead of the region
    static constexpr const char* name = "transient";
};

/// As transient, with malloc'ed nodes (the paper's MT).
struct malloc_discipline : transient_discipline {
    using memory = malloc_heap;
    static constexpr bool malloc_nodes = true;
    static constexpr const char* name = "transient-malloc";
};

/// Checkpointing with the external log alone (the paper's LOGGING).
struct logged_discipline {
    using memory = list_heap<rolled_back_lists>;
    static constexpr discipline kind = discipline::logged;
    static constexpr bool durable = true;
    static constexpr bool incll = false;
    static constexpr bool malloc_nodes = false;
    static constexpr const char* name = "logged";
};

/// Checkpointing with in-cache-line logs, external log where they don't suffice (the paper's
/// INCLL).
struct incll_discipline {
    using memory = list_heap<rolled_back_lists>;
    static constexpr discipline kind = discipline::incll;
    static constexpr bool durable = true;
    static constexpr bool incll = true;
    static constexpr bool malloc_nodes = false;
    static constexpr const char* name = "incll";
};

}  // namespace hf
