// eager_masstree/write.hpp: part of eager_masstree.hpp: changes of one leaf.
#pragma once

#include "index/eager_masstree/eager_masstree.hpp"

namespace hf {

/// The word that a write stores in a leaf: an integer's value, or a record, made when it is first
/// needed.
template <class D, class Keys>
struct eager_masstree<D, Keys>::fresh_record {
    fresh_record(operation& o, key k, value v) : op(o), name(k), content(v) {}
    ~fresh_record() {
        if (offset != 0) op.cancel(offset);
    }
    fresh_record(const fresh_record&) = delete;
    fresh_record& operator=(const fresh_record&) = delete;

    [[nodiscard]] result<void> make() {
        if constexpr (has_layers) {
            if (offset != 0) return {};
            auto made = Keys::make_record(op, name, content);
            if (!made) return tl::unexpected(made.error());
            offset = *made;
        }
        return {};
    }
    [[nodiscard]] u64 word(unsigned length_class) const noexcept {
        if constexpr (has_layers) {
            return eager_masstree_detail::entry_word::of(length_class, false, offset);
        } else {
            return content;
        }
    }
    void is_published() noexcept { offset = 0; }

    operation& op;
    key name;
    value content;
    u64 offset = 0;
};

template <class D, class Keys>
template <class Old>
result<bool> eager_masstree<D, Keys>::write(operation& op, key k, value v, wanted want, Old&& old) {
    using namespace eager_masstree_detail;
    if (auto ok = Keys::check(k, v); !ok) [[unlikely]] {
        return tl::unexpected(ok.error());
    }
    fresh_record r(op, k, v);
    cursor c(k);
    root_block* root = root_;
    for (;;) {
        node& n = lock_for(op, *root, descend(op, *root, c.slice(), 0).n, c.slice(), 0);
        const order_word o = n.used();
        const auto place = n.template find<has_layers>(o, c.slice(), c.length_class());
        const unsigned slot = o.slot(place.is_there ? place.rank : 0);
        if (slot >= width || o.size() > width) [[unlikely]] {
            n.lock.unlock();
            op.fail(&n, "the order of a node is damaged");
        }
        const u64 word = place.is_there ? n.pairs[slot].word.load() : 0;
        if constexpr (has_layers) {
            if (place.is_there && entry_word::is_layer(word)) {
                n.lock.unlock();
                root = at<root_block>(entry_word::offset_of(word));
                check_goes_on(op, c, root);
                c.descend();
                continue;
            }
        }
        const bool clashes = place.is_there && is_of_another(c, word);
        const bool is_there = place.is_there && !clashes;
        if (want == (is_there ? wanted::absent : wanted::present)) {
            n.lock.unlock();
            op.persist_dependencies();
            return false;
        }
        const bool splits = !place.is_there && o.full();
        result<void> done =
            splits     ? or_give_back(n.lock, [&] { return split(op, *root, n, c.slice()); })
            : clashes  ? make_layer(op, n, slot, c, r)
            : is_there ? replace(op, n, slot, r, old)
                       : add(op, n, place.rank, c, r);
        if (!done || splits) n.lock.unlock();
        if (!done) return tl::unexpected(done.error());
        if (!splits) return is_there ? want == wanted::present : true;
    }
}

/// Inserts a pair at a rank. In an interior node the word is a child.
template <class D, class Keys>
void eager_masstree<D, Keys>::put(operation& op, node& n, unsigned rank, u64 slice, u64 word) {
    const order_word o = n.used();
    const unsigned slot = o.size() < eager_masstree_detail::width ? node::free_slot(o) : 15;
    if (slot >= eager_masstree_detail::width) op.fail(&n, "the order of a node is damaged");
    auto& p = n.pairs[slot];
    // Readers ignore a pair that `order` does not refer to (I2); the order word publishes it.
    p.key.fill(slice);
    p.word.fill(word);
    if (!same_line(&p, &n)) op.written_line(&p);
    op.persist_unpublished();
    op.publish(n.order, o.inserted(rank, slot).word());
    op.persist_publication();
}

/// Inserts a new key. The leaf has room; unlocks it.
template <class D, class Keys>
result<void> eager_masstree<D, Keys>::add(operation& op, node& n, unsigned rank, const cursor& c,
                                          fresh_record& r) {
    if (auto ok = r.make(); !ok) return ok;
    or_give_back(n.lock, [&] { put(op, n, rank, c.slice(), r.word(c.length_class())); });
    r.is_published();
    n.lock.unlock();
    return {};
}

/// Replaces the value of an entry. Unlocks the leaf.
template <class D, class Keys>
template <class Old>
result<void> eager_masstree<D, Keys>::replace(operation& op, node& n, unsigned slot,
                                              fresh_record& r, Old&& old) {
    using namespace eager_masstree_detail;
    auto& word = n.pairs[slot].word;
    const u64 was = word.load();
    if (auto ok = r.make(); !ok) return ok;
    op.persist_unpublished();
    op.publish(word, r.word(entry_word::class_of(was)));
    r.is_published();
    op.persist_publication();
    n.lock.unlock();
    old(value_of(was));
    if constexpr (has_layers) op.retire(*this, entry_word::offset_of(was), leaf);
    return {};
}

template <class D, class Keys>
template <class Old>
bool eager_masstree<D, Keys>::remove(operation& op, key k, Old&& old) {
    using namespace eager_masstree_detail;
    cursor c(k);
    root_block* root = root_;
    for (;;) {
        node& n = lock_for(op, *root, descend(op, *root, c.slice(), 0).n, c.slice(), 0);
        const order_word o = n.used();
        const auto place = n.template find<has_layers>(o, c.slice(), c.length_class());
        const u64 word = place.is_there ? n.pair_at(o, place.rank).word.load() : 0;
        if constexpr (has_layers) {
            if (place.is_there && entry_word::is_layer(word)) {
                n.lock.unlock();
                root = at<root_block>(entry_word::offset_of(word));
                check_goes_on(op, c, root);
                c.descend();
                continue;
            }
        }
        if (!place.is_there || is_of_another(c, word)) {
            n.lock.unlock();
            op.persist_dependencies();
            return false;
        }
        const bool empties = o.size() == 1;
        take_out(op, n, place.rank, old);
        if (empties) [[unlikely]] {
            unlink_empty(op, *root, c.slice());
        }
        return true;
    }
}

/// Removes a key. Unlocks the leaf.
template <class D, class Keys>
template <class Old>
void eager_masstree<D, Keys>::take_out(operation& op, node& n, unsigned rank, Old&& old) {
    using namespace eager_masstree_detail;
    const order_word o = n.used();
    const u64 word = n.pair_at(o, rank).word.load();
    op.persist_unpublished();
    op.publish(n.order, o.removed(rank).word());
    n.lock.count_version();  // I5
    op.persist_publication();
    n.lock.unlock();
    old(value_of(word));
    if constexpr (has_layers) op.retire(*this, entry_word::offset_of(word), leaf);
}

/// Makes layers for two keys that share this slice, down to where they differ. Unlocks the leaf.
template <class D, class Keys>
result<void> eager_masstree<D, Keys>::make_layer(operation& op, node& n, unsigned slot,
                                                 const cursor& c, fresh_record& r) {
    using namespace eager_masstree_detail;
    if constexpr (has_layers) {
        auto& word = n.pairs[slot].word;
        const u64 there = entry_word::offset_of(word.load());
        if (auto ok = r.make(); !ok) return ok;
        std::vector<u64> made;
        const auto refuse = [&](const error& e) -> result<void> {
            for (const u64 offset : made) op.cancel(offset);
            return tl::unexpected(e);
        };
        const auto refuse_damage = [&] {
            return refuse(
                damaged("make a layer", there, "a record lies where its key does not lead"));
        };
        cursor mine = c;
        cursor other(Keys::key_of(*at<record>(there)));
        if (other.whole().size() <= (c.depth() + 1) * masstree_detail::slice_size) {
            return refuse_damage();
        }
        other.rewind(c.depth());
        node* above = nullptr;
        for (bool is_shared = true; is_shared;) {
            mine.descend();
            other.descend();
            auto block = op.allocate_node(sizeof(root_block));
            if (!block) return refuse(block.error());
            made.push_back(*block);
            auto first = op.allocate_node(sizeof(node));
            if (!first) return refuse(first.error());
            made.push_back(*first);
            if (above != nullptr) {
                above->pairs[node::fresh_slot(0)].word.fill(entry_word::of(longer, true, *block));
                op.written(above, node::fresh_bytes(2));
            }
            auto* b = at<root_block>(*block);
            b->lock.fill(node_lock::fresh(0, false, op.generation()));
            b->word.fill(*first);
            op.written(b, sizeof *b);
            above = at<node>(*first);
            const unsigned mine_class = mine.length_class();
            const unsigned other_class = other.length_class();
            is_shared = mine.slice() == other.slice() && mine_class == other_class;
            if (is_shared && mine_class != longer) return refuse_damage();
            above->fill_header(0, op.generation(), is_shared ? 1 : 2, 0, highest);
            if (is_shared) {
                above->fill_pair(0, mine.slice(), 0);
                continue;
            }
            const bool mine_first =
                std::pair(mine.slice(), mine_class) < std::pair(other.slice(), other_class);
            above->fill_pair(mine_first ? 0 : 1, mine.slice(), r.word(mine_class));
            above->fill_pair(mine_first ? 1 : 0, other.slice(),
                             entry_word::of(other_class, false, there));
            op.written(above, node::fresh_bytes(2));
        }
        op.shade(*this, there, leaf);
        op.persist_unpublished();
        HF_PERSIST_POINT("masstree M4: a layer is durable before the word that leads to it");
        op.publish(word, entry_word::of(longer, true, made.front()));
        r.is_published();
        op.persist_publication();
        n.lock.unlock();
    }
    return {};
}

}  // namespace hf
