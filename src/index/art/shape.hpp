// art/shape.hpp: part of art.hpp: creates, grows, shrinks, merges and repairs nodes.
#pragma once

#include "index/art/art.hpp"

namespace hf {

/// Makes an empty, unreachable node; all of it is recorded.
template <class D, class Keys>
template <class N>
auto art<D, Keys>::make_node(operation& op, const prefix& p) -> result<fresh_node> {
    auto offset = op.allocate_node(sizeof(N));
    if (!offset) return tl::unexpected(offset.error());
    auto* n = op.template at<N>(*offset);
    n->lock.fill(node::fresh_lock(false, op.generation()));
    n->prefix_word.fill(p.pack());
    n->end.fill(0);
    for (published& s : n->slots) s.fill(0);
    n->make_hints();
    return fresh_node{*offset, n};
}

/// Makes a node with two entries: their keys differ at its level, or one of them ends there.
template <class D, class Keys>
auto art<D, Keys>::make_pair(operation& op, const prefix& p, key one, u64 one_word, key other,
                             u64 other_word) -> result<fresh_node> {
    using namespace art_detail;
    auto made = make_node<node4>(op, p);
    if (!made) return made;
    auto& n = *static_cast<node4*>(made->at);
    unsigned used = 0;
    const auto put = [&](key k, u64 word) {
        if (path::can_end && path::length(k) == p.level) {
            n.end.fill(slot_word::by(word, 0));
        } else {
            n.slots[used++].fill(slot_word::by(word, path::at(k, p.level)));
        }
    };
    put(one, one_word);
    put(other, other_word);
    op.written(&n, sizeof n);
    return made;
}

/// Copies the node to one of another size, with one additional word if `more` is not 0.
template <class D, class Keys>
template <class To>
auto art<D, Keys>::copy_as(operation& op, node* n, what kind, u64 more) const
    -> result<fresh_node> {
    using namespace art_detail;
    auto made = make_node<To>(op, prefix_of(n));
    if (!made) return made;
    auto& to = *static_cast<To*>(made->at);
    bool fits = true;  // false only if the node's hints are damaged
    const auto put = [&](u64 word) {
        published* slot = to.free_slot(slot_word::byte_of(word));
        fits &= slot != nullptr;
        if (slot == nullptr) return;
        to.note_added(slot, slot_word::byte_of(word));
        slot->fill(word);
    };
    published* end = end_of(n, kind);
    to.end.fill(end->load());
    each_word(n, kind, [&](u64 word, published* slot) {
        if (slot != end) put(word);
    });
    if (more != 0) put(more);
    if (!fits) {
        op.cancel(made->offset);
        return failure(damaged("change the ART", offset_from(base_, n),
                               "a node has more entries than it counts"));
    }
    op.written(&to, sizeof to);
    return made;
}

/// Replaces a full node, which is locked, by a larger one with the additional word.
template <class D, class Keys>
auto art<D, Keys>::grow(operation& op, const place& p, u64 more) -> result<step> {
    using namespace art_detail;
    if (!lock_parent(op, p)) {
        p.at->lock.unlock();
        return step::again;
    }
    auto made = p.kind == what::n4    ? copy_as<node16>(op, p.at, p.kind, more)
                : p.kind == what::n16 ? copy_as<node48>(op, p.at, p.kind, more)
                                      : copy_as<node256>(op, p.at, p.kind, more);
    if (!made) {
        p.parent->lock.unlock();
        p.at->lock.unlock();
        return tl::unexpected(made.error());
    }
    const auto larger = static_cast<what>(static_cast<u8>(p.kind) + 1);
    replace_node(op, p, slot_word::of(0, larger, made->offset));
    return step::done;
}

/// Replaces a nearly empty node, which is locked, by a smaller one; keeps it if that is not
/// possible now.
template <class D, class Keys>
void art<D, Keys>::shrink(operation& op, const place& p) {
    using namespace art_detail;
    if (!lock_parent(op, p)) {
        p.at->lock.unlock();
        return;
    }
    auto made = p.kind == what::n16   ? copy_as<node4>(op, p.at, p.kind, 0)
                : p.kind == what::n48 ? copy_as<node16>(op, p.at, p.kind, 0)
                                      : copy_as<node48>(op, p.at, p.kind, 0);
    if (!made) {
        p.parent->lock.unlock();
        p.at->lock.unlock();
        return;
    }
    const auto smaller = static_cast<what>(static_cast<u8>(p.kind) - 1);
    replace_node(op, p, slot_word::of(0, smaller, made->offset));
}

/// Replaces the node by another child, or by none (word = 0). Node and parent are locked; unlocks
/// both.
template <class D, class Keys>
void art<D, Keys>::replace_node(operation& op, const place& p, u64 word) {
    using namespace art_detail;
    op.persist_unpublished();
    HF_PERSIST_POINT("art A7: what takes a node's place is durable before the parent's slot");
    op.publish(*p.link, word == 0 ? 0 : slot_word::by(word, slot_word::byte_of(p.self)));
    op.persist_publication();
    HF_PERSIST_POINT("art A8: the parent's slot is durable before the old node is retired");
    let_go(op, p);
    p.parent->lock.unlock();
}

/// Marks an unlinked node as obsolete, unlocks it and retires it. The unlinking must be durable.
template <class D, class Keys>
void art<D, Keys>::let_go(operation& op, const place& p) {
    p.at->lock.set_flags(node::obsolete, true);
    p.at->lock.unlock();
    op.retire(*this, art_detail::slot_word::offset_of(p.self), static_cast<u32>(p.kind));
}

/// I2 does not hold for the node: either a crash came between the two words of a split or merge, or
/// the writer is between them now. Takes both locks to distinguish these, and restores the prefix
/// after a crash.
template <class D, class Keys>
void art<D, Keys>::repair(operation& op, const place& p) {
    if (p.parent == nullptr) op.fail(p.at, "the root has a prefix");
    if (!lock(op, p.at, p.kind)) return;
    bool is_hopeless = false;
    if (lock_parent(op, p)) {
        const prefix now = prefix_of(p.at);
        const bool is_torn = !now.fits(p.depth);
        const record* below = is_torn ? any_record(p.at, p.kind) : nullptr;
        is_hopeless =
            is_torn && (below == nullptr || path::length(Keys::key_of(*below)) < now.level);
        if (is_torn && !is_hopeless) {
            op.persist_unpublished();
            op.publish(p.at->prefix_word,
                       prefix::of(Keys::key_of(*below), p.depth, now.level).pack());
            op.persist_publication();
            HF_PERSIST_POINT(
                "art A9: a repaired prefix is durable before the locks are given back");
        }
        p.parent->lock.unlock();
    }
    p.at->lock.unlock();
    // A retry would find the same damage.
    if (is_hopeless) op.fail(p.at, "no key of its length lies below a node");
}

/// Replaces an N4 whose only entry is a node by that node, if nothing has changed meanwhile.
template <class D, class Keys>
void art<D, Keys>::merge(operation& op, const place& p) {
    using namespace art_detail;
    u64 word = 0;
    each_word(p.at, p.kind, [&](u64 w, published*) { word = w; });
    if (!slot_word::is_node(word)) return;
    node* child = node_of(word);
    const auto child_kind = slot_word::what_of(word);
    const u32 level = prefix_of(child).level;
    if (level <= p.seen.level) op.fail(child, "a node lies too deep for its level");
    if (!lock(op, child, child_kind)) return;
    or_give_back(child->lock, [&] { take_place_of(op, p, child, child_kind, word); });
    child->lock.unlock();
}

/// Replaces the parent by the child, which is locked and stays so.
template <class D, class Keys>
void art<D, Keys>::take_place_of(operation& op, const place& p, node* child, what child_kind,
                                 u64 word) {
    using namespace art_detail;
    if (!lock(op, p.at, p.kind)) return;
    const u32 level = prefix_of(child).level;
    u64 now = 0;
    u32 entries = 0;
    each_word(p.at, p.kind, [&](u64 w, published*) {
        now = w;
        ++entries;
    });
    const bool is_lone = entries == 1 && now == word;
    const record* below = is_lone ? any_record(child, child_kind) : nullptr;
    const bool is_sound = below != nullptr && path::length(Keys::key_of(*below)) >= level;
    if (!is_sound || !lock_parent(op, p)) {
        p.at->lock.unlock();
        return;
    }
    op.persist_unpublished();
    op.publish(*p.link, slot_word::by(word, slot_word::byte_of(p.self)));
    op.persist_publication();
    HF_PERSIST_POINT("art A4: the parent's slot is durable before the child's longer prefix");
    op.publish(child->prefix_word, prefix::of(Keys::key_of(*below), p.depth, level).pack());
    op.persist_publication();
    HF_PERSIST_POINT("art A5: the longer prefix is durable before the merged node is retired");
    let_go(op, p);
    p.parent->lock.unlock();
}

}  // namespace hf
