// find.hpp: descent within a layer, and get (part of masstree.hpp).
//
// Optimistic descent with hand-over-hand version validation. A child's version is read before the
// parent's is checked again, so at that moment it was the right child. A later split of the child
// changes its version, and entries that moved are found to its right. A pointer is followed only
// after the node that contains it was validated, and only to an offset where a node can be. The
// number of restarts is bounded (`patience.hpp`), so searches terminate on a damaged region, too.
//
// Some of these functions are always inlined: a processor looks a few hundred instructions ahead,
// so two reads overlap their cache misses only if fewer instructions are between them.
#pragma once

#include "index/masstree/masstree.hpp"

namespace hf {

/// Returns the leaf whose range contained `slice` when its version was `version`; nullptr: the
/// layer was removed.
template <any_discipline D>
inline auto masstree<D>::reach_leaf(node* root, u64 slice, u64& version, descent* path) const
    -> leaf* {
    for (patience left(damage_is_known_);; left.again(offset_of(root))) {
        node* n = root;
        u64 v = stable(n);
        if (is_deleted(v)) [[unlikely]] {
            if (root == at<node>(root_)) broken(root_, "the root is marked as deleted");
            return nullptr;
        }
        if (path != nullptr) path->depth = 0;
        unsigned height = 0;
        bool again = false;
        while (!is_leaf(v)) {
            auto* in = static_cast<interior*>(n);
            const u64 child_offset = load(in->children[in->child_index(slice)]);
            if (!in->version.changed(v)) [[likely]] {
                node* child = followed(child_offset);
                fetch(child);
                const u64 child_version = stable(child);
                if (!in->version.changed(v)) [[likely]] {
                    if (++height == max_height) [[unlikely]] {
                        broken(child_offset, "a layer is too tall");
                    }
                    if (path != nullptr) path->push(in);
                    n = child;
                    v = child_version;
                    continue;
                }
            }
            const u64 now = stable(n);
            if (version_word::split_since(v, now)) {
                again = true;
                break;
            }
            v = now;
        }
        if (again || is_deleted(v)) continue;
        version = v;
        return static_cast<leaf*>(n);
    }
}

/// Moves right to the leaf that contains `slice`, after n has been split. False: n was removed;
/// restart in the layer.
template <any_discipline D>
inline bool masstree<D>::follow_right(leaf*& n, u64& version, u64 slice) const {
    for (patience left(damage_is_known_);; left.again(offset_of(n))) {
        if (is_deleted(version) || !is_leaf(version)) return false;
        const u64 next = load(n->next);
        if (n->version.changed(version)) {
            version = stable(n);
            continue;
        }
        if (next == 0) return true;
        leaf* right = followed<leaf>(next);
        if (slice < load(right->low_key)) return true;
        n = right;
        version = stable(n);
    }
}

template <any_discipline D>
[[gnu::always_inline]] inline int masstree<D>::find_slot(const leaf& n, perm p, u64 slice,
                                                         unsigned length_class) noexcept {
    const u64 lengths = load(n.lengths);
    for (auto equal = masstree_detail::search::equal(n.keys, slice); equal != 0;
         equal &= equal - 1) {
        const auto s = static_cast<unsigned>(std::countr_zero(equal));
        if (masstree_detail::length_class(lengths, s) == length_class && p.uses(s)) {
            return static_cast<int>(s);
        }
    }
    return -1;
}

/// Rank of the first entry that is not less.
template <any_discipline D>
inline unsigned masstree<D>::lower_rank(const leaf& n, perm p, u64 slice,
                                        unsigned length_class) noexcept {
    const u64 lengths = load(n.lengths);
    unsigned r = 0;
    for (; r < p.size(); ++r) {
        const unsigned s = p.slot(r);
        const u64 k = load(n.keys[s]);
        if (k > slice ||
            (k == slice && masstree_detail::length_class(lengths, s) >= length_class)) {
            break;
        }
    }
    return r;
}

/// Reads a slot again under the lock of n, because the value and its check do not match although
/// the version is unchanged: they may come from two different stores. False: n has changed. Throws
/// damage.
template <any_discipline D>
[[gnu::noinline]] bool masstree<D>::read_again(leaf& n, u64 version, unsigned slot, u64 slice,
                                               unsigned length_class, cell& c) const {
    lock(&n);
    held mine(n);
    if (n.version.changed(version)) return false;
    c = cell_at(n, slot);
    if (is_torn(n, c, slice, length_class)) {
        broken(offset_of(&n), "a value in a leaf contradicts its check");
    }
    return true;
}

/// Returns the contents of the key's slot, without the seal. At `version` the key was in the range
/// of n; it may be in a leaf to the right by now. Kind none: the key has no entry; nullopt: the
/// leaf was removed.
template <any_discipline D>
[[gnu::always_inline]] inline auto masstree<D>::find_in_leaf(operation& op, leaf* n, u64 version,
                                                             const key_cursor& key)
    -> std::optional<cell> {
    for (;;) {
        arrive_unlocked(op, *n, version);
        const bool hints = hints_ != nullptr && key.depth() == 0;
        const u32 count = hints ? hints_->count(offset_of(n)) : 0;  // H4: before the version
        const u64 order = load(n->order);
        const int slot = find_slot(*n, perm(order), key.slice(), key.length_class());
        cell value = slot < 0 ? cell{} : cell_at(*n, static_cast<unsigned>(slot));
        const u64 low_key = slot < 0 ? load(n->low_key) : 0;
        if (!n->version.changed(version)) [[likely]] {
            check_order(*n, order, version);
            if (slot >= 0) {
                if (is_torn(*n, value, key.slice(), key.length_class()) &&
                    !read_again(*n, version, static_cast<unsigned>(slot), key.slice(),
                                key.length_class(), value)) [[unlikely]] {
                    continue;
                }
                value = opened(*n, value);
            }
            if (low_key > key.slice()) broken(offset_of(n), "a leaf lies where another belongs");
            if (hints && slot >= 0) leave_hint(key.slice(), *n, count, record_offset(value));
            adapter_.observed(op, *n);
            return value;
        }
        const u64 now = stable(n);
        const bool split = version_word::split_since(version, now);
        version = now;
        if (split && !follow_right(n, version, key.slice())) return std::nullopt;
    }
}

/// The root of the layer below a slot, in which the key continues.
template <any_discipline D>
inline auto masstree<D>::below(u64 offset, key_cursor& key) const -> node* {
    if (key.length_class() != masstree_detail::longer) [[unlikely]] {
        broken(offset, "a layer lies below a key that ends above it");
    }
    key.descend();
    return followed(offset);
}

/// Returns the inlined value or the record's offset if the rest of the key matches the record's;
/// otherwise kind none.
template <any_discipline D>
[[gnu::always_inline]] inline auto masstree<D>::if_same_rest(const cell& value,
                                                             const key_cursor& key) const -> cell {
    namespace kind = masstree_detail::cell_kind;
    const bool is_longer = key.length_class() == masstree_detail::longer;
    if (kind::is_inline(value.kind)) {
        if (is_longer || key.depth() != 0) broken(root_, "a value in a leaf is of too long a key");
        return value;
    }
    const u64 offset = masstree_detail::value_word::offset(value.word);
    const record& found = sized_record(offset);
    if (is_longer && !found.rest_equals(key)) return {};
    return {offset, kind::record};
}

/// find_cell(). `value`: the contents of the key's slot in layer 0, if already known.
template <any_discipline D>
inline auto masstree<D>::find_from(operation& op, key_cursor key, cell value) -> cell {
    namespace kind = masstree_detail::cell_kind;
    node* root = at<node>(root_);
    for (patience left(damage_is_known_);; value = {}) {
        if (value.kind == kind::none) {
            u64 v = 0;
            leaf* n = reach_leaf(root, key.slice(), v, nullptr);
            const auto found = n != nullptr ? find_in_leaf(op, n, v, key) : std::nullopt;
            if (!found) {  // the layer or the leaf was removed
                left.again(offset_of(root));
                key.rewind();
                root = at<node>(root_);
                continue;
            }
            if (found->kind == kind::none) return {};
            value = *found;
        }
        if (value.kind == kind::layer) {
            root = below(masstree_detail::value_word::offset(value.word), key);
            continue;
        }
        return if_same_rest(value, key);
    }
}

template <any_discipline D>
[[gnu::always_inline]] inline auto masstree<D>::find_cell(operation& op, std::string_view key_bytes)
    -> cell {
    namespace kind = masstree_detail::cell_kind;
    const key_cursor key(key_bytes);
    const cell value = hints_ != nullptr ? find_hinted(op, key) : cell{};
    if (value.kind != kind::none && value.kind != kind::layer) [[likely]] {
        return if_same_rest(value, key);
    }
    return find_from(op, key, value);
}

template <any_discipline D>
template <class F>
inline bool masstree<D>::get(operation& op, std::string_view key, F&& found) {
    const cell c = find_cell(op, key);
    if (c.kind == masstree_detail::cell_kind::none) return false;
    if (masstree_detail::cell_kind::is_inline(c.kind)) {
        found(c.value());
    } else {
        found(static_cast<const record*>(record_at(c.word))->value());
    }
    return true;
}

/// Returns the leaf for `slice`, locked and recovered; nullptr: the layer was removed.
template <any_discipline D>
inline auto masstree<D>::lock_leaf(operation& op, node* root, u64 slice, descent& path) const
    -> leaf* {
    patience left(damage_is_known_);
    for (;;) {
        u64 v = 0;
        leaf* n = reach_leaf(root, slice, v, &path);
        if (n == nullptr) return nullptr;
        for (;; left.again(offset_of(n))) {
            const bool taken_over = lock(n);
            held mine(*n);
            const u64 now = n->version.load();
            if (!version_word::split_since(v, now)) [[likely]] {
                arrive_locked(op, *n, taken_over);
                mine.let_go();
                return n;
            }
            const bool gone = is_deleted(now) || !is_leaf(now);
            const u64 next = gone ? 0 : load(n->next);
            const bool right = next != 0 && slice >= load(followed<leaf>(next)->low_key);
            if (!gone && !right) {
                arrive_locked(op, *n, taken_over);
                mine.let_go();
                return n;
            }
            mine.unlock();
            if (gone) break;
            n = at<leaf>(next);
            // No split has been seen since the leaf was reached, but it may have been split before:
            // compare with the right neighbour again. No node's version has all of the flags.
            v = version_word::flags;
        }
    }
}

}  // namespace hf
