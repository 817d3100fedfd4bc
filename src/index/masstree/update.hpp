// update.hpp: changes within one leaf (part of masstree.hpp).
#pragma once

#include "index/masstree/asserted.hpp"
#include "index/masstree/formats.hpp"
#include "index/masstree/masstree.hpp"
#include "persist/persist_point.hpp"

namespace hf {

template <any_discipline D>
result<u64> masstree<D>::create_root(memory& blocks, operation& op, u64 generation) {
    masstree tree(blocks, 0, generation);
    auto made = tree.new_leaf(op, nullptr);
    if (!made) return tl::unexpected(made.error());
    return tree.offset_of(*made);
}

template <any_discipline D>
result<void> masstree<D>::create_root(region& r, u64 place, std::string_view name, u64 type,
                                      u32 format) {
    static_assert(masstree_detail::inlined_node_block <= founding_bytes);
    const bool inlined = format == inlined_root_format;
    const u64 offset = place + block_header_size;
    leaf& n = *r.at<leaf>(offset);
    init_leaf(n, 0, offset);
    const auto first = layout::epoch_record_load(r.header().epoch);
    if (!first) return tl::unexpected(first.error());
    // Stamps the leaf with the previous epoch, which has completed, so recovery never rolls it
    // back.
    if constexpr (adapter_can_inline) {
        adapter::created_root_leaf(n, *first - 1, inlined);
    } else {
        adapter::created_root_leaf(n, *first - 1);
    }
    r.med().persist(
        &n, inlined ? masstree_detail::inlined_node_payload : masstree_detail::node_payload);
    HF_PERSIST_POINT("masstree F1: empty root leaf durable before the root leads to it");
    auto root = r.publish_root(name, type, format, offset);
    return root ? result<void>{} : tl::unexpected(root.error());
}

template <any_discipline D>
inline result<u64> masstree<D>::make_record(operation& op, std::string_view key,
                                            std::string_view value) {
    const u64 payload = masstree_detail::record_payload(key, value.size());
    auto offset = heap_.allocate(op, payload);
    if (!offset) [[unlikely]] {
        return offset;
    }
    record* r = record_at(*offset);
    masstree_detail::fill_record(r, key, value, *offset);
    adapter_.filled(op, r, payload);
    return offset;
}

// -------------------------------------------------------------------------------------- new nodes

/// Allocates a leaf of the layer rooted at `root`; nullptr: the leaf becomes a layer's root itself.
template <any_discipline D>
auto masstree<D>::new_leaf(operation& op, const node* root) -> result<leaf*> {
    auto offset = heap_.allocate(op, node_payload());
    if (!offset) return tl::unexpected(offset.error());
    leaf* n = at<leaf>(*offset);
    cover_region();
    init_leaf(*n, generation_, root != nullptr ? offset_of(root) : *offset);
    adapter_.fresh_leaf(op, *n);
    return n;
}

/// Free slots keep their arbitrary bytes; the adapter clears those that look like logs.
template <any_discipline D>
void masstree<D>::init_leaf(leaf& n, u64 generation, u64 layer) noexcept {
    n.version.init(true, generation);
    store(n.order, n.sealed_order(perm::empty().word()));
    store(n.next, 0);
    store(n.low_key, 0);
    n.set_lengths(0);
    n.settle_in(layer);
}

template <any_discipline D>
auto masstree<D>::new_interior(operation& op) -> result<interior*> {
    auto offset = heap_.allocate(op, node_payload());
    if (!offset) return tl::unexpected(offset.error());
    auto* n = at<interior>(*offset);
    n->version.init(false, generation_);
    n->settle_at(*offset);
    adapter_.fresh_interior(op, *n);
    return n;
}

/// Replaces a leaf's entries by these, which are in order. The leaf is new, or marked as splitting
/// and logged.
template <any_discipline D>
void masstree<D>::fill_leaf(leaf& n, const entry* entries, unsigned count) noexcept {
    u64 lengths = 0;
    for (unsigned i = 0; i < count; ++i) {
        const unsigned s = perm::nth_slot(i);
        store(n.keys[s], entries[i].slice);
        lengths = masstree_detail::with_length_class(lengths, s, entries[i].length_class);
    }
    n.set_lengths(lengths);
    for (unsigned i = 0; i < count; ++i) put_cell(n, perm::nth_slot(i), entries[i].value);
    store(n.order, n.sealed_order(perm::filled(count).word()));
    HF_ASSERT(masstree_detail::is_in_order(n), "M2: a leaf's entries ascend");
}

// ---------------------------------------------------------------------------------------- changes

/// Throws damage if the insert would go to a wrong place: n, a locked leaf, belongs to another
/// layer; or the slice, which is not below the range of n, is above it; or a node on the path was
/// copied from elsewhere. The key may exist at its right place, and an old value could reappear
/// later.
template <any_discipline D>
inline void masstree<D>::check_before_insert(leaf& n, u64 slice, const node* root,
                                             const descent& path) const {
    for (unsigned i = 0; memory::is_in_region && i < path.depth; ++i) {
        const u64 offset = offset_of(path.nodes[i]);
        if (path.nodes[i]->is_of_another_place(offset)) [[unlikely]] {
            broken(offset, "an interior node lies where another belongs");
        }
    }
    const u64 next = load(n.next);
    if (n.is_of_another_layer(offset_of(root)) ||
        (next != 0 && slice >= load(followed<leaf>(next)->low_key))) [[unlikely]] {
        broken(offset_of(&n), "a leaf lies where another belongs");
    }
}

template <any_discipline D>
inline result<void> masstree<D>::insert(operation& op, leaf& n, node* root, descent& path,
                                        const entry& e) {
    HF_ASSERT(n.version.is_held(generation_), "a leaf that changes is locked");
    const perm p = whole_order_of(n);
    if (p.full()) [[unlikely]] {
        return adapter::shape::split_insert(*this, op, n, root, path, e);
    }
    auto slot = adapter_.choose_slot_for_insert(op, n, p);
    if (!slot) [[unlikely]] {
        return tl::unexpected(slot.error());
    }
    HF_ASSERT((p.used() >> *slot & 1) == 0, "only a free slot is filled");
    [[maybe_unused]] const bool in_order =  // no damage before the change
        assertions_run && masstree_detail::is_in_order(n);
    n.version.mark_inserting();
    store(n.keys[*slot], e.slice);
    store(n.lengths, masstree_detail::with_length_class(load(n.lengths), *slot, e.length_class));
    put_cell(n, *slot, e.value);
    const unsigned rank = lower_rank(n, p, e.slice, e.length_class);
    adapter_.publish(op, n.order, n.sealed_order(p.inserted(rank, *slot).word()));
    HF_ASSERT(!in_order || masstree_detail::is_in_order(n), "M2: a leaf's entries ascend");
    return {};
}

/// Two different keys share the slice of `slot` and continue: creates the layers below it that hold
/// both. One store changes the slot's value word from a record (`old_cell`) to a layer; it is
/// logged like any value change.
template <any_discipline D>
result<void> masstree<D>::make_layer(operation& op, leaf& n, unsigned slot, const cell& old_cell,
                                     key_cursor key, u64 fresh) {
    const u64 old_offset = masstree_detail::value_word::offset(old_cell.word);
    const record& old = sized_record(old_offset);
    const std::string_view whole = key.whole();
    std::string old_key(whole.substr(0, masstree_detail::slice_size));
    check_value(old_key.append(old.tail()), old.head, old.value(), old_offset);
    const std::size_t shared = (key.depth() + 1) * masstree_detail::slice_size;
    if (old_key.size() <= shared || old_key.compare(0, shared, whole.substr(0, shared)) != 0) {
        broken(old_offset, "a record's key is not the one under which it lies");
    }
    std::array<leaf*, 1 + masstree_detail::most_key_bytes / masstree_detail::slice_size> made;
    unsigned count = 0;
    const auto drop_all = [&] {
        while (count > 0) drop_node(op, made[--count]);
    };
    entry of_old{};
    entry of_new{};
    for (;;) {
        auto layer = new_leaf(op, nullptr);
        if (!layer) {
            drop_all();
            return tl::unexpected(layer.error());
        }
        made[count++] = *layer;
        key.descend();
        const key_cursor theirs(old.rest(key.depth() - 1));
        of_old = {theirs.slice(), theirs.length_class(), old_cell};
        of_new = {key.slice(), key.length_class(), cell_of_record(fresh)};
        if (of_old.slice != of_new.slice || of_old.length_class != of_new.length_class) break;
    }
    if (auto ready = adapter_.before_value_change(op, n, slot); !ready) {
        drop_all();
        return ready;
    }
    const bool old_first =
        of_old.slice < of_new.slice ||
        (of_old.slice == of_new.slice && of_old.length_class < of_new.length_class);
    const entry both[2] = {old_first ? of_old : of_new, old_first ? of_new : of_old};
    fill_leaf(*made[count - 1], both, 2);
    for (unsigned i = count - 1; i > 0; --i) {
        const std::string_view rest = old.rest(key.depth() - (count - i) - 1);
        const entry link{masstree_detail::slice_of(rest), masstree_detail::longer,
                         cell_of_layer(offset_of(made[i]))};
        fill_leaf(*made[i - 1], &link, 1);
    }
    publish_cell(op, n, slot, old_cell, cell_of_layer(offset_of(made[0])));
    return {};
}

template <any_discipline D>
inline auto masstree<D>::to_store(const decision& d, const key_cursor& key) const noexcept -> cell {
    namespace kind = masstree_detail::cell_kind;
    if (d.value.kind == kind::none) return cell_of_record(d.record);
    HF_CHECK(is_inlined() && kind::is_inline(d.value.kind) &&
                 masstree_detail::fits_inline(key.whole().size(), d.value.kind),
             "a value of this size, or key, has a record");
    return d.value;
}

template <any_discipline D>
template <class F>
inline auto masstree<D>::update(operation& op, std::string_view key_bytes, F&& decide, bool blind)
    -> result<outcome> {
    using masstree_detail::longer;
    namespace kind = masstree_detail::cell_kind;
    adapter_.begin_update(op);
    key_cursor key(key_bytes);
    node* root = at<node>(root_);
    descent path;
    int found = -1;
    leaf* hinted = hints_ != nullptr ? lock_hinted(op, key, found) : nullptr;
    for (patience left(damage_is_known_);;) {
        leaf* n = std::exchange(hinted, nullptr);
        const bool has_slot = n != nullptr;
        if (!has_slot) {
            n = lock_leaf(op, root, key.slice(), path);
            if (n == nullptr) {
                left.again(offset_of(root));
                key.rewind();
                root = at<node>(root_);
                continue;
            }
        }
        held mine(*n);
        const perm p = order_of(*n);
        if (!has_slot) found = find_slot(*n, p, key.slice(), key.length_class());
        if (found < 0) {
            if (load(n->low_key) > key.slice()) {
                broken(offset_of(n), "a leaf lies where another belongs");
            }
            const decision d = decide(static_cast<const record*>(nullptr));
            if (d.what != decision::action::store) {
                if (p.size() == 0) [[unlikely]] {  // left by a removal that could not unlink it
                    mine.let_go();
                    adapter::shape::remove_empty(*this, op, key, n, root, path);
                }
                return outcome{false, false};
            }
            check_before_insert(*n, key.slice(), root, path);
            auto done =
                insert(op, *n, root, path, {key.slice(), key.length_class(), to_store(d, key)});
            if (!done) return tl::unexpected(done.error());
            heap_.count_objects(op, +1);
            if (p.full()) {
                mine.let_go();  // the split has unlocked n
            } else {
                leave_hint(key, *n, d.record);  // 0: an inlined value
            }
            return outcome{false, true};
        }
        const auto slot = static_cast<unsigned>(found);
        const cell seen = cell_at(*n, slot);
        const cell value = opened(*n, seen);
        const bool is_inline = kind::is_inline(value.kind);
        const bool is_torn_cell = is_torn(*n, seen, key.slice(), key.length_class());
        if (is_torn_cell && !is_inline) [[unlikely]] {
            broken(offset_of(n), "a slot of a leaf contradicts its check");
        }
        const u64 target = record_offset(value);
        if (value.kind == kind::layer) {
            mine.let_go();
            unlock_with_hint(key, *n, target);
            root = below(target, key);
            continue;
        }
        // A temporary record for `decide`, made from an inlined value.
        struct {
            record r;
            u64 word;
        } shown{};
        static_assert(sizeof shown == sizeof(record) + sizeof(u64));
        if (is_inline) {
            shown.r.head = masstree_detail::record_word(value.kind, 0, 0);
            shown.word = value.word;
            if (key.length_class() == longer || key.depth() != 0) {
                broken(offset_of(n), "a value in a leaf is of too long a key");
            }
        }
        const record* old = is_inline ? &shown.r : &sized_record(target);
        if (!is_inline && key.length_class() == longer && !old->rest_equals(key)) {
            const decision d = decide(static_cast<const record*>(nullptr));
            if (d.what != decision::action::store) return outcome{false, false};
            auto done = make_layer(op, *n, slot, value, key, d.record);
            if (!done) return tl::unexpected(done.error());
            heap_.count_objects(op, +1);
            return outcome{false, true};
        }
        if (!is_inline) heap_.prefetch_header(target);
        // Sizes must be sound, too: they determine the block that is freed with the record.
        const bool is_lost = is_inline ? is_torn_cell : !is_whole(key.whole(), *old, target);
        if (is_lost && (!blind || !masstree_detail::is_in_order(*n))) [[unlikely]] {
            broken(target, "a record's checksum is not that of its key and value");
        }
        const decision d = decide(old);
        if (d.what == decision::action::keep) return outcome{true, false};
        const bool erase = d.what == decision::action::erase;
        HF_ASSERT(n->version.is_held(generation_), "a leaf that changes is locked");
        auto ready =
            erase ? adapter_.before_removal(op, *n) : adapter_.before_value_change(op, *n, slot);
        if (!ready) [[unlikely]] {
            return tl::unexpected(ready.error());
        }
        if (!erase) {
            publish_cell(op, *n, slot, value, to_store(d, key));
            mine.let_go();
            unlock_with_hint(key, *n, d.record);
        } else {
            const perm whole = whole_order_of(*n);
            unsigned rank = 0;
            while (whole.slot(rank) != slot) ++rank;
            const perm left_over = whole.removed(rank);
            HF_ASSERT(left_over.is_valid(), "a permutation is one");
            adapter_.publish(op, n->order, n->sealed_order(left_over.word()));
            heap_.count_objects(op, -1);
            mine.let_go();
            if (left_over.size() == 0) {
                adapter::shape::remove_empty(*this, op, key, n, root, path);
            } else {
                n->version.unlock();
            }
        }
        if (!is_lost && !is_inline) [[likely]] {
            heap_.deallocate(op, target, old->payload());
        }
        return outcome{true, true};
    }
}

}  // namespace hf
