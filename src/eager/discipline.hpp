// eager/discipline.hpp: the disciplines of the eager family: discipline/discipline.hpp says what
// that means. Their operations have the same calls, so an index of this family needs no adapter
// but its name: index<D> uses D::operation.
#pragma once

#include "discipline/discipline.hpp"

namespace hf {

class swept_heap;
class persist_batch;
class no_lines;
template <class Lines>
class eager_operation;

/// Every operation that has returned survives.
struct eager_discipline {
    using operation = eager_operation<persist_batch>;
    using memory = swept_heap;
    static constexpr discipline kind = discipline::eager;
    static constexpr bool durable = true;
    static constexpr const char* name = "eager";
};

/// Nothing survives: the same indexes without a flush or a fence.
struct eager_transient_discipline {
    using operation = eager_operation<no_lines>;
    using memory = swept_heap;
    static constexpr discipline kind = discipline::transient;
    static constexpr bool durable = false;
    static constexpr const char* name = "transient";
};

static_assert(any_discipline<eager_discipline> && any_discipline<eager_transient_discipline>);

}  // namespace hf
