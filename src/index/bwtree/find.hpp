// bwtree/find.hpp: part of bwtree.hpp: descent, search within a chain, get.
#pragma once

#include "index/bwtree/bwtree.hpp"

namespace hf {

template <class D, class Keys>
int bwtree<D, Keys>::compare(const bound& a, const bound& b) noexcept {
    if (a.head != b.head) return a.head < b.head ? -1 : 1;
    if constexpr (order::exact) return 0;
    return a.bytes.compare(b.bytes);
}

template <class D, class Keys>
auto bwtree<D, Keys>::key_of(const entry& e) const noexcept -> bound {
    if constexpr (order::exact) {
        return {e.head, {}};
    } else {
        return {e.head, Keys::key_of(*at<record>(e.word))};
    }
}

template <class D, class Keys>
auto bwtree<D, Keys>::whole_key_of(const entry& e) const noexcept -> key {
    if constexpr (order::exact) {
        return e.head;
    } else {
        return Keys::key_of(*at<record>(e.word));
    }
}

template <class D, class Keys>
auto bwtree<D, Keys>::value_of(const entry& e) const noexcept -> value {
    if constexpr (order::exact) {
        return e.word;
    } else {
        return Keys::value_of(*at<record>(e.word));
    }
}

template <class D, class Keys>
auto bwtree<D, Keys>::low_of(const node* n) noexcept -> limit {
    if (!n->has_low()) return std::nullopt;
    return bound{n->low_head, n->bound_bytes(n->low)};
}

/// The lower bound of a node that has a left neighbour, and must have one. Throws damage.
template <class D, class Keys>
auto bwtree<D, Keys>::low_behind(const operation& op, const node* n) -> bound {
    const limit low = low_of(n);
    if (!low) op.fail(n, "a node with a left neighbour has no lower bound");
    return *low;
}

template <class D, class Keys>
auto bwtree<D, Keys>::high_of(const node* n) noexcept -> limit {
    if (!n->has_high()) return std::nullopt;
    return bound{n->high_head, n->bound_bytes(n->high)};
}

template <class D, class Keys>
auto bwtree<D, Keys>::value_if_sound(const entry& e) const -> value {
    if constexpr (order::exact) {
        return e.word;
    } else {
        return Keys::value_if_sound(*at<record>(e.word));
    }
}

/// The number of entries below the key. compared(i) tells whether entry i, whose head equals the
/// key's, is below the key.
template <class D, class Keys>
template <class Compare>
u32 bwtree<D, Keys>::first_not_below(const node* n, u64 head, Compare&& compared) noexcept {
    const u64* heads = n->heads();
    u32 from = 0;
    for (u32 left = n->count(); left > 0;) {
        const u32 half = (left + 1) / 2;
        from = heads[from + half - 1] < head ? from + half : from;
        left -= half;
    }
    u32 to = from;
    while (to < n->count() && heads[to] == head) ++to;
    while (from < to) {
        const u32 middle = (from + to) / 2;
        if (compared(middle)) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/// Returns the child whose range contains `k`; with Below, the child that contains the largest key
/// smaller than `k`.
template <class D, class Keys>
template <bool Below>
auto bwtree<D, Keys>::child_for(const node* n, const bound& k) const noexcept -> cell* {
    const u32 i = first_not_below(n, k.head, [&](u32 j) {
        if constexpr (order::exact) {
            return !Below;
        } else {
            const int c = n->bytes(n->spans()[j]).compare(k.bytes);
            return Below ? c < 0 : c <= 0;
        }
    });
    return at<cell>(i == 0 ? n->first : n->words()[i - 1]);
}

/// Loads a cell's word and makes it durable if it may be volatile (B6).
template <class D, class Keys>
u64 bwtree<D, Keys>::load_word(operation& op, const cell& c) {
    for (;;) {
        const u64 word = c.load();
        if (c.is_durable(word)) [[likely]] {
            return word;
        }
        if (op.offset_of(&c) < layout::page_size) op.fail(&c, "a node has no cell");
        op.written_line(&c);
        op.persist_dependencies();
        HF_PERSIST_POINT("bwtree B6: a word that was not sure is durable before it is acted upon");
        c.set_durable(word);
    }
}

template <class D, class Keys>
auto bwtree<D, Keys>::base_of(block* b) const noexcept -> node* {
    if (b->kind() == what::delta) return at<node>(static_cast<delta*>(b)->base());
    return static_cast<node*>(b);
}

/// Prefetches all heads that a search may read.
template <class D, class Keys>
void bwtree<D, Keys>::begin_loading(const node* n) noexcept {
    constexpr u64 lines = 11;
    const auto* bytes = reinterpret_cast<const char*>(n);
    for (u64 i = 0; i <= lines; ++i) __builtin_prefetch(bytes + i * line_size);
}

/// Prefetches a chain's node and the block after its first delta.
template <class D, class Keys>
void bwtree<D, Keys>::begin_loading_chain(const cell& c) const noexcept {
    const auto [last, behind] = c.load_hints();
    begin_loading(at<node>(last));
    if (behind != 0) __builtin_prefetch(at<block>(behind));
}

/// Descends to the node of `level` whose range contains `k` (Below: the largest key smaller than
/// `k`). `at` is nullptr if the tree has no such level.
template <class D, class Keys>
template <bool Below>
auto bwtree<D, Keys>::find(operation& op, const bound& k, u32 level) const -> place {
    place p;
    p.at = root_;
    bool is_inner = false;
    for (;;) {
        op.took_step();
        p.word = load_word(op, *p.at);
        p.head = at<block>(cell::offset_of(p.word));
        if (is_inner) {
            begin_loading(static_cast<const node*>(p.head));
        } else {
            begin_loading_chain(*p.at);
        }
        node* n = p.base = base_of(p.head);
        if (n->has_high()) {
            const int c = compare(k, {n->high_head, n->bytes(n->high)});
            if (Below ? c > 0 : c >= 0) [[unlikely]] {
                p.at = at<cell>(n->next);
                p.sideways = true;
                continue;
            }
        }
        if (n->level() <= level) {
            if (n->level() < level) p.at = nullptr;
            return p;
        }
        is_inner = n->level() > 1;
        p.at = child_for<Below>(n, k);
        p.sideways = false;
    }
}

template <class D, class Keys>
auto bwtree<D, Keys>::search_base(operation& op, node* n, const bound& k) const -> finding {
    const u32 i = first_not_below(n, k.head, [&](u32 j) {
        if constexpr (order::exact) return false;
        return compare(key_of({k.head, n->words()[j]}), k) < 0;
    });
    if (i == n->count() || n->heads()[i] != k.head) return {};
    const u64 word = n->words()[i];
    if constexpr (!order::exact) {
        if (compare(key_of({k.head, word}), k) != 0) return {};
    }
    const bool dead = n->is_dead(i);
    if (dead) op.written_line(&n->dead);
    return {!dead, word, n, i};
}

/// Finds the newest entry of the key in the chain.
template <class D, class Keys>
auto bwtree<D, Keys>::search(operation& op, const place& p, const bound& k) const -> finding {
    block* b = p.head;
    for (; b->kind() == what::delta; b = at<block>(static_cast<delta*>(b)->next())) {
        op.took_step();
        auto* d = static_cast<delta*>(b);
        for (u32 i = d->count(); i-- > 0;) {
            const entry& e = d->entries[i];
            if (e.head != k.head) continue;
            if constexpr (!order::exact) {
                if (compare(key_of(e), k) != 0) continue;
            }
            const bool dead = d->is_dead(i);
            if (dead) op.written_line(d);
            return {!dead && !d->is_gone(i), e.word, d, i};
        }
    }
    return search_base(op, p.base, k);
}

template <class D, class Keys>
template <class Found>
bool bwtree<D, Keys>::get(operation& op, key k, Found&& found) const {
    const bound b = bound::of(k);
    const finding f = search(op, find(op, b, 0), b);
    op.persist_dependencies();
    if (f.is_there) found(value_if_sound({b.head, f.word}));
    return f.is_there;
}

}  // namespace hf
