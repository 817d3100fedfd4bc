// bwtree/scan.hpp: a part of bwtree.hpp: entries in order, upwards and downwards.
//
// A scan takes a leaf as it is when it comes to it, deltas and all. Upwards it goes on by the link,
// which says where the leaf ended that was read, whatever has become of that; downwards it looks
// for what is just below the leaf's first bound.
#pragma once

#include "index/bwtree/bwtree.hpp"

#include <limits>

namespace hf {

/// Visits a leaf's entries from the bound on (nullopt: all).
template <class D, class Keys>
template <bool Up, class Visit>
u64 bwtree<D, Keys>::visit_leaf(operation& op, const place& p, const limit& from, bool exclusive,
                                u64 most, Visit&& visit) const {
    gathered g;
    gather(op, p.head, p.base, g);
    op.observed();
    u32 i = Up ? 0 : g.count;
    if (from) {
        // The first entry that is not below the bound, or is above it.
        const bool beyond = Up == exclusive;
        u32 low = 0;
        for (u32 high = g.count; low < high;) {
            const u32 middle = (low + high) / 2;
            const int c = compare(key_of(g.entries[middle]), *from);
            if (beyond ? c <= 0 : c < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        i = low;
    }
    u64 visited = 0;
    for (; visited < most && (Up ? i < g.count : i > 0); ++visited) {
        const entry& e = g.entries[Up ? i++ : --i];
        visit(whole_key_of(e), value_if_sound(e));
    }
    return visited;
}

/// A long scan is several operations: memory that is unlinked meanwhile need not wait for its end.
template <class D, class Keys>
template <bool Up, class Visit>
u64 bwtree<D, Keys>::scan_from(eager_space& space, const key* start, u64 most,
                               Visit&& visit) const {
    constexpr u64 an_operation = 4096;
    using kept_key = std::conditional_t<std::is_same_v<key, std::string_view>, std::string, key>;
    kept_key from(*start);
    bool exclusive = false;
    u64 visited = 0;
    for (bool more = true; more && visited < most;) {
        operation op(space);
        const u64 end = visited + std::min(most - visited, an_operation);
        limit bounds = bound::of(key(from));
        bool excludes = exclusive;
        key last{};
        place p = find(op, *bounds, 0);
        for (;;) {
            if constexpr (Up) __builtin_prefetch(at<cell>(p.base->next));
            visited += visit_leaf<Up>(op, p, bounds, excludes, end - visited,
                                      [&](const key& k, const value& v) {
                                          last = k;
                                          exclusive = true;
                                          visit(k, v);
                                      });
            op.took_step();
            more = Up ? p.base->has_high() : p.base->has_low();
            if (visited == end || !more) break;
            if constexpr (Up) {
                bounds.reset();
                p.at = at<cell>(p.base->next);
                p.word = load_word(op, *p.at);
                p.head = at<block>(bwtree_detail::cell::offset_of(p.word));
                p.base = base_of(p.head);
                begin_loading(p.base);
            } else {
                bounds = low_of(p.base);
                excludes = true;
                p = find<true>(op, *bounds, 0);
            }
        }
        from = kept_key(last);
        more = more || visited == end;
    }
    return visited;
}

template <class D, class Keys>
template <class Visit>
u64 bwtree<D, Keys>::scan(eager_space& space, key lower, u64 most, Visit&& visit) const {
    return scan_from<true>(space, &lower, most, visit);
}

template <class D, class Keys>
template <class Visit>
u64 bwtree<D, Keys>::scan_back(eager_space& space, key upper, u64 most, Visit&& visit) const {
    return scan_from<false>(space, &upper, most, visit);
}

template <class D, class Keys>
template <class Visit>
void bwtree<D, Keys>::for_each(eager_space& space, Visit&& visit) const {
    const key lowest{};
    scan_from<true>(space, &lowest, std::numeric_limits<u64>::max(), visit);
}

}  // namespace hf
