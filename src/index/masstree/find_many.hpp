// find_many.hpp: looks up many keys at once (part of masstree.hpp).
//
// A search has a cache miss at each level, and each depends on the one before. Searches for
// different keys are independent: advanced in lockstep, level by level, their misses overlap. Each
// one is the descent of find.hpp with the same rules. A search that encounters a concurrent change
// is dropped and repeated by itself.
#pragma once

#include "index/masstree/masstree.hpp"

#include <algorithm>

namespace hf {

/// Advances the walkers from the root to their leaves. A walker that encounters a change ends with
/// n = nullptr.
template <any_discipline D>
inline void masstree<D>::walk_down(std::span<walker> all) const {
    node* root = at<node>(root_);
    const u64 root_version = stable(root);
    for (walker& w : all) {
        w.n = root;
        w.version = root_version;
    }
    unsigned height = 0;
    for (bool more = !is_leaf(root_version); more;) {
        if (++height == max_height) broken(root_, "a layer is too tall");
        for (walker& w : all) {
            if (w.n == nullptr || is_leaf(w.version)) continue;
            auto* in = static_cast<interior*>(w.n);
            const u64 child = load(in->children[in->child_index(w.key.slice())]);
            if (in->version.changed(w.version)) {
                w.n = nullptr;
                continue;
            }
            w.child = followed(child);
            fetch(w.child);
        }
        more = false;
        for (walker& w : all) {
            if (w.n == nullptr || is_leaf(w.version)) continue;
            const u64 version = stable(w.child);
            // As in reach_leaf(): read before the parent is validated.
            const bool changed = w.n->version.changed(w.version);
            w.n = changed || is_deleted(version) ? nullptr : w.child;
            w.version = version;
            more = more || (w.n != nullptr && !is_leaf(version));
        }
    }
}

template <any_discipline D>
inline void masstree<D>::prefetch(const operation& /*inside of it*/,
                                  std::span<const std::string_view> keys) const {
    HF_ASSERT(keys.size() <= most_finds, "too many keys at once");
    std::array<walker, most_finds> walkers;
    std::size_t walking = 0;
    for (const std::string_view key : keys) prefetch_hint(key);
    for (const std::string_view key : keys) {
        const bool hinted =
            hints_ != nullptr && hinted_leaf(masstree_detail::slice_of(key)) != nullptr;
        if (!hinted) walkers[walking++].key = key_cursor(key);
    }
    if (walking != 0) walk_down(std::span(walkers).first(walking));
}

template <any_discipline D>
inline void masstree<D>::find_many(operation& op, std::span<const std::string_view> keys,
                                   cell* found) {
    HF_ASSERT(keys.size() <= most_finds, "too many keys at once");
    namespace kind = masstree_detail::cell_kind;
    std::array<walker, most_finds> walkers;
    std::size_t walking = 0;
    if (hints_ != nullptr) {
        for (const std::string_view key : keys) prefetch_hinted(op, key);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        walker& w = walkers[walking];
        w.key = key_cursor(keys[i]);
        w.which = i;
        const cell hinted = hints_ != nullptr ? find_hinted(op, w.key) : cell{};
        if (hinted.kind != kind::none) {
            found[i] = find_from(op, w.key, hinted);
        } else {
            ++walking;
        }
    }
    const auto all = std::span(walkers).first(walking);
    walk_down(all);
    for (walker& w : all) {
        w.value = cell{};
        if (w.n != nullptr) w.value = find_in_leaf(op, static_cast<leaf*>(w.n), w.version, w.key);
        if (w.value && w.value->kind != kind::none) {
            __builtin_prefetch(at<char>(record_offset(*w.value)));
        }
    }
    for (walker& w : all) {
        const bool absent = w.n != nullptr && w.value && w.value->kind == kind::none;
        found[w.which] = absent ? cell{} : find_from(op, w.key, w.value.value_or(cell{}));
    }
}

}  // namespace hf
