// bwtree/scan.hpp: part of bwtree.hpp: scans in both directions.
//
// A scan reads each leaf with its deltas, as of the moment it arrives there. Upwards it continues
// at the link of the leaf version that it has read, even if the leaf has changed since; downwards
// it searches for the largest key below the leaf's lower bound.
#pragma once

#include "index/bwtree/bwtree.hpp"
#include "index/common/scan.hpp"

#include <limits>

namespace hf {

/// Prefetches the right neighbour of a leaf.
template <class D, class Keys>
void bwtree<D, Keys>::begin_loading_right(const node& n) const noexcept {
    if (!n.has_high()) return;
    const cell& c = *at<cell>(n.next);
    __builtin_prefetch(at<block>(cell::offset_of(c.load())));
    begin_loading_chain(c);
}

/// The number of changes below the bound; with `exclusive`, also those equal to it.
template <class D, class Keys>
u32 bwtree<D, Keys>::first_change(const gathered& g, const bound& from, bool exclusive) const {
    u32 c = 0;
    for (; c < g.changes; ++c) {
        const int order_of = compare(key_of(g.changed[c].e), from);
        if (exclusive ? order_of > 0 : order_of >= 0) break;
    }
    return c;
}

/// Visits a leaf's entries upwards from the bound (nullopt: all), merging deltas and node in place.
template <class D, class Keys>
template <class Visit>
u64 bwtree<D, Keys>::visit_upwards(operation& op, const place& p, const limit& from, bool exclusive,
                                   u64 most, Visit&& visit) const {
    gathered g;
    gather_changes(op, p.head, p.base, g);
    const u64 dead = dead_in(op, p.base);
    op.persist_dependencies();
    const u64* heads = p.base->heads();
    const u64* words = p.base->words();
    u32 i = 0;
    u32 c = 0;
    if (from) {
        c = first_change(g, *from, exclusive);
        i = first_not_below(p.base, from->head, [&](u32 j) {
            if constexpr (order::exact) return exclusive;
            const int order_of = compare(key_of({heads[j], words[j]}), *from);
            return exclusive ? order_of <= 0 : order_of < 0;
        });
    }
    u64 visited = 0;
    const auto give = [&](const entry& e) {
        visit(whole_key_of(e), value_if_sound(e));
        ++visited;
    };
    while (visited < most) {
        const bool is_last = c == g.changes;
        const meeting m =
            is_last ? meeting{p.base->count(), false} : meet(p.base, i, g.changed[c].e);
        if (dead == 0) {
            const u32 end = i + static_cast<u32>(std::min<u64>(m.at - i, most - visited));
            for (; i < end; ++i) give({heads[i], words[i]});
        } else {
            for (; i < m.at && visited < most; ++i) {
                if ((dead >> i & 1) == 0) give({heads[i], words[i]});
            }
        }
        if (is_last || visited == most) break;
        if (m.is_same) ++i;
        const auto& change = g.changed[c++];
        if (!change.gone && !change.dead) give(change.e);
    }
    return visited;
}

/// Visits a leaf's entries downwards from the bound (nullopt: all).
template <class D, class Keys>
template <class Visit>
u64 bwtree<D, Keys>::visit_downwards(operation& op, const place& p, const limit& from,
                                     bool exclusive, u64 most, Visit&& visit) const {
    gathered g;
    gather(op, p.head, p.base, g);
    op.persist_dependencies();
    u32 i = g.count;
    if (from) {
        // Find the first entry above the bound (exclusive: not below it).
        u32 low = 0;
        for (u32 high = g.count; low < high;) {
            const u32 middle = (low + high) / 2;
            const int c = compare(key_of(g.entries[middle]), *from);
            if (exclusive ? c < 0 : c <= 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        i = low;
    }
    u64 visited = 0;
    for (; visited < most && i > 0; ++visited) {
        const entry& e = g.entries[--i];
        visit(whole_key_of(e), value_if_sound(e));
    }
    return visited;
}

/// A long scan consists of several operations, so that memory unlinked meanwhile can be freed.
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
        const u64 begin = visited;
        const u64 end = visited + std::min(most - visited, an_operation);
        const bool began_behind = exclusive;
        limit bounds = bound::of(key(from));
        bool excludes = exclusive;
        key last{};
        place p = find(op, *bounds, 0);
        for (;;) {
            const auto keep = [&](const key& k, const value& v) {
                last = k;
                exclusive = true;
                visit(k, v);
            };
            if constexpr (Up) {
                begin_loading_right(*p.base);
                visited += visit_upwards(op, p, bounds, excludes, end - visited, keep);
            } else {
                visited += visit_downwards(op, p, bounds, excludes, end - visited, keep);
            }
            op.took_step();
            more = Up ? p.base->has_high() : p.base->has_low();
            if (visited == end || !more) break;
            if constexpr (Up) {
                bounds.reset();
                p.at = at<cell>(p.base->next);
                p.word = load_word(op, *p.at);
                p.head = at<block>(bwtree_detail::cell::offset_of(p.word));
                p.base = base_of(p.head);
            } else {
                bounds = low_of(p.base);
                excludes = true;
                p = find<true>(op, *bounds, 0);
            }
        }
        if (visited != begin) check_came_on<Up>(op, root_, key(from), last, began_behind);
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
