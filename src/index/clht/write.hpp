// clht/write.hpp: part of clht.hpp: changes of a single key.
#pragma once

#include "index/clht/clht.hpp"

namespace hf {

template <class D, class Keys, class Shape>
auto clht<D, Keys, Shape>::search(operation& op, const home& h, key k) const -> found_slots {
    found_slots s;
    for (bucket* n = h.first; n != nullptr; n = next_of(n)) {
        op.took_step();
        unsigned equal = n->slots_of(h.hash);
        const unsigned empty = n->slots_of(0);
        for (; equal != 0; equal &= equal - 1) {
            const auto i = static_cast<unsigned>(std::countr_zero(equal));
            if (!is_of(k, n->value[i].load())) continue;
            s.of_key = {n, i};
            return s;
        }
        if (empty != 0 && !s.free) s.free = {n, static_cast<unsigned>(std::countr_zero(empty))};
        s.last = n;
    }
    if (s.free || h.number == no_number) return s;
    const unsigned bits = bits_of(h.number);
    for (bucket* n = h.first; n != nullptr; n = next_of(n)) {
        for (unsigned i = 0; i < slots; ++i) {
            if (is_alive(n->key[i].load(), h.number, bits)) continue;
            s.free = {n, i};
            return s;
        }
    }
    return s;
}

/// After a kill a writer depends on the whole chain, on its `made`, and on the buddy's, which has
/// made entries dead: records all of these lines.
template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::note_after_a_kill(operation& op, const home& h) const {
    if (!op.is_after_a_kill()) [[likely]] {
        return;
    }
    for (bucket* n = h.first; n != nullptr; n = next_of(n)) {
        op.took_step();
        op.written_line(n);
    }
    const u64 buddies = now().size();
    if (h.number < buddies && is_made(h.number + buddies)) {
        op.written_line(bucket_at(h.number + buddies));
    }
}

/// The word to store in a slot for the value.
template <class D, class Keys, class Shape>
result<u64> clht<D, Keys, Shape>::make_value(operation& op, key k, value v) {
    if constexpr (Keys::inline_values) {
        return v;
    } else {
        return Keys::make_record(op, k, v);
    }
}

/// Clears a slot (C-I4). `first`: the chain's first bucket.
template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::empty(operation& op, bucket* first, slot s) noexcept {
    op.publish(s.node->key[s.at], 0);
    first->count_version();
}

/// Fills a slot (C1: all in one line). With any prefix of the stores durable, no key has
/// another's value.
template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::fill(operation& op, bucket* first, slot s, u64 hash, u64 word) noexcept {
    if (s.node->key[s.at].load() != 0) empty(op, first, s);
    s.node->value[s.at].store(word);
    s.node->key[s.at].store(hash);
    op.written_line(s.node);
}

template <class D, class Keys, class Shape>
result<void> clht<D, Keys, Shape>::add_overflow(operation& op, bucket* last, u64 hash, key k,
                                                value v) {
    auto at_offset = op.allocate_node(sizeof(bucket));
    if (!at_offset) return tl::unexpected(at_offset.error());
    auto word = make_value(op, k, v);
    if (!word) {
        op.cancel(*at_offset);
        return tl::unexpected(word.error());
    }
    auto* more = at<bucket>(*at_offset);
    more->state.store(0);
    for (unsigned i = 0; i < slots; ++i) {
        more->value[i].store(i == 0 ? *word : 0);
        more->key[i].store(i == 0 ? hash : 0);
    }
    more->next.store(0);
    op.written_line(more);
    op.persist_unpublished();
    HF_PERSIST_POINT("clht C2: an overflow bucket is durable before its link");
    op.publish(last->next, *at_offset);
    op.persist_publication();
    return {};
}

template <class D, class Keys, class Shape>
template <class Old>
result<bool> clht<D, Keys, Shape>::write(operation& op, key k, value v, wanted what, Old&& old) {
    if (auto ok = Keys::check(k, v); !ok) return tl::unexpected(ok.error());
    const u64 hash = Keys::hash(k);
    spin_lock& lock = lock_of(hash);
    __builtin_prefetch(home_of(hash).first, 1);
    for (bool may_split = true;;) {
        std::unique_lock guard(lock);
        const home h = home_of(hash);
        const found_slots s = search(op, h, k);
        note_after_a_kill(op, h);
        if (what != wanted::any && static_cast<bool>(s.of_key) != (what == wanted::present)) {
            op.persist_dependencies();
            return false;
        }
        if (!s.of_key && !s.free) {
            // Splitting moves about half of the entries to a buddy that is not made yet.
            const bool splits = may_split && h.number != no_number && bits_of(h.number) == level();
            auto done = splits ? result<void>{} : add_overflow(op, s.last, h.hash, k, v);
            guard.unlock();
            if (splits) {
                may_split = false;
                // if it fails, an overflow bucket is added instead
                static_cast<void>(split_group_of(op, h.number));
                continue;
            }
            if (!done) return tl::unexpected(done.error());
            push_frontier(op, Shape::frontier_groups);
            return true;
        }
        auto word = make_value(op, k, v);
        if (!word) return tl::unexpected(word.error());
        op.persist_unpublished();
        u64 replaced = 0;
        if (s.of_key) {
            replaced = s.of_key.node->value[s.of_key.at].load();
            op.publish(s.of_key.node->value[s.of_key.at], *word);
        } else {
            fill(op, h.first, s.free, h.hash, *word);
        }
        op.persist_publication();
        guard.unlock();
        if (!s.of_key) return true;
        old(value_in(replaced));
        if constexpr (!Keys::inline_values) op.retire(*this, replaced, leaf);
        return what == wanted::present;
    }
}

template <class D, class Keys, class Shape>
template <class Old>
bool clht<D, Keys, Shape>::remove(operation& op, key k, Old&& old) {
    const u64 hash = Keys::hash(k);
    __builtin_prefetch(home_of(hash).first, 1);
    std::unique_lock guard(lock_of(hash));
    const home h = home_of(hash);
    const found_slots s = search(op, h, k);
    note_after_a_kill(op, h);
    if (!s.of_key) {
        op.persist_dependencies();
        return false;
    }
    const u64 word = s.of_key.node->value[s.of_key.at].load();
    empty(op, h.first, s.of_key);
    op.persist_publication();
    guard.unlock();
    old(value_in(word));
    if constexpr (!Keys::inline_values) op.retire(*this, word, leaf);
    return true;
}

}  // namespace hf
