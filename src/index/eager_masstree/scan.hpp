// eager_masstree/scan.hpp: a part of eager_masstree.hpp: keys in order, upwards and downwards.
//
// A scan copies a leaf's pairs, as they are at one moment, and goes on behind that leaf's last key,
// or before its first one. It collects up to 128 of them, makes sure that they are durable, and
// visits them; then a new operation begins behind the last one.
#pragma once

#include "index/eager_masstree/eager_masstree.hpp"

namespace hf {

template <class D, class Keys>
struct eager_masstree<D, Keys>::leaf_copy {
    u64 low;
    u64 last;
    u64 next;
    unsigned count = 0;
    std::array<std::pair<u64, u64>, eager_masstree_detail::width> pairs;
};

template <class D, class Keys>
struct eager_masstree<D, Keys>::scan_state {
    static constexpr u64 most_collected = 128;
    static constexpr unsigned most_depth = most_key_bytes / 8 + 2;
    bool is_exclusive = false;  ///< the bound itself is left out
    u64 wanted = 0;
    u64 count = 0;
    unsigned depth = 0;  ///< layers
    std::array<std::pair<u64, u64>, most_collected> all;

    [[nodiscard]] bool is_full() const noexcept { return count == wanted; }
    void add(u64 slice, u64 word) noexcept { all[count++] = {slice, word}; }
};

/// The leaf to which a slice belongs, at or to the right of `s`.
template <class D, class Keys>
auto eager_masstree<D, Keys>::copy_leaf(operation& op, spot s, u64 slice) const -> leaf_copy {
    for (;;) {
        leaf_copy l;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by count
        const u64 before = s.n->lock.load();
        l.last = s.n->last.load();
        if (slice > l.last) {
            go_right(op, s, l.last);
            continue;
        }
        const order_word o = s.n->used();
        if (o.size() > eager_masstree_detail::width)
            op.fail(s.n, "a leaf has more keys than there is room for");
        for (unsigned r = 0; r < o.size(); ++r) {
            const auto& p = s.n->pair_at(o, r);
            const u64 k = p.key.load();
            if (k >= s.low && k <= l.last) l.pairs[l.count++] = {k, p.word.load()};
        }
        l.low = s.low;
        l.next = s.n->next.load();
        const u64 after = s.n->lock.load();
        if (is_changed(before, after)) continue;
        saw_node(op, *s.n, after);
        return l;
    }
}

/// What a leaf has at or behind the bound, in the direction of the scan.
template <class D, class Keys>
template <bool Up>
void eager_masstree<D, Keys>::collect_leaf(operation& op, const leaf_copy& l, const cursor* bound,
                                           scan_state& s) const {
    using namespace eager_masstree_detail;
    for (unsigned i = 0; i < l.count && !s.is_full(); ++i) {
        const auto [slice, word] = l.pairs[Up ? i : l.count - 1 - i];
        unsigned length_class = 0;
        if constexpr (has_layers) length_class = entry_word::class_of(word);
        bool is_at_bound = false;
        if (bound != nullptr) {
            const std::pair here(slice, length_class);
            const std::pair there(bound->slice(), bound->length_class());
            if (Up ? here < there : here > there) continue;
            is_at_bound = here == there;
        }
        if constexpr (has_layers) {
            if (entry_word::is_layer(word)) {
                const auto& below = *at<root_block>(entry_word::offset_of(word));
                if (!is_at_bound) {
                    collect<Up>(op, below, nullptr, s);
                } else {
                    cursor deeper = *bound;
                    check_goes_on(op, deeper, &below);
                    deeper.descend();
                    collect<Up>(op, below, &deeper, s);
                }
                continue;
            }
            if (is_at_bound && length_class == longer) {
                const key k = Keys::key_of(record_of(word));
                if (Up ? k < bound->whole() : k > bound->whole()) continue;
                is_at_bound = k == bound->whole();
            }
            __builtin_prefetch(&record_of(word));
        }
        if (!is_at_bound || !s.is_exclusive) s.add(slice, word);
    }
}

template <class D, class Keys>
template <bool Up>
void eager_masstree<D, Keys>::collect(operation& op, const root_block& root, const cursor* bound,
                                      scan_state& s) const {
    using namespace eager_masstree_detail;
    u64 from = bound != nullptr ? bound->slice() : Up ? 0 : highest;
    spot where = descend(op, root, from, 0);
    if (++s.depth > scan_state::most_depth) op.fail(&root, "layers lead round in a circle");
    for (;;) {
        const leaf_copy l = copy_leaf(op, where, from);
        if (l.low > from) op.fail(&root, "the keys of nodes do not ascend");
        op.arrived();
        if (Up && l.next != 0) at<node>(l.next)->prefetch();
        collect_leaf<Up>(op, l, bound, s);
        if (s.is_full() || (Up ? l.last == highest : l.low == 0)) {
            --s.depth;
            return;
        }
        from = Up ? l.last + 1 : l.low - 1;
        where = Up ? spot{at<node>(l.next), from} : descend(op, root, from, 0);
    }
}

template <class D, class Keys>
template <bool Up, class Visit>
u64 eager_masstree<D, Keys>::scan_from(eager_space& space, key bound, u64 most,
                                       Visit&& visit) const {
    using kept_key = std::conditional_t<std::is_same_v<key, std::string_view>, std::string, key>;
    kept_key from(bound);
    u64 visited = 0;
    scan_state s;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by count
    while (visited < most) {
        operation op(space);
        s.wanted = std::min(most - visited, scan_state::most_collected);
        s.count = 0;
        s.depth = 0;
        const cursor begin{key(from)};
        collect<Up>(op, *root_, &begin, s);
        op.observed();
        key last{};
        for (u64 i = 0; i < s.count; ++i) {
            if constexpr (has_layers) {
                last = Keys::key_of(record_of(s.all[i].second));
            } else {
                last = s.all[i].first;
            }
            visit(last, value_if_sound(s.all[i].second));
        }
        visited += s.count;
        if (!s.is_full()) break;
        from = kept_key(last);
        s.is_exclusive = true;
    }
    return visited;
}

}  // namespace hf
