// eager_masstree/scan.hpp: part of eager_masstree.hpp: scans in both directions.
//
// A scan copies a leaf's pairs as of one moment, and continues after that leaf's last key, or
// before its first one. It collects up to 128 entries, makes them durable, and visits them; then a
// new operation continues after the last one.
#pragma once

#include "index/common/scan.hpp"
#include "index/eager_masstree/eager_masstree.hpp"

namespace hf {

template <class D, class Keys>
struct eager_masstree<D, Keys>::copied {
    u64 slice;
    u64 word;
};

template <class D, class Keys>
struct eager_masstree<D, Keys>::leaf_copy {
    u64 low;
    u64 last;
    u64 next;
    unsigned count;
    copied* pairs;  ///< destination, with room for a leaf's pairs
};

template <class D, class Keys>
struct eager_masstree<D, Keys>::scan_state {
    static constexpr u64 most_collected = 128;
    static constexpr unsigned most_depth = most_key_bytes / 8 + 2;
    bool is_exclusive = false;  ///< excludes the bound itself
    u64 first = 0;              ///< entries before this index are out of bounds
    u64 wanted = 0;             ///< entries to collect
    u64 count = 0;
    unsigned depth = 0;  ///< number of layers
    /// Has room for the entries of the first and the last leaf that are out of bounds.
    std::array<copied, most_collected + 2 * eager_masstree_detail::width> all;

    [[nodiscard]] bool is_full() const noexcept { return count == wanted; }
    void add(u64 slice, u64 word) noexcept { all[count++] = {slice, word}; }
};

/// Predicts the leaves of a scan from their parent and prefetches them. Takes no locks: only hints.
template <class D, class Keys>
class eager_masstree<D, Keys>::leaves_ahead {
   public:
    explicit leaves_ahead(const eager_masstree& t) noexcept : tree_(t) {}
    /// Starts after the leaf of `slice`, for about `keys` keys. `parent`: its parent; nullptr:
    /// none.
    void begin(const node* parent, u64 slice, u64 keys) noexcept {
        constexpr u64 usual = 9;  ///< entries of a typical leaf
        constexpr u64 at_once = 5;
        parent_ = parent;
        if (parent_ == nullptr) return;
        left_ = keys / usual + 1;
        order_ = parent_->used();
        rank_ = static_cast<unsigned>(parent_->child_rank(order_, slice) + 1);
        for (u64 i = 0; i < at_once; ++i) load_next();
    }
    void load_next() noexcept {
        if (parent_ == nullptr || left_ == 0) return;
        --left_;
        if (rank_ >= order_.size()) {
            const u64 next = parent_->next.load();
            parent_ = next == 0 ? nullptr : tree_.at<node>(next);
            if (parent_ == nullptr) return;
            order_ = parent_->used();
            rank_ = 0;
        }
        tree_.at<node>(parent_->pair_at(order_, rank_++).word.load())->prefetch();
    }

   private:
    const eager_masstree& tree_;
    const node* parent_ = nullptr;
    order_word order_;
    unsigned rank_ = 0;
    u64 left_ = 0;
};

/// Copies the leaf whose range contains `slice`, at `s` or to the right of it.
template <class D, class Keys>
void eager_masstree<D, Keys>::copy_leaf(operation& op, spot s, u64 slice, leaf_copy& l) const {
    for (;;) {
        const u64 before = s.n->lock.load();
        l.last = s.n->last.load();
        if (slice > l.last) {
            go_right(op, s, before, l.last);
            continue;
        }
        const order_word o = s.n->used();
        if (o.size() > eager_masstree_detail::width) {
            op.fail(s.n, "a leaf has more keys than there is room for");
        }
        unsigned count = o.size();
        // Copies the unused pairs, too: a loop with a fixed count has no mispredicted end.
#pragma GCC unroll 14
        for (unsigned r = 0; r < eager_masstree_detail::width; ++r) {
            const auto& p = s.n->pair_at(o, r);
            l.pairs[r] = {p.key.load(), p.word.load()};
        }
        // Drop pairs above `last`: a split is in progress or was interrupted by a crash.
        while (count != 0 && l.pairs[count - 1].slice > l.last) --count;
        l.count = count;
        l.low = s.low;
        l.next = s.n->next.load();
        const u64 after = s.n->lock.load();
        if (is_changed(before, after)) continue;
        note_node_read(op, *s.n, after);
        return;
    }
}

/// Collects the leaf's entries at or after the bound, in the direction of the scan.
template <class D, class Keys>
template <bool Up>
void eager_masstree<D, Keys>::collect_leaf(operation& op, const leaf_copy& l, const cursor* bound,
                                           scan_state& s) const {
    using namespace eager_masstree_detail;
    if constexpr (is_copied_in_place<Up>) {
        if (bound != nullptr) {
            unsigned outside = 0;
            for (unsigned i = 0; i < l.count; ++i) {
                const u64 slice = l.pairs[i].slice;
                outside += static_cast<unsigned>(slice < bound->slice()) |
                           static_cast<unsigned>(s.is_exclusive && slice == bound->slice());
            }
            s.first = s.count + outside;
            s.wanted += outside;
        }
        s.count += std::min<u64>(l.count, s.wanted - s.count);
        return;
    }
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
    if (++s.depth > scan_state::most_depth) op.fail(&root, "layers lead round in a circle");
    const spot above = descend(op, root, from, 1);
    leaves_ahead ahead(*this);
    if constexpr (Up) ahead.begin(above.n, from, s.wanted - s.count);
    spot where = above.n != nullptr ? descend(op, above, from, 0) : descend(op, root, from, 0);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): by copy_leaf()
    std::array<copied, is_copied_in_place<Up> ? 0 : width> apart;
    for (leaf_copy l;;) {  // NOLINT(cppcoreguidelines-pro-type-member-init): by copy_leaf()
        l.pairs = is_copied_in_place<Up> ? &s.all[s.count] : apart.data();
        copy_leaf(op, where, from, l);
        if (l.low > from) op.fail(&root, "the keys of nodes do not ascend");
        op.arrived();
        if constexpr (Up) {
            ahead.load_next();
        } else {
            // The leaf may have taken over the range of a leaf that the scan has already visited.
            while (l.count != 0 && l.pairs[l.count - 1].slice > from) --l.count;
        }
        collect_leaf<Up>(op, l, bound, s);
        if (s.is_full() || (Up ? l.last == highest : l.low == 0)) {
            --s.depth;
            return;
        }
        bound = nullptr;
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
        s.first = s.count = 0;
        s.depth = 0;
        const cursor begin{key(from)};
        collect<Up>(op, *root_, &begin, s);
        op.persist_dependencies();
        key last{};
        for (u64 i = s.first; i < s.count; ++i) {
            if constexpr (has_layers) {
                last = Keys::key_of(record_of(s.all[i].word));
            } else {
                last = s.all[i].slice;
            }
            visit(last, value_if_sound(s.all[i].word));
        }
        visited += s.count - s.first;
        if (!s.is_full()) break;
        check_came_on<Up>(op, root_, key(from), last, s.is_exclusive);
        from = kept_key(last);
        s.is_exclusive = true;
    }
    return visited;
}

}  // namespace hf
