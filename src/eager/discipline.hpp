// eager/discipline.hpp: the two disciplines of the eager family (concept:
// discipline/discipline.hpp). Their operation types have the same functions, so an index of this
// family is a template over the discipline and uses D::operation without an adapter.
#pragma once

#include "discipline/discipline.hpp"

namespace hf {

class swept_heap;
class persist_batch;
class no_lines;
template <class Lines>
class eager_operation;

/// An operation is durable when it returns.
struct eager_discipline {
    using operation = eager_operation<persist_batch>;
    using memory = swept_heap;
    static constexpr discipline kind = discipline::eager;
    static constexpr bool durable = true;
    static constexpr const char* name = "eager";
};

/// Nothing survives: the same indexes without flushes and fences.
struct eager_transient_discipline {
    using operation = eager_operation<no_lines>;
    using memory = swept_heap;
    static constexpr discipline kind = discipline::transient;
    static constexpr bool durable = false;
    static constexpr const char* name = "transient";
};

static_assert(any_discipline<eager_discipline> && any_discipline<eager_transient_discipline>);

}  // namespace hf
