// masstree/asserted.hpp: assertions about a node after a change.
//
// The node is locked, or not reachable by other threads yet.
#pragma once

#include "index/masstree/node.hpp"

#include <utility>

namespace hf::masstree_detail {

/// True if the permutation is valid and the entries ascend from the low key on.
template <class Leaf>
    requires requires(const Leaf& n) { n.order; }
[[nodiscard]] bool is_in_order(const Leaf& n) noexcept {
    const permutation<Leaf::width> p(load(n.order));
    if (!p.is_valid()) return false;
    const u64 lengths = load(n.lengths);
    for (unsigned r = 0; r < p.size(); ++r) {
        const u64 slice = load(n.keys[p.slot(r)]);
        if (slice < load(n.low_key)) return false;
        if (r == 0) continue;
        const unsigned left = p.slot(r - 1);
        const std::pair before(load(n.keys[left]), length_class(lengths, left));
        if (before >= std::pair(slice, length_class(lengths, p.slot(r)))) return false;
    }
    return true;
}

/// True if the key count is possible and the keys ascend.
[[nodiscard]] inline bool is_in_order(const interior& n) noexcept {
    const u64 count = load(n.count);
    for (unsigned i = 1; i < count && i < interior::width; ++i) {
        if (load(n.keys[i - 1]) >= load(n.keys[i])) return false;
    }
    return count <= interior::width;
}

}  // namespace hf::masstree_detail
