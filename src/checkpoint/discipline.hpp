// checkpoint/discipline.hpp: the disciplines of the checkpoint family; see
// discipline/discipline.hpp for the concept.
//
// `transient` does nothing and is the baseline for every overhead (MT+ in Cohen et al., ASPLOS
// 2019, section 6).
#pragma once

#include "discipline/discipline.hpp"

namespace hf {

class operation;
template <class Logs>
class list_heap;
struct rolled_back_lists;
struct unlogged_lists;
class malloc_heap;

/// Nothing survives. Memory is from the region, epochs are only a grace period (the paper's
/// MT+).
struct transient_discipline {
    using operation = hf::operation;
    using memory = list_heap<unlogged_lists>;  ///< heap/heap.hpp
    static constexpr discipline kind = discipline::transient;
    static constexpr bool durable = false;
    static constexpr const char* name = "transient";
};

/// As transient, with malloc'ed nodes (the paper's MT).
struct malloc_discipline {
    using operation = hf::operation;
    using memory = malloc_heap;
    static constexpr discipline kind = discipline::transient;
    static constexpr bool durable = false;
    static constexpr const char* name = "transient-malloc";
};

/// Checkpointing with the external log alone (the paper's LOGGING).
struct logged_discipline {
    using operation = hf::operation;
    using memory = list_heap<rolled_back_lists>;
    static constexpr discipline kind = discipline::logged;
    static constexpr bool durable = true;
    static constexpr const char* name = "logged";
};

/// Checkpointing with in-cache-line logs, and the external log where they do not suffice (the
/// paper's INCLL).
struct incll_discipline {
    using operation = hf::operation;
    using memory = list_heap<rolled_back_lists>;
    static constexpr discipline kind = discipline::incll;
    static constexpr bool durable = true;
    static constexpr const char* name = "incll";
};

static_assert(any_discipline<transient_discipline> && any_discipline<malloc_discipline> &&
              any_discipline<logged_discipline> && any_discipline<incll_discipline>);

}  // namespace hf
