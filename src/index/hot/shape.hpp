// hot/shape.hpp: part of hot.hpp: makes new nodes, and publishes them by one word.
#pragma once

#include "index/hot/hot.hpp"

namespace hf {

/// The locks that a writer holds and the blocks it has made; the destructor releases both unless
/// the blocks were published.
template <class D, class Keys>
struct hot<D, Keys>::change {
    explicit change(operation& o) : op(o) {}
    change(const change&) = delete;
    change& operator=(const change&) = delete;
    ~change() {
        for (u32 i = 0; i < made.size(); ++i) op.cancel(made[i]);
        unlock();
    }
    /// Takes the lock that guards the word at `depth` of the path. False: the node is obsolete, or
    /// the word has changed; the lock is not held.
    [[nodiscard]] bool lock(const hot& tree, const way& w, u32 depth, u64 expected) {
        node_lock& l = tree.lock_above(w, depth);
        const published& slot = tree.link_of(w, depth);
        for (u32 i = 0; i < held.size(); ++i) {
            if (held[i] == &l) op.fail(&l, "nodes lead round in a circle");
        }
        if (l.lock(op.generation())) tree.take_over(op, w, depth);
        if ((l.load() & node::obsolete) != 0 || slot.load() != expected) [[unlikely]] {
            l.unlock();
            return false;
        }
        held.push(&l);
        return true;
    }
    void unlock() {
        while (!held.empty()) {
            held.back()->unlock();
            held.pop();
        }
    }
    /// Marks all locked nodes but the last one as obsolete; they were replaced durably.
    void mark_obsolete() {
        for (u32 i = 0; i + 1 < held.size(); ++i) held[i]->set_flags(node::obsolete, true);
    }

