// hinted.hpp: descents shortened by hints, and the updates of hints (part of masstree.hpp).
//
// Hints exist for layer 0 only. By H1 and H2 of leaf_hints.hpp a hinted leaf is read like one that
// a descent has reached, and its result counts only if it contains the key.
#pragma once

#include "index/masstree/masstree.hpp"

namespace hf {

/// Prefetches the leaf and the record of the hint for `slice`. nullptr: there is no hint.
template <any_discipline D>
[[gnu::always_inline]] inline auto masstree<D>::hinted_leaf(u64 slice) const noexcept -> leaf* {
    const auto hint = hints_->find(slice);
    if (hint.leaf == 0) return nullptr;
    leaf* n = at<leaf>(hint.leaf);
    fetch(n);  // as in a descent
    const auto* lines = at<const char>(hint.record_line);
    __builtin_prefetch(lines);
    __builtin_prefetch(lines + line_size);
    return n;
}

/// reach_leaf() by a hint: the leaf that contains the key, and the key's slot; nullptr: no usable
/// hint.
template <any_discipline D>
[[gnu::always_inline]] inline auto masstree<D>::reach_hinted(operation& op, const key_cursor& key,
                                                             u64& version, int& slot) const
    -> leaf* {
    leaf* n = hinted_leaf(key.slice());
    if (n == nullptr) return nullptr;
    version = stable(n);
    if (is_deleted(version) || !is_leaf(version)) return nullptr;
    arrive_unlocked(op, *n, version);
    const u64 order = load(n->order);
    slot = find_slot(*n, perm(order), key.slice(), key.length_class());
    return slot >= 0 && is_order(*n, order) ? n : nullptr;
}

/// Returns the contents of the key's slot, without the seal, by a hint. Kind none: no usable hint;
/// the caller must search from the root.
template <any_discipline D>
[[gnu::always_inline]] inline auto masstree<D>::find_hinted(operation& op,
                                                            const key_cursor& key) const -> cell {
    u64 v = 0;
    int slot = 0;
    leaf* n = reach_hinted(op, key, v, slot);
    if (n == nullptr) return {};
    const cell value = cell_at(*n, static_cast<unsigned>(slot));
    if (n->version.changed(v) || is_torn(*n, value, key.slice(), key.length_class())) return {};
    adapter_.observed(op, *n);
    return opened(*n, value);
}

/// lock_leaf() by a hint: the leaf that contains the key, locked and recovered, and the key's slot;
/// nullptr: no usable hint.
template <any_discipline D>
inline auto masstree<D>::lock_hinted(operation& op, const key_cursor& key, int& slot) const
    -> leaf* {
    leaf* n = hinted_leaf(key.slice());
    if (n == nullptr) return nullptr;
    const bool taken_over = lock(n);
    held mine(*n);
    const u64 v = n->version.load();
    if (is_deleted(v) || !is_leaf(v)) return nullptr;
    arrive_locked(op, *n, taken_over);
    slot = find_slot(*n, order_of(*n), key.slice(), key.length_class());
    if (slot < 0) return nullptr;
    mine.let_go();
    return n;
}

/// Stores a hint: the entry was found in n. `count` was read before that was validated (H4).
template <any_discipline D>
inline void masstree<D>::leave_hint(u64 slice, const leaf& n, u32 count, u64 its_record) noexcept {
    hints_->note(slice, offset_of(&n), count, its_record);
}

/// Stores a hint: n, locked, contains the key with this record; 0: without a record.
template <any_discipline D>
inline void masstree<D>::leave_hint(const key_cursor& key, const leaf& n, u64 its_record) noexcept {
    if (hints_ == nullptr || key.depth() != 0) return;
    leave_hint(key.slice(), n, hints_->count(offset_of(&n)), its_record);
}

/// leave_hint(), then unlocks n.
template <any_discipline D>
inline void masstree<D>::unlock_with_hint(const key_cursor& key, leaf& n, u64 its_record) noexcept {
    const bool hints = hints_ != nullptr && key.depth() == 0;
    const u32 count = hints ? hints_->count(offset_of(&n)) : 0;  // H4: before it is unlocked
    n.version.unlock();
    if (hints) leave_hint(key.slice(), n, count, its_record);
}

/// Updates the hints of all entries that a split moved, and of the new entry. The nodes are still
/// locked.
template <any_discipline D>
void masstree<D>::leave_hints(const split_plan& plan, const node* root, const entry& e) noexcept {
    if (hints_ == nullptr || root != at<node>(root_)) return;
    const auto& divided = *static_cast<const leaf*>(plan.locked[0]);
    leave_hint(e.slice, divided, hints_->count(offset_of(&divided)), record_offset(e.value));
    for (unsigned i = 0; i < plan.fresh_used; ++i) {
        if (!is_leaf(plan.fresh[i]->version.load())) continue;
        const auto& n = *static_cast<const leaf*>(plan.fresh[i]);
        HF_ASSERT(is_leaf(n.version.load()), "H1: what a hint names is a leaf");
        const u32 count = hints_->count(offset_of(&n));
        const perm p(load(n.order));
        for (unsigned r = 0; r < p.size(); ++r) {
            leave_hint(load(n.keys[p.slot(r)]), n, count, record_offset(cell_at(n, p.slot(r))));
        }
    }
}

}  // namespace hf
