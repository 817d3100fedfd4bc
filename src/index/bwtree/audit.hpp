// bwtree/audit.hpp: part of bwtree.hpp: creating a tree, tracing for the sweep, auditing.
#pragma once

#include "index/bwtree/bwtree.hpp"

#include <map>

namespace hf {

// ----------------------------------------------------------------------------------------- opening

template <class D, class Keys>
error bwtree<D, Keys>::damaged(const char* attempt, u64 offset, std::string why) const {
    return {errc::corrupt, attempt,
            space_.file().path().string() + " at offset " + std::to_string(offset), std::move(why),
            "run `holdfast check` and restore the file from a copy"};
}

/// Creates an empty tree, durably: a leaf and the root's cell. Returns the root cell's offset.
template <class D, class Keys>
result<u64> bwtree<D, Keys>::create_root(eager_space& space) {
    operation op(space);
    fresh_blocks made(op);
    auto leaf = make_node(made, what::leaf, 0, 0, std::nullopt, std::nullopt, 0, 0);
    if (!leaf) return leaf;
    made.end_node(*leaf);
    auto root = make_cell(made, *leaf);
    if (!root) return root;
    op.persist_publication();
    made.are_published();
    return root;
}

template <class D, class Keys>
result<std::unique_ptr<bwtree<D, Keys>>> bwtree<D, Keys>::open(eager_space& space,
                                                               std::string_view root) {
    constexpr u64 type = bwtree_detail::root_type + (Keys::inline_values ? 1 : 0);
    std::unique_ptr<bwtree> made(new bwtree(space));
    const auto there =
        find_or_create_root(space, root, {"open the Bw-tree", type, format.version}, create_root);
    if (!there) return tl::unexpected(there.error());
    const u64 offset = *there;
    const swept::run* r = space.heap().run_of(offset);
    if (r == nullptr || !r->begins_at(offset)) {
        return failure(made->damaged("open the Bw-tree", offset, "its root is no block"));
    }
    made->root_offset_ = offset;
    made->root_ = made->template at<cell>(offset);
    constexpr u64 share_for_nodes = 32;  // a removal adds a delta before it frees anything
    space.heap().keep_for_nodes(share_for_nodes);
    space.add_structure(*made);
    return made;
}

// --------------------------------------------------------------------------------------- the sweep

template <class D, class Keys>
void bwtree<D, Keys>::trace_roots(tracer& t) const {
    t.visit(root_offset_, bwtree_detail::trace_cell);
}

/// Visits every block that a chain refers to, the records of removed keys included (I2).
template <class D, class Keys>
void bwtree<D, Keys>::trace(u64 offset, u32 kind, tracer& t) const {
    using namespace bwtree_detail;
    if (kind == trace_cell) {
        t.visit(cell::offset_of(at<cell>(offset)->load()), trace_block);
        return;
    }
    block* b = at<block>(offset);
    if (b->kind() == what::delta) {
        const auto* d = static_cast<const delta*>(b);
        for (u32 i = 0; !order::exact && i < d->count(); ++i) t.visit(d->entries[i].word, leaf);
        t.visit(d->next(), trace_block);
        return;
    }
    const auto* n = static_cast<const node*>(b);
    t.visit(n->next, trace_cell);
    t.visit(n->first, trace_cell);
    const bool is_leaf = b->kind() == what::leaf;
    const u32 count = std::min(n->count(), most_entries);  // clamped: the node may be damaged
    for (u32 i = 0; !(is_leaf && order::exact) && i < count; ++i) {
        t.visit(n->words()[i], is_leaf ? leaf : trace_cell);
    }
}

// ------------------------------------------------------------------------------------------ audits

template <class D, class Keys>
struct bwtree<D, Keys>::audit_state {
    heap_audit& a;
    operation op;
    bool records_are_whole = true;  ///< all records of the current chain could be read
    u32 dead = 0;                   ///< dead entries in the current chain's deltas
    std::map<u32, u64> links;       ///< per level: the right link of the last node visited

