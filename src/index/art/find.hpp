// art/find.hpp: part of art.hpp: descents, and get.
#pragma once

#include "index/art/art.hpp"

namespace hf {

/// Prefetches the lines of a node that a search for this byte will read.
template <class D, class Keys>
[[gnu::always_inline]] inline void art<D, Keys>::begin_loading(const node* n, what kind,
                                                               u8 byte) noexcept {
    using namespace art_detail;
    __builtin_prefetch(n);
    const auto* line = reinterpret_cast<const char*>(n) + line_size;
    if (kind == what::n16) {
        __builtin_prefetch(line);
        __builtin_prefetch(line + line_size);
    } else if (kind == what::n48) {
        __builtin_prefetch(line + 8 * node48::home_of(byte));
    } else if (kind == what::n256) {
        __builtin_prefetch(line + 8 * u64{byte});
    }
}

/// Call after loading a slot's word, or (slot = nullptr) if the node has none for a byte. Records
/// the loaded words if a writer holds the node, so that they are durable before the operation
/// depends on them.
template <class D, class Keys>
[[gnu::always_inline]] inline void art<D, Keys>::note_slot(operation& op, node* n, what kind,
                                                           const published* slot) noexcept {
    if (!node::may_be_volatile(n->lock.load())) [[likely]] {
        return;
    }
    if (slot != nullptr) {
        op.written_line(slot);
    } else {
        op.written(n, art_detail::size_of(kind));
    }
}

/// Descends from a node to the next one, which is prefetched. False: the path ends here.
template <class D, class Keys>
[[gnu::always_inline]] inline bool art<D, Keys>::go_down(operation& op, key k, reached& r) const {
    using namespace art_detail;
    const bool hints = node::has_hints(r.n->lock.load(), op.generation());
    const prefix p = prefix_of(r.n);
    bool is_apart = p.length != 0 && p.fits(r.depth);
    if constexpr (path::can_end) {
        if (path::length(k) < p.level) {
            r.is_apart = true;
            return false;
        }
    }
    if (is_apart) is_apart = path::chunk(k, r.depth, p.stored()) != p.bytes;
    if (is_apart) {
        r.is_apart = true;
        return false;
    }
    const found_word slot = find_for(r.n, r.kind, k, p.level, hints);
    if (!slot_word::is_node(slot.word)) [[unlikely]] {
        r.slot = slot;
        return false;
    }
    const u32 next = p.level + 1;
    node* child = node_of(slot.word);
    const auto child_kind = slot_word::what_of(slot.word);
    begin_loading(child, child_kind, next < path::length(k) ? path::at(k, next) : u8{0});
    note_slot(op, r.n, r.kind, slot.at);
    r.n = child;
    r.kind = child_kind;
    r.depth = next;
    return true;
}

/// Completes a reader's descent at a record, or without one.
template <class D, class Keys>
template <class Found>
[[gnu::always_inline]] inline bool art<D, Keys>::end_at(operation& op, key k, const reached& r,
                                                        Found&& found) const {
    const found_word slot = r.slot;
    if (r.is_apart) {
        op.persist_dependencies();
        return false;
    }
    if (slot.word == 0 || Keys::key_of(*record_of(slot.word)) != k) {
        note_slot(op, r.n, r.kind, slot.word == 0 ? nullptr : slot.at);
        op.persist_dependencies();
        return false;
    }
    const record& is = *record_of(slot.word);
    const auto v = Keys::value_if_sound(is);
    const bool may_be_volatile = node::may_be_volatile(r.n->lock.load());
    if (may_be_volatile || (Keys::inline_values && slot.at->load() != slot.word)) [[unlikely]] {
        op.written_line(slot.at);
        if constexpr (Keys::inline_values) op.written_line(&is);
    }
    op.persist_dependencies();
    found(v);
    return true;
}

template <class D, class Keys>
template <class Found>
bool art<D, Keys>::get(operation& op, key k, Found&& found) const {
    reached r = start();
    while (go_down(op, k, r)) op.took_step();
    return end_at(op, k, r, found);
}

template <class D, class Keys>
template <class Found>
void art<D, Keys>::get_piece(operation& op, std::span<const key> keys, Found&& found) const {
    std::array<reached, gets_at_once> all;    // NOLINT(*-member-init): as many as there are keys
    std::array<u8, gets_at_once> on_the_way;  // NOLINT(*-member-init): as many as there are keys
    std::size_t going = keys.size();
    for (std::size_t i = 0; i < going; ++i) {
        all[i] = start();
        on_the_way[i] = static_cast<u8>(i);
    }
    while (going != 0) {
        op.took_step();
        std::size_t still = 0;
        for (std::size_t j = 0; j < going; ++j) {
            const u8 i = on_the_way[j];
            on_the_way[still] = i;
            if (go_down(op, keys[i], all[i])) {
                ++still;
            } else if (all[i].slot.word != 0) {
                __builtin_prefetch(record_of(all[i].slot.word));
            }
        }
        going = still;
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        end_at(op, keys[i], all[i], [&](const auto& v) { found(i, v); });
    }
}

/// A writer's descent. `stop`: the key is known to differ from its path at that byte, in a part of
/// a prefix that is too long to be stored in a node. All links are recorded if possibly volatile.
/// `p` is filled and not returned: copying it would wait for all earlier stores, which wait for the
/// last operation's fence; this way the descent overlaps with them.
template <class D, class Keys>
void art<D, Keys>::walk(operation& op, key k, u32 stop, bool removes, place& p) const {
    using namespace art_detail;
    p.at = root_;
    p.self = slot_word::of(0, what::n256, root_offset_);
    for (;;) {
        const bool hints = node::has_hints(p.at->lock.load(), op.generation());
        p.seen = prefix_of(p.at);
        if (!p.seen.fits(p.depth)) [[unlikely]] {
            if (p.seen.level < p.depth) op.fail(p.at, "a node lies too deep for its level");
            p.how = end_of_way::torn;
            return;
        }
        if (p.seen.length != 0) {
            const u32 stored = p.seen.stored();
            const u32 here = std::min(stored, path::length(k) - p.depth);
            if (path::chunk(k, p.depth, here) != p.seen.bytes >> (8 * (stored - here)) ||
                path::length(k) < p.seen.level) {
                p.how = end_of_way::apart;
                return;
            }
            if (!path::can_end && path::length(k) == p.seen.level) {
                op.fail(p.at, "a node is below the end of a key");
            }
            p.skipped |= p.seen.length > prefix::stored_bytes;
        }
        if (stop < p.seen.level) {
            p.how = end_of_way::apart;
            return;
        }
        p.slot = find_for(p.at, p.kind, k, p.seen.level, hints);
        const u64 word = p.slot.word;
        if (word == 0) {
            note_slot(op, p.at, p.kind, nullptr);
            p.how = end_of_way::absent;
            return;
        }
        op.took_step();
        const u32 next = p.seen.level + 1;
        if (slot_word::is_node(word)) {
            begin_loading(node_of(word), slot_word::what_of(word),
                          next < path::length(k) ? path::at(k, next) : u8{0});
        }
        note_slot(op, p.at, p.kind, p.slot.at);
        if (!slot_word::is_node(word)) {
            p.how = key_in(word) == k ? end_of_way::equal : end_of_way::occupied;
            return;
        }
        if (path::can_end ? next > path::length(k) : next == path::length(k)) [[unlikely]] {
            op.fail(p.at, "a key continues past its end");
        }
        // A larger node's count is a hint: locking the node rebuilds it, and the next descent finds
        // it valid.
        if (removes && p.parent != nullptr && (p.kind == what::n4 || hints) &&
            entries_of(p.at, p.kind) == 1) {
            p.how = end_of_way::lone;
            return;
        }
        p.parent = p.at;
        p.parent_kind = p.kind;
        p.link = p.slot.at;
        p.self = word;
        p.at = node_of(word);
        p.kind = slot_word::what_of(word);
        p.depth = next;
    }
}

/// Any record below a node, which contains the node's path; nullptr: there is none, which is
/// damage.
template <class D, class Keys>
auto art<D, Keys>::any_record(const node* from, what from_kind) const noexcept -> const record* {
    using namespace art_detail;
    constexpr unsigned most_tries = 1000;
    for (unsigned tries = 0; tries < most_tries; ++tries) {
        auto* n = const_cast<node*>(from);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
        auto kind = from_kind;
        for (;;) {
            u64 word = 0;
            each_word(n, kind, [&](u64 w, published*) {
                if (word == 0 || (slot_word::is_node(word) && !slot_word::is_node(w))) word = w;
            });
            // concurrent writers added an entry and removed the last other one
            if (word == 0) break;
            if (!slot_word::is_node(word)) return record_of(word);
            node* child = node_of(word);
            if (prefix_of(child).level <= prefix_of(n).level) return nullptr;  // damage
            n = child;
            kind = slot_word::what_of(word);
        }
    }
    return nullptr;
}

/// The byte at which the key differs from the path of the node it has reached; beyond its level if
/// it does not.
template <class D, class Keys>
u32 art<D, Keys>::apart_at(const place& p, key k) const noexcept {
    const record* any = any_record(p.at, p.kind);
    return any == nullptr ? no_stop : path::first_difference(Keys::key_of(*any), k);
}

}  // namespace hf
