// bwtree/draft.hpp: part of bwtree.hpp: computes a chain's contents and builds new nodes from them.
#pragma once

#include "index/bwtree/bwtree.hpp"
#include "persist/persist_point.hpp"

#include <span>

namespace hf {

/// The entries of a chain in key order, and the records that the chain no longer needs.
template <class D, class Keys>
struct bwtree<D, Keys>::gathered {
    struct change {
        entry e;
        bool gone;  ///< the key was removed
        bool dead;  ///< removed by a tombstone bit; this chain still owns the record
    };
    u32 changes = 0;
    u32 count = 0;
    u32 drops = 0;
    std::array<change, bwtree_detail::most_gathered> changed;
    std::array<entry, 2 * bwtree_detail::most_gathered> entries;
    std::array<u64, 2 * bwtree_detail::most_gathered> dropped;

    [[nodiscard]] std::span<const u64> drop_list() const noexcept {
        return std::span(dropped).first(drops);
    }
};

template <class D, class Keys>
void bwtree<D, Keys>::drop(gathered& g, const entry& e) const {
    if constexpr (!order::exact) g.dropped[g.drops++] = e.word;
}

/// Collects the deltas' changes in key order. `g` may already contain one change, which is newer.
template <class D, class Keys>
void bwtree<D, Keys>::gather_changes(operation& op, block* head, node* base, gathered& g) const {
    using change = typename gathered::change;
    const auto add = [&](const change& c) {
        const bound k = key_of(c.e);
        u32 i = g.changes;
        int order_of = 1;
        while (i > 0 && (order_of = compare(key_of(g.changed[i - 1].e), k)) > 0) --i;
        if (i > 0 && order_of == 0) {
            if (!c.gone) drop(g, c.e);
            return;
        }
        std::move_backward(&g.changed[i], &g.changed[g.changes], &g.changed[g.changes + 1]);
        g.changed[i] = c;
        ++g.changes;
    };
    constexpr u32 most_dropped =
        bwtree_detail::delta_entries * (bwtree_detail::longest_allowed + 1);
    if (base->count() > bwtree_detail::most_entries) op.fail(base, "a node has too many entries");
    for (block* b = head; b->kind() == what::delta; b = at<block>(static_cast<delta*>(b)->next())) {
        // In a cycle of deltas keys repeat: they add no changes, but dropped records.
        if (g.changes + bwtree_detail::delta_entries > g.changed.size() ||
            g.drops + bwtree_detail::delta_entries > most_dropped) {
            op.fail(b, "deltas lead round in a circle");
        }
        op.took_step();  // also terminates on a cycle whose repeated keys drop nothing
        const auto* d = static_cast<const delta*>(b);
        for (u32 i = d->count(); i-- > 0;) {
            const bool dead = d->is_dead(i);
            if (dead) op.written_line(d);
            add({d->entries[i], d->is_gone(i), dead});
        }
    }
}

/// Reads a node's tombstone bits once, and records their line if any is set: the operation depends
/// on it.
template <class D, class Keys>
u64 bwtree<D, Keys>::dead_in(operation& op, const node* n) {
    const u64 dead = n->dead.load(std::memory_order_acquire);
    if (dead != 0) op.written_line(&n->dead);
    return dead;
}

/// The node's first entry, starting at index `from`, whose key is >= the change's.
template <class D, class Keys>
auto bwtree<D, Keys>::meet(const node* n, u32 from, const entry& e) const -> meeting {
    const u64* heads = n->heads();
    u32 i = from;
    while (i < n->count() && heads[i] < e.head) ++i;
    if constexpr (order::exact) {
        return {i, i < n->count() && heads[i] == e.head};
    } else {
        const bound k = key_of(e);
        for (; i < n->count() && heads[i] == e.head; ++i) {
            const int c = compare(key_of({heads[i], n->words()[i]}), k);
            if (c >= 0) return {i, c == 0};
        }
        return {i, false};
    }
}

/// Merges deltas and node into `g`. `g.changed` may already contain one change, newer than the
/// chain.
template <class D, class Keys>
void bwtree<D, Keys>::gather(operation& op, block* head, node* base, gathered& g) const {
    gather_changes(op, head, base, g);
    const u64 dead = dead_in(op, base);
    const u64* heads = base->heads();
    const u64* words = base->words();
    const auto take = [&](const entry& e, bool is_gone, bool is_dead) {
        if (!is_gone && !is_dead) g.entries[g.count++] = e;
        if (is_dead) drop(g, e);
    };
    const auto take_up_to = [&](u32 i, u32 end) {
        for (; i < end; ++i) take({heads[i], words[i]}, false, (dead >> i & 1) != 0);
    };
    u32 i = 0;
    for (u32 c = 0; c < g.changes; ++c) {
        const auto& change = g.changed[c];
        const meeting m = meet(base, i, change.e);
        take_up_to(i, m.at);
        i = m.at;
        if (m.is_same) {
            drop(g, {heads[i], words[i]});
            ++i;
        }
        take(change.e, change.gone, change.dead);
    }
    take_up_to(i, base->count());
}

/// An inner node's separators and children, in a form that can be modified.
template <class D, class Keys>
struct bwtree<D, Keys>::separators {
    struct one {
        bound low;
        u64 child;
    };
    u64 first = 0;
    u32 count = 0;
    std::array<one, bwtree_detail::most_entries + 1> all;

