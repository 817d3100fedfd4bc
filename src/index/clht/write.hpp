// clht/write.hpp: a part of clht.hpp: changing one key.
#pragma once

#include "index/clht/clht.hpp"

namespace hf {

template <class D, class Keys, class Shape>
auto clht<D, Keys, Shape>::lock_home(operation& op, u64 hash) const noexcept -> home {
    for (;;) {
        const home h = home_of(hash);
        h.first->lock.lock(op.generation());  // a dead holder has left nothing to repair
        if (h.number == no_number || home_of(hash).number == h.number) return h;
        h.first->lock.unlock();
    }
}

template <class D, class Keys, class Shape>
auto clht<D, Keys, Shape>::search(const home& h, key k) const noexcept -> found_slots {
    found_slots s;
    for (bucket* n = h.first; n != nullptr; n = next_of(n)) {
        for (unsigned i = 0; i < slots; ++i) {
            const u64 hash = n->key[i].load();
            if (hash == h.hash && is_of(k, n->value[i].load())) {
                s.of_key = {n, i};
                return s;
            }
            if (hash == 0 && !s.free) s.free = {n, i};
        }
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

/// The word that a slot has for it.
template <class D, class Keys, class Shape>
result<u64> clht<D, Keys, Shape>::make_value(operation& op, key k, value v) {
    if constexpr (Keys::inline_values) {
        return v;
    } else {
        return Keys::make_record(op, k, v);
    }
}

/// C1: all in one line. Whatever prefix of it is durable, no key has another's value.
template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::fill(slot s, u64 hash, u64 word) noexcept {
    if (s.node->key[s.at].load() != 0) s.node->key[s.at].store(0);
    s.node->value[s.at].store(word);
    s.node->key[s.at].store(hash);
}

template <class D, class Keys, class Shape>
result<void> clht<D, Keys, Shape>::add_overflow(operation& op, bucket* last, u64 hash, key k,
                                                value v) {
    auto at_offset = op.allocate(sizeof(bucket));
    if (!at_offset) return tl::unexpected(at_offset.error());
    auto word = make_value(op, k, v);
    if (!word) {
        op.cancel(*at_offset);
        return tl::unexpected(word.error());
    }
    auto* more = at<bucket>(*at_offset);
    more->lock.init(0);
    for (unsigned i = 0; i < slots; ++i) {
        more->value[i].store(i == 0 ? *word : 0);
        more->key[i].store(i == 0 ? hash : 0);
    }
    more->next.store(0);
    op.written_line(more);
    op.settle();
    HF_PERSIST_POINT("clht C2: an overflow bucket is durable before its link");
    op.publish(last->next, *at_offset);
    op.commit();
    return {};
}

template <class D, class Keys, class Shape>
template <class Old>
result<bool> clht<D, Keys, Shape>::write(operation& op, key k, value v, wanted what, Old&& old) {
    if (auto ok = Keys::check(k, v); !ok) return tl::unexpected(ok.error());
    const u64 hash = Keys::hash(k);
    for (bool may_split = true;;) {
        const home h = lock_home(op, hash);
        const found_slots s = search(h, k);
        if (what != wanted::any && static_cast<bool>(s.of_key) != (what == wanted::present)) {
            h.first->lock.unlock();
            return false;
        }
        if (!s.of_key && !s.free) {
            // A buddy that is not made yet takes about half of what is here.
            const bool splits = may_split && h.number != no_number && bits_of(h.number) == level();
            auto done = splits ? result<void>{} : add_overflow(op, s.last, h.hash, k, v);
            h.first->lock.unlock();
            if (splits) {
                may_split = false;
                static_cast<void>(split_group_of(op, h.number));  // else an overflow bucket
                push_frontier(op, Shape::frontier_groups);
                continue;
            }
            if (!done) return tl::unexpected(done.error());
            push_frontier(op, 2 * Shape::frontier_groups);
            return true;
        }
        auto word = make_value(op, k, v);
        if (!word) {
            h.first->lock.unlock();
            return tl::unexpected(word.error());
        }
        op.settle();
        u64 replaced = 0;
        if (s.of_key) {
            replaced = s.of_key.node->value[s.of_key.at].load();
            op.publish(s.of_key.node->value[s.of_key.at], *word);
        } else {
            if (s.free.node->key[s.free.at].load() != 0) h.first->lock.count_version();
            fill(s.free, h.hash, *word);
            op.written_line(s.free.node);
        }
        op.commit();
        h.first->lock.unlock();
        if (!s.of_key) return true;
        old(value_in(replaced));
        if constexpr (!Keys::inline_values) op.retire(*this, replaced, leaf);
        return what == wanted::present;
    }
}

template <class D, class Keys, class Shape>
template <class Old>
bool clht<D, Keys, Shape>::remove(operation& op, key k, Old&& old) {
    const home h = lock_home(op, Keys::hash(k));
    const found_slots s = search(h, k);
    if (!s.of_key) {
        h.first->lock.unlock();
        return false;
    }
    const u64 word = s.of_key.node->value[s.of_key.at].load();
    h.first->lock.count_version();  // C-I4
    op.publish(s.of_key.node->key[s.of_key.at], 0);
    op.commit();
    h.first->lock.unlock();
    old(value_in(word));
    if constexpr (!Keys::inline_values) op.retire(*this, word, leaf);
    return true;
}

}  // namespace hf
