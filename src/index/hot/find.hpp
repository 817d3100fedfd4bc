// hot/find.hpp: part of hot.hpp: descents, and get.
#pragma once

#include "index/hot/hot.hpp"

namespace hf {

/// Prefetches the node or record that a word points to.
template <class D, class Keys>
[[gnu::always_inline]] inline void hot<D, Keys>::begin_loading(u64 word) const noexcept {
    using namespace hot_detail;
    const char* line = at<const char>(slot_word::offset_of(word));
    __builtin_prefetch(line);
    if (!slot_word::is_node(word)) return;
    // The size of most nodes; prefetching past the end of a smaller one is harmless.
    __builtin_prefetch(line + line_size);
    __builtin_prefetch(line + 2 * line_size);
    __builtin_prefetch(line + 3 * line_size);
}

/// Prefetches the rest of the path's last node, which will be read completely.
template <class D, class Keys>
[[gnu::always_inline]] inline void hot<D, Keys>::begin_copying(const way& w) const noexcept {
    if (w.empty()) return;
    const level& last = w[w.size() - 1];
    const auto* line = reinterpret_cast<const char*>(last.n);
    const u32 bytes = hot_detail::size_of(last.word);
    for (u32 at = 4 * line_size; at < bytes; at += line_size) __builtin_prefetch(line + at);
}

/// Call after loading a word that changes under `lock`. If a writer holds the lock, records the
/// word's line, so that it is durable before the operation depends on it.
template <class D, class Keys>
[[gnu::always_inline]] inline void hot<D, Keys>::note_word(operation& op, const node_lock& lock,
                                                           const published* slot) noexcept {
    if (node::may_be_volatile(lock.load())) [[unlikely]] {
        op.written_line(slot);
    }
}

/// Descends from a node to one of its words, and prefetches the object it points to.
template <class D, class Keys>
[[gnu::always_inline]] inline void hot<D, Keys>::go_down(operation& op, key k, reached& r) const {
    note_word(op, *r.lock, r.slot);
    node* n = node_of(r.word);
    r.slot = words_in(n, r.word) + find(n, r.word, k);
    r.word = r.slot->load();
    r.lock = &n->lock;
    begin_loading(r.word);
}

/// Completes a reader's descent at a record, or without one.
template <class D, class Keys>
template <class Found>
[[gnu::always_inline]] inline bool hot<D, Keys>::end_at(operation& op, key k, const reached& r,
                                                        Found&& found) const {
    using namespace hot_detail;
    if (slot_word::what_of(r.word) != what::record || key_in(r.word) != k) {
        note_word(op, *r.lock, r.slot);
        op.persist_dependencies();
        return false;
    }
    const record& is = *record_of(r.word);
    const auto v = Keys::value_if_sound(is);
    const bool may_be_volatile = node::may_be_volatile(r.lock->load());
    if (may_be_volatile || (Keys::inline_values && r.slot->load() != r.word)) [[unlikely]] {
        op.written_line(r.slot);
        if constexpr (Keys::inline_values) op.written_line(&is);
    }
    op.persist_dependencies();
    found(v);
    return true;
}

template <class D, class Keys>
template <class Found>
bool hot<D, Keys>::get(operation& op, key k, Found&& found) const {
    reached r{&root_->word, &root_->lock, root_->word.load()};
    while (hot_detail::slot_word::is_node(r.word)) {
        op.took_step();
        go_down(op, k, r);
    }
    return end_at(op, k, r, found);
}

template <class D, class Keys>
template <class Found>
void hot<D, Keys>::get_piece(operation& op, std::span<const key> keys, Found&& found) const {
    std::array<reached, gets_at_once> all;  // NOLINT(*-member-init): as many as there are keys
    const std::size_t count = keys.size();
    for (std::size_t i = 0; i < count; ++i) {
        all[i] = {&root_->word, &root_->lock, root_->word.load()};
    }
    for (bool more = true; more;) {
        op.took_step();
        more = false;
        for (std::size_t i = 0; i < count; ++i) {
            if (!hot_detail::slot_word::is_node(all[i].word)) continue;
            go_down(op, keys[i], all[i]);
            more = true;
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        end_at(op, keys[i], all[i], [&](const auto& v) { found(i, v); });
    }
}

/// Descends by a key. Returns the word at the end of the path: a record's, or 0 in an empty trie.
template <class D, class Keys>
u64 hot<D, Keys>::descend(operation& op, key k, way& w) const {
    using namespace hot_detail;
    u64 word = root_->word.load();
    note_word(op, root_->lock, &root_->word);
    while (slot_word::is_node(word)) {
        op.took_step();
        node* n = node_of(word);
        const u32 i = find(n, word, k);
        w.push({n, word, i});
        const published* slot = words_in(n, word) + i;
        word = slot->load();
        begin_loading(word);
        note_word(op, n->lock, slot);
    }
    return word;
}

/// The depth of the node in which a key leaves the path at `bit`: the last one whose first bit is
/// not after it; the topmost node if there is none.
template <class D, class Keys>
u32 hot<D, Keys>::level_of(const way& w, u32 bit) const noexcept {
    u32 depth = w.size() - 1;
    while (depth > 0 &&
           w[depth].n->first_bit(hot_detail::slot_word::what_of(w[depth].word)) > bit) {
        --depth;
    }
    return depth;
}

/// The word that points to the node or record at a depth of the path.
template <class D, class Keys>
published& hot<D, Keys>::link_of(const way& w, u32 depth) const noexcept {
    if (depth == 0) return root_->word;
    const level& above = w[depth - 1];
    return above.n->words(above.word)[above.index];
}
template <class D, class Keys>
node_lock& hot<D, Keys>::lock_above(const way& w, u32 depth) const noexcept {
    return depth == 0 ? root_->lock : w[depth - 1].n->lock;
}

/// After a stale lock was reclaimed: makes everything durable that changes under the lock,
/// including values in records (eager/operation.hpp).
template <class D, class Keys>
void hot<D, Keys>::take_over(operation& op, const way& w, u32 depth) const {
    using namespace hot_detail;
    const auto note = [&](u64 word) {
        if (slot_word::what_of(word) == what::record) op.written_line(record_of(word));
    };
    if (depth == 0) {
        note(root_->word.load());
        op.make_durable(root_, sizeof *root_);
        return;
    }
    const level& above = w[depth - 1];
    for (u32 i = 0; i < slot_word::count_of(above.word); ++i) {
        note(above.n->words(above.word)[i].load());
    }
    op.make_durable(above.n, size_of(above.word));
}

}  // namespace hf