    /// Throws damage if the node has too many entries.
    void load(const operation& op, const node* n) {
        if (n->count() > bwtree_detail::most_entries) op.fail(n, "a node has too many entries");
        load(n);
    }
    void load(const node* n) noexcept {
        first = n->first;
        count = n->count();
        for (u32 i = 0; i < count; ++i) {
            all[i] = {{n->heads()[i], {}}, n->words()[i]};
            if constexpr (!order::exact) all[i].low.bytes = n->bound_bytes(n->spans()[i]);
        }
    }
    /// The number of separators <= `low`.
    [[nodiscard]] u32 place_of(const bound& low) const noexcept {
        u32 i = 0;
        while (i < count && compare(all[i].low, low) <= 0) ++i;
        return i;
    }
    void add(const bound& low, u64 child) noexcept {
        const u32 i = place_of(low);
        const auto at = all.begin() + i;
        std::move_backward(at, all.begin() + count, all.begin() + count + 1);
        all[i] = {low, child};
        ++count;
    }
    void remove(u32 i) noexcept {
        std::move(all.begin() + i + 1, all.begin() + count, all.begin() + i);
        --count;
    }
};

/// The blocks that an operation has allocated; freed by the destructor unless published.
template <class D, class Keys>
struct bwtree<D, Keys>::fresh_blocks {
    operation& op;
    u32 count = 0;
    u64 bytes = 0;         ///< of the last node
    node* made = nullptr;  ///< the last node, until end_node()
    std::array<u64, 8> offsets{};
    /// Nodes up to this size are built here and copied to the medium in whole lines. Larger ones,
    /// which have long bounds, are built in place. The small value makes the crash lab test both.
    static constexpr u64 most_copied = crashes_throw ? 256 : 2048;
    alignas(line_size) std::array<std::byte, most_copied> copied;

    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): `copied` is filled as it is used
    explicit fresh_blocks(operation& o) noexcept : op(o) {}
    fresh_blocks(const fresh_blocks&) = delete;
    fresh_blocks& operator=(const fresh_blocks&) = delete;
    ~fresh_blocks() {
        while (count > 0) op.cancel(offsets[--count]);
    }
    [[nodiscard]] result<u64> make(u64 size) {
        auto offset = op.allocate_node(size);
        if (offset) offsets[count++] = *offset;
        return offset;
    }
    /// Returns where to build the node at `offset`, which will have `size` bytes.
    [[nodiscard]] node* begin_node(u64 offset, u64 size) noexcept {
        bytes = size;
        if (size > most_copied) return op.template at<node>(offset);
        std::memset(copied.data() + align_down(size - 1, line_size), 0, line_size);
        return reinterpret_cast<node*>(copied.data());
    }
    void end_node(u64 offset) noexcept {
        auto* n = op.template at<node>(offset);
        if (bytes > most_copied) return op.written(n, bytes);
        op.copy_fresh(n, copied.data(), align_up(bytes, line_size));
    }
    void are_published() noexcept { count = 0; }
};