    operation& op;
    hot_detail::few<node_lock*, 16> held;  ///< in lock order, from below
    hot_detail::few<u64, 16> made;
    hot_detail::few<u64, 8> left_out;  ///< dead records
};

/// Loads a node, which may be damaged, into a draft. Throws damage.
template <class D, class Keys>
void hot<D, Keys>::load(const operation& op, draft& d, node* n, u64 word) {
    if (!d.has_room_for(n, word)) op.fail(n, "a node's mask does not suit its entries");
    d.load(n, word);
    if (!d.has_bits_below(path::bits)) op.fail(n, "a node asks for bits that no key has");
}

/// Makes an unreachable node from a draft. Returns its word.
template <class D, class Keys>
result<u64> hot<D, Keys>::make_node(change& c, const draft& d) const {
    using namespace hot_detail;
    if (d.count < 2 || d.count > most_entries || d.bit_count == 0 || !d.tells_apart()) {
        c.op.fail(root_, "a node does not tell its keys apart");
    }
    const auto plan = node_plan::of<path>(d);
    const u64 word = slot_word::of(plan.kind, d.count, 0);
    node_buffer buffer{};
    write_node(buffer.get(), word, plan, d, c.op.generation());
    return place_node(c, buffer, word);
}

/// Copies a node from the buffer to the medium, unreachable. Returns its word.
template <class D, class Keys>
result<u64> hot<D, Keys>::place_node(change& c, const hot_detail::node_buffer& buffer,
                                     u64 word) const {
    const u64 size = align_up(u64{hot_detail::size_of(word)}, line_size);
    auto offset = c.op.allocate_node(size);
    if (!offset) return offset;
    c.made.push(*offset);
    c.op.copy_fresh(at<node>(*offset), buffer.at.data(), size);
    return word | *offset;
}

/// The word of a draft; a single entry needs no node.
template <class D, class Keys>
result<u64> hot<D, Keys>::make_entry(change& c, const draft& d) const {
    if (d.count == 1) return d.words[0];
    return make_node(c, d);
}

/// Removes dead records from the draft, as long as at least `least` entries are left.
template <class D, class Keys>
void hot<D, Keys>::leave_out_dead(change& c, draft& d, u32& entry, u32 least) const {
    if (!d.has_dead) [[likely]] {
        return;
    }
    for (u32 i = d.count; i-- > 0 && d.count > least;) {
        if (i == entry || hot_detail::slot_word::what_of(d.words[i]) != what::dead) continue;
        c.left_out.push(hot_detail::slot_word::offset_of(d.words[i]));
        d.remove(i);
        if (i < entry) --entry;
    }
}

/// Replaces the last node of the path, which is locked, by the draft. A draft with too many entries
/// is split at its first bit, and both halves are inserted into the parent; or into a new node
/// between them, if the parent's height leaves room for one.
template <class D, class Keys>
auto hot<D, Keys>::put(change& c, way& w, draft& d) -> result<step> {
    using namespace hot_detail;
    u32 depth = w.size() - 1;
    u64 word = 0;
    for (;; --depth) {
        if (!c.lock(*this, w, depth, w[depth].word)) return step::again;
        if (d.count <= most_entries) {
            auto made = make_node(c, d);
            if (!made) return tl::unexpected(made.error());
            word = *made;
            break;
        }
        draft zeros;  // NOLINT(cppcoreguidelines-pro-type-member-init): split() fills them
        draft ones;   // NOLINT(cppcoreguidelines-pro-type-member-init)
        if (!d.split(zeros, ones)) c.op.fail(root_, "a node does not tell its keys apart");
        const u32 bit = d.bits[0];
        const u32 height = d.height;
        auto zero = make_entry(c, zeros);
        if (!zero) return tl::unexpected(zero.error());
        auto one = make_entry(c, ones);
        if (!one) return tl::unexpected(one.error());
        if (depth == 0 || w[depth - 1].n->height() > height + 1) {
            d.make_pair(bit, *zero, *one, height + 1);
            auto made = make_node(c, d);
            if (!made) return tl::unexpected(made.error());
            word = *made;
            break;
        }
        const level& above = w[depth - 1];
        load(c.op, d, above.n, above.word);
        d.words[above.index] = *zero;
        d.add(above.index, bit, true, *one);
    }
    replace_from(c, w, depth, word);
    return step::done;
}

/// Replaces the last node of the path by the grown node.
template <class D, class Keys>
auto hot<D, Keys>::put_grown(change& c, const way& w, const hot_detail::node_buffer& grown,
                             u64 made_word) -> result<step> {
    const u32 depth = w.size() - 1;
    if (!c.lock(*this, w, depth, w[depth].word)) return step::again;
    auto made = place_node(c, grown, made_word);
    if (!made) return tl::unexpected(made.error());
    replace_from(c, w, depth, *made);
    return step::done;
}

/// Publishes the word that replaces the path's nodes from `depth` on, which are locked.
template <class D, class Keys>
void hot<D, Keys>::replace_from(change& c, const way& w, u32 depth, u64 word) {
    using namespace hot_detail;
    operation& op = c.op;
    op.persist_unpublished();
    HF_PERSIST_POINT("hot H1: record and all new nodes are durable before the topmost word");
    op.publish(link_of(w, depth), word);
    op.persist_publication();
    HF_PERSIST_POINT("hot H2: the topmost word is durable before what it has replaced is retired");
    c.made.clear();
    c.mark_obsolete();
    c.unlock();
    for (u32 i = depth; i < w.size(); ++i) {
        op.retire(*this, slot_word::offset_of(w[i].word), slot_word::kind_of(w[i].word));
    }
    for (u32 i = 0; i < c.left_out.size(); ++i) op.retire(*this, c.left_out[i], leaf);
}

/// Replaces a record's word by that of a node that contains the record. The lock is held.
template <class D, class Keys>
void hot<D, Keys>::publish_pair(change& c, published& link, u64 was, u64 word) {
    operation& op = c.op;
    if (was != 0) op.shade(*this, hot_detail::slot_word::offset_of(was), leaf);
    op.persist_unpublished();
    HF_PERSIST_POINT("hot H1: record and all new nodes are durable before the topmost word");
    op.publish(link, word);
    op.persist_publication();
    c.made.clear();
    c.unlock();
}

}  // namespace hf