    audit_state(heap_audit& all, eager_space& space) : a(all), op(space) {}
    void bad(u64 offset, const char* text) { a.report().add(offset, text); }
};

template <class D, class Keys>
bool bwtree<D, Keys>::claim(heap_audit& a, u64 offset, u64 bytes, const char* what_it_is,
                            u64 from) const {
    const auto where = a.locate(offset, 0);
    if (!where || where->room < bytes) {
        a.report().add(from, std::string("what should be ") + what_it_is + " is no such block");
        a.report().mark_incomplete();
        return false;
    }
    return a.claim(*where, what_it_is, from);
}

template <class D, class Keys>
bool bwtree<D, Keys>::audit_record(audit_state& s, const entry& e, u64 from) const {
    if constexpr (order::exact) {
        return true;
    } else {
        if (!claim(s.a, e.word, sizeof(record), "a record", from)) return false;
        return audit_name(s, e, from);
    }
}

/// Checks that an entry refers to a record, and that the entry's head matches the record's key.
/// Entries that record a removal are checked as well: with a wrong head the removed key would
/// reappear.
template <class D, class Keys>
bool bwtree<D, Keys>::audit_name(audit_state& s, const entry& e, u64 from) const {
    if constexpr (!order::exact) {
        const auto where = s.a.locate(e.word, 0);
        if (!where || where->room < sizeof(record)) {
            s.bad(from, "what has gone was no record");
            return false;
        }
        const auto& r = *at<record>(e.word);
        if (!Keys::is_whole(r, where->room)) {
            s.bad(e.word, "a record is damaged");
            return false;
        }
        if (order::head(Keys::key_of(r)) != e.head) {
            s.bad(from, "a head is not that of the record's key");
        }
    }
    return true;
}

/// Claims a node. Returns true if its contents may be read.
template <class D, class Keys>
bool bwtree<D, Keys>::audit_node(audit_state& s, u64 offset, u64 from) const {
    const u64 room = s.a.locate(offset, 0)->room;
    const auto* n = at<node>(offset);
    const bool is_inner = n->kind() == what::inner;
    const u64 spans = is_inner && !order::exact ? sizeof(span) : 0;
    const u64 fixed = sizeof(node) + (sizeof(entry) + spans) * n->count();
    const auto lies_within = [&](span x) { return x.at >= fixed && u64{x.at} + x.bytes <= room; };
    bool is_possible =
        n->count() <= bwtree_detail::most_entries && fixed <= room && is_inner == (n->level() > 0);
    is_possible = is_possible && lies_within(n->low) && lies_within(n->high);
    for (u32 i = 0; is_possible && spans != 0 && i < n->count(); ++i) {
        is_possible = lies_within(n->spans()[i]);
    }
    if (!is_possible) {
        s.bad(offset, "a node of a Bw-tree is impossible");
        s.a.report().mark_incomplete();
        return false;
    }
    return s.a.claim(*s.a.locate(offset, 0), "a node of a Bw-tree", from);
}

/// Claims the blocks and records of a chain. Returns its node, or nullptr if it is damaged.
template <class D, class Keys>
auto bwtree<D, Keys>::audit_chain(audit_state& s, u64 word, u64 from) const -> node* {
    u64 offset = cell::offset_of(word);
    u64 base = 0;
    u32 depth = 0;
    s.dead = 0;
    for (u32 length = 0;; ++length) {
        const auto where = s.a.locate(offset, 0);
        if (!where || where->room < sizeof(node)) {
            s.bad(from, "a chain of a Bw-tree points to something that is not a block");
            s.a.report().mark_incomplete();
            return nullptr;
        }
        block* b = at<block>(offset);
        if (b->kind() == what::leaf || b->kind() == what::inner) break;
        if (b->kind() != what::delta || length == bwtree_detail::longest_allowed) {
            s.bad(offset, "a chain of a Bw-tree has something unknown, or does not end");
            s.a.report().mark_incomplete();
            return nullptr;
        }
        if (!s.a.claim(*where, "a delta", from)) return nullptr;
        const auto* d = static_cast<const delta*>(b);
        if (base != 0 && d->base() != base) s.bad(offset, "deltas of a chain have several nodes");
        base = d->base();
        if (length > 0 && d->count() != bwtree_detail::delta_entries) {
            s.bad(offset, "a delta has room, and another one before it");
        }
        if (length > 0 && d->depth() + 1 != depth) s.bad(offset, "a chain's deltas are miscounted");
        depth = d->depth();
        for (u32 i = 0; i < d->count(); ++i) {
            const entry& e = d->entries[i];
            s.dead += d->is_dead(i) ? 1 : 0;
            const bool is_whole =
                d->is_gone(i) ? audit_name(s, e, offset) : audit_record(s, e, offset);
            if (!is_whole) s.records_are_whole = false;
        }
        from = offset;
        offset = d->next();
    }
    if (depth > 1) s.bad(offset, "a chain's deltas are miscounted");
    if (base != 0 && base != offset) {
        s.bad(offset, "a delta's node is not the chain's");
        return nullptr;
    }
    if (!audit_node(s, offset, from)) return nullptr;
    return at<node>(offset);
}

template <class D, class Keys>
void bwtree<D, Keys>::audit_leaf(audit_state& s, block* head, node* n) const {
    const u64 here = offset_of(n);
    ++s.a.report().tree.leaves;
    for (u32 i = 0; i < n->count(); ++i) {
        if (!audit_record(s, {n->heads()[i], n->words()[i]}, here)) s.records_are_whole = false;
    }
    if (!s.records_are_whole) return;
    // Dead entries, too, must be in order: a search may reach one of them first.
    for (u32 i = 1; i < n->count(); ++i) {
        const bound before = key_of({n->heads()[i - 1], n->words()[i - 1]});
        if (compare(before, key_of({n->heads()[i], n->words()[i]})) >= 0) {
            s.bad(here, "a leaf's keys are in no order");
        }
    }
    gathered g;
    s.op.arrived();
    gather(s.op, head, n, g);
    s.a.report().tree.records += g.count;
    if (head->kind() == bwtree_detail::what::delta) {
        u32 dead = s.dead;
        for (u32 i = 0; i < n->count(); ++i) dead += n->is_dead(i) ? 1 : 0;
        if (static_cast<const delta*>(head)->live() != g.count + dead) {
            s.bad(here, "a delta counts other keys than its chain has");
        }
    }
    const limit low = low_of(n);
    const limit high = high_of(n);
    for (u32 i = 0; i < g.count; ++i) {
        const bound k = key_of(g.entries[i]);
        if (i > 0 && compare(key_of(g.entries[i - 1]), k) >= 0) s.bad(here, "keys are in no order");
        if ((low && compare(k, *low) < 0) || (high && compare(k, *high) >= 0)) {
            s.bad(here, "a key lies in a leaf of other keys");
        }
    }
}

/// Audits the nodes of a level from bound `low` to bound `high`, following their links, and the
/// subtrees below them.
template <class D, class Keys>
void bwtree<D, Keys>::audit_range(audit_state& s, u64 first, const limit& low, const limit& high,
                                  u32 level, u64 from) const {
    const auto same = [](const limit& a, const limit& b) {
        return a.has_value() == b.has_value() && (!a || compare(*a, *b) == 0);
    };
    limit begin = low;
    for (u64 next = first;;) {
        if (!claim(s.a, next, sizeof(cell), "a cell", from)) return;
        s.records_are_whole = true;
        const u64 word = at<cell>(next)->load();
        node* n = audit_chain(s, word, next);
        if (n == nullptr) return;
        const u64 here = offset_of(n);
        const auto link = s.links.find(level);
        if (link != s.links.end() && link->second != next) {
            s.bad(here, "the node to the left has a link to another");
        }
        s.links[level] = n->next;
        if (n->level() != level || !same(low_of(n), begin)) {
            s.bad(here, "a node of a Bw-tree stands in another's place");
            return s.a.report().mark_incomplete();
        }
        if (level == 0) {
            audit_leaf(s, at<block>(cell::offset_of(word)), n);
        } else {
            ++s.a.report().tree.interiors;
            separators all;
            all.load(n);
            for (u32 i = 0; i <= all.count; ++i) {
                audit_range(s, i == 0 ? all.first : all.all[i - 1].child,
                            i == 0 ? begin : limit(all.all[i - 1].low),
                            i == all.count ? high_of(n) : limit(all.all[i].low), level - 1, here);
            }
        }
        begin = high_of(n);
        if (same(begin, high)) return;
        if (!begin || (high && compare(*begin, *high) > 0)) {
            s.bad(here, "a node of a Bw-tree ends beyond its range");
            return s.a.report().mark_incomplete();
        }
        from = here;
        next = n->next;
    }
}

template <class D, class Keys>
void bwtree<D, Keys>::audit(heap_audit& a) const {
    audit_state s(a, space_);
    const auto top = a.locate(cell::offset_of(root_->load()), 0);
    u32 level = 0;
    if (top && top->room >= sizeof(node)) {
        const block* b = at<block>(cell::offset_of(root_->load()));
        if (b->kind() == what::inner) level = static_cast<const node*>(b)->level();
    }
    audit_range(s, root_offset_, std::nullopt, std::nullopt, level, 0);
    for (const auto& [of_level, link] : s.links) {
        if (link != 0) s.bad(link, "the last node of a level has a right neighbour");
    }
}

}  // namespace hf