template <class D, class Keys>
result<u64> bwtree<D, Keys>::make_node(fresh_blocks& made, what kind, u32 level, u32 count,
                                       const limit& low, const limit& high, u64 next, u64 more) {
    const u64 spans = kind == what::inner && !order::exact ? sizeof(span) : 0;
    const u64 fixed = sizeof(node) + (sizeof(entry) + spans) * count;
    const u64 bytes =
        fixed + more + (low ? low->bytes.size() : 0) + (high ? high->bytes.size() : 0);
    auto offset = made.make(bytes);
    if (!offset) return offset;
    node* n = made.begin_node(*offset, bytes);
    n->set_info(kind, low.has_value(), high.has_value(), level, count);
    n->dead.store(0, std::memory_order_relaxed);
    n->next = next;
    n->first = 0;
    auto end = static_cast<u32>(fixed + more);
    const auto keep = [&](const limit& l, u64& head, span& s) {
        const bound b = l.value_or(bound{});
        head = b.head;
        s = {end, static_cast<u32>(b.bytes.size())};
        if (!b.bytes.empty()) {
            std::memcpy(reinterpret_cast<char*>(n) + end, b.bytes.data(), b.bytes.size());
        }
        end += s.bytes;
    };
    keep(low, n->low_head, n->low);
    keep(high, n->high_head, n->high);
    made.made = n;
    return offset;
}

template <class D, class Keys>
result<u64> bwtree<D, Keys>::make_leaf(fresh_blocks& made, const gathered& g, u32 from, u32 to,
                                       const limit& low, const limit& high, u64 next) const {
    auto offset = make_node(made, what::leaf, 0, to - from, low, high, next, 0);
    if (!offset) return offset;
    node* n = made.made;
    for (u32 i = from; i < to; ++i) {
        n->heads()[i - from] = g.entries[i].head;
        n->words()[i - from] = g.entries[i].word;
    }
    made.end_node(*offset);
    return offset;
}

template <class D, class Keys>
result<u64> bwtree<D, Keys>::make_inner(fresh_blocks& made, const separators& s, u32 from, u32 to,
                                        const limit& low, const limit& high, u64 next,
                                        u32 level) const {
    u64 more = 0;
    for (u32 i = from; i < to; ++i) more += s.all[i].low.bytes.size();
    const u32 count = to - from;
    auto offset = make_node(made, what::inner, level, count, low, high, next, more);
    if (!offset) return offset;
    node* n = made.made;
    n->first = from == 0 ? s.first : s.all[from - 1].child;
    u32 end = static_cast<u32>(sizeof(node) + (sizeof(entry) + sizeof(span)) * count);
    for (u32 i = 0; i < count; ++i) {
        const auto& one = s.all[from + i];
        n->heads()[i] = one.low.head;
        n->words()[i] = one.child;
        if constexpr (!order::exact) {
            const auto bytes = static_cast<u32>(one.low.bytes.size());
            n->spans()[i] = {end, bytes};
            if (bytes != 0) {
                std::memcpy(reinterpret_cast<char*>(n) + end, one.low.bytes.data(), bytes);
            }
            end += bytes;
        }
    }
    made.end_node(*offset);
    return offset;
}

template <class D, class Keys>
result<u64> bwtree<D, Keys>::make_cell(fresh_blocks& made, u64 offset) {
    auto self = made.make(sizeof(cell));
    if (!self) return self;
    auto* c = made.op.template at<cell>(*self);
    c->fill(offset, made.op.generation());
    made.op.written_line(c);
    return self;
}

}  // namespace hf
