// update.hpp: changes inside of one leaf, and what they ask of the logs (part of masstree.hpp).
#pragma once

#include "index/masstree/formats.hpp"
#include "index/masstree/masstree.hpp"
#include "persist/persist_point.hpp"

namespace hf {

template <class D>
result<u64> masstree<D>::create_root(heap<D>& memory, operation& op, u64 generation) {
    masstree tree(memory, 0, generation);
    auto made = tree.new_leaf(op, 0);
    if (!made) return tl::unexpected(made.error());
    return tree.offset_of(*made);
}

template <class D>
result<void> masstree<D>::found(region& r, u64 place, std::string_view name, u64 type) {
    static_assert(masstree_detail::node_block <= founding_bytes);
    const u64 offset = place + block_header_size;
    leaf& n = *r.at<leaf>(offset);
    init_leaf(n, 0, 0);
    if constexpr (D::durable) {
        const auto first = layout::epoch_record_load(r.header().epoch);
        if (!first) return tl::unexpected(first.error());
        masstree_detail::restamp(n, *first - 1);  // as of an epoch that is over, and never fails
    }
    r.med().persist(&n, masstree_detail::node_payload);
    HF_PERSIST_POINT("masstree F1: empty root leaf durable before the root leads to it");
    auto root = r.publish_root(name, type, masstree_format.version, offset);
    return root ? result<void>{} : tl::unexpected(root.error());
}

template <class D>
inline result<u64> masstree<D>::make_record(operation& op, std::string_view key,
                                            std::string_view value) {
    const u64 payload = masstree_detail::record_payload(key, value.size());
    auto offset = heap_.allocate(op, payload);
    if (!offset) [[unlikely]]
        return offset;
    record* r = record_at(*offset);
    masstree_detail::init_record(r, key, value.size());
    std::memcpy(r->bytes(), value.data(), value.size());
    if constexpr (D::durable) op.my_lane().note_once(r, payload);
    return offset;
}

// ---------------------------------------------------------------------------------- logging nodes

template <class D>
inline bool masstree<D>::is_logged(operation& op, node* n) const noexcept {
    if constexpr (!D::durable) {
        return true;
    } else {
        const bool leaf_now = is_leaf(n->version.load());
        const auto& word =
            leaf_now ? static_cast<leaf*>(n)->log_epoch : static_cast<interior*>(n)->log_epoch;
        return load(word) == op.epoch();
    }
}

/// The node may be changed at will for the rest of the epoch.
template <class D>
inline void masstree<D>::mark_logged(operation& op, node* n) noexcept {
    if constexpr (D::durable) {
        if (is_leaf(n->version.load())) {
            masstree_detail::restamp(*static_cast<leaf*>(n), op.epoch());
        } else {
            store(static_cast<interior*>(n)->log_epoch, op.epoch());
        }
        masstree_detail::note_node(op.my_lane(), n);
    }
}

/// Brings the locked nodes, those that are not yet there, into the external log behind one fence
/// (M5).
template <class D>
result<void> masstree<D>::log_nodes([[maybe_unused]] operation& op,
                                    [[maybe_unused]] node* const* nodes,
                                    [[maybe_unused]] std::size_t count) {
    if constexpr (D::durable) {
        constexpr std::size_t most = 2 * max_height + 4;
        std::array<log_object, most> objects;
        std::array<node*, most> fresh;
        std::size_t n = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (is_logged(op, nodes[i])) continue;
            HF_CHECK(n < most, "too many nodes in one change");
            objects[n] = {offset_of(nodes[i]), static_cast<u32>(masstree_detail::node_payload)};
            fresh[n++] = nodes[i];
        }
        if (n == 0) return {};
        if (auto logged = op.my_lane().log.append(std::span(objects.data(), n), op.epoch());
            !logged) {
            return logged;
        }
        for (std::size_t i = 0; i < n; ++i) mark_logged(op, fresh[i]);
    }
    return {};
}

template <class D>
inline result<void> masstree<D>::log_nodes(operation& op, std::initializer_list<node*> nodes) {
    return log_nodes(op, nodes.begin(), nodes.size());
}

/// Before the value of an occupied slot changes.
template <class D>
inline result<void> masstree<D>::prepare_value([[maybe_unused]] operation& op,
                                               [[maybe_unused]] leaf& n,
                                               [[maybe_unused]] unsigned slot) {
    if constexpr (D::durable) {
        if (load(n.log_epoch) == op.epoch()) return {};
        if constexpr (D::incll) {
            if (masstree_detail::same_upper(load(n.node_epoch), op.epoch()) &&
                masstree_detail::log_value(n, op.my_lane(), op.epoch(), slot)) [[likely]] {
                return {};
            }
        }
        return log_nodes(op, {&n});
    }
    return {};
}

/// Before a slot leaves the permutation.
template <class D>
inline result<void> masstree<D>::prepare_removal([[maybe_unused]] operation& op,
                                                 [[maybe_unused]] leaf& n) {
    if constexpr (D::durable) {
        if (load(n.log_epoch) == op.epoch()) return {};
        if constexpr (D::incll) {
            if (masstree_detail::same_upper(load(n.node_epoch), op.epoch())) [[likely]] {
                masstree_detail::begin_permutation(n, op.my_lane(), op.epoch());
                return {};
            }
        }
        return log_nodes(op, {&n});
    }
    return {};
}

/// Chooses the slot for a new entry and does what must come before it is filled.
template <class D>
inline result<unsigned> masstree<D>::prepare_insert([[maybe_unused]] operation& op,
                                                    [[maybe_unused]] leaf& n, perm p) {
    if constexpr (D::durable) {
        if (load(n.log_epoch) == op.epoch()) return p.slot(p.size());
        if constexpr (D::incll) {
            if (masstree_detail::same_upper(load(n.node_epoch), op.epoch())) [[likely]] {
                for (unsigned r = p.size(); r < leaf::width; ++r) {
                    const unsigned s = p.slot(r);
                    if (!masstree_detail::may_fill(n, op.epoch(), s)) continue;
                    masstree_detail::begin_permutation(n, op.my_lane(), op.epoch());
                    masstree_detail::begin_value_line(n, op.my_lane(), op.epoch(), s);
                    return s;
                }
            }
        }
        if (auto logged = log_nodes(op, {&n}); !logged) return tl::unexpected(logged.error());
    }
    return p.slot(p.size());
}

// -------------------------------------------------------------------------------------- new nodes

template <class D>
auto masstree<D>::new_leaf(operation& op, u64 low_key) -> result<leaf*> {
    auto offset = heap_.allocate(op, masstree_detail::node_payload);
    if (!offset) return tl::unexpected(offset.error());
    leaf* n = at<leaf>(*offset);
    cover_region();
    init_leaf(*n, generation_, low_key);
    mark_logged(op, n);
    return n;
}

/// Free slots may hold anything but logs, which mark_logged() clears.
template <class D>
void masstree<D>::init_leaf(leaf& n, u64 generation, u64 low_key) noexcept {
    n.version.init(true, generation);
    store(n.order, perm::empty().word());
    store(n.next, 0);
    store(n.low_key, low_key);
}

template <class D>
auto masstree<D>::new_interior(operation& op) -> result<interior*> {
    auto offset = heap_.allocate(op, masstree_detail::node_payload);
    if (!offset) return tl::unexpected(offset.error());
    auto* n = at<interior>(*offset);
    n->version.init(false, generation_);
    mark_logged(op, n);
    return n;
}

/// Gives a leaf these entries, in order, and no others. The leaf is new, or marked as splitting and
/// logged.
template <class D>
void masstree<D>::fill_leaf(leaf& n, const entry* entries, unsigned count) noexcept {
    u64 lengths = 0;
    for (unsigned s = 0; s < count; ++s) {
        store(n.keys[s], entries[s].slice);
        store(n.values[s], entries[s].value);
        lengths = masstree_detail::with_length_class(lengths, s, entries[s].length_class);
    }
    store(n.lengths, lengths);
    store(n.order, perm::sorted(count).word());
}

// ---------------------------------------------------------------------------------------- changes

template <class D>
inline result<void> masstree<D>::insert(operation& op, leaf& n, node* root, descent& path,
                                        const entry& e) {
    const perm p(load(n.order));
    if (p.full()) [[unlikely]]
        return split_insert(op, n, root, path, e);
    auto slot = prepare_insert(op, n, p);
    if (!slot) [[unlikely]]
        return tl::unexpected(slot.error());
    n.version.mark_inserting();
    store(n.keys[*slot], e.slice);
    store(n.lengths, masstree_detail::with_length_class(load(n.lengths), *slot, e.length_class));
    store(n.values[*slot], e.value);
    const unsigned rank = lower_rank(n, p, e.slice, e.length_class);
    store(n.order, p.inserted(rank, *slot).word());
    return {};
}

/// Two different keys share the slice of `slot` and go on: puts both into new layers below it. The
/// slot's value word turns from a record into a layer in one store, logged like any value.
template <class D>
result<void> masstree<D>::make_layer(operation& op, leaf& n, unsigned slot, const record& old,
                                     key_cursor key, u64 fresh) {
    const u64 old_word = load(n.values[slot]);
    std::array<leaf*, 1 + 4096 / masstree_detail::slice_size> made;
    unsigned count = 0;
    const auto drop_all = [&] {
        while (count > 0) drop_node(op, made[--count]);
    };
    entry of_old{};
    entry of_new{};
    for (;;) {
        auto layer = new_leaf(op, 0);
        if (!layer) {
            drop_all();
            return tl::unexpected(layer.error());
        }
        made[count++] = *layer;
        key.descend();
        const std::string_view tail =
            old.tail().substr((key.depth() - 1) * masstree_detail::slice_size);
        const key_cursor theirs(tail);
        of_old = {theirs.slice(), theirs.length_class(), old_word};
        of_new = {key.slice(), key.length_class(), masstree_detail::value_word::of_record(fresh)};
        if (of_old.slice != of_new.slice || of_old.length_class != of_new.length_class) break;
    }
    if (auto ready = prepare_value(op, n, slot); !ready) {
        drop_all();
        return ready;
    }
    const bool old_first =
        of_old.slice < of_new.slice ||
        (of_old.slice == of_new.slice && of_old.length_class < of_new.length_class);
    const entry both[2] = {old_first ? of_old : of_new, old_first ? of_new : of_old};
    fill_leaf(*made[count - 1], both, 2);
    for (unsigned i = count - 1; i > 0; --i) {
        const std::string_view tail =
            old.tail().substr((key.depth() - (count - i) - 1) * masstree_detail::slice_size);
        const entry link{masstree_detail::slice_of(tail), masstree_detail::longer,
                         masstree_detail::value_word::of_layer(offset_of(made[i]))};
        fill_leaf(*made[i - 1], &link, 1);
    }
    store(n.values[slot], masstree_detail::value_word::of_layer(offset_of(made[0])));
    return {};
}

template <class D>
template <class F>
inline auto masstree<D>::update(operation& op, std::string_view key_bytes, F&& decide)
    -> result<outcome> {
    using masstree_detail::longer;
    op.my_lane().mark_written();
    key_cursor key(key_bytes);
    node* root = at<node>(root_);
    descent path;
    int found = -1;
    leaf* hinted = hints_ != nullptr ? lock_hinted(op, key, found) : nullptr;
    for (;;) {
        leaf* n = std::exchange(hinted, nullptr);
        if (n == nullptr) {
            n = lock_leaf(op, root, key.slice(), path);
            if (n == nullptr) {
                key.rewind();
                root = at<node>(root_);
                continue;
            }
            found = find_slot(*n, perm(load(n->order)), key.slice(), key.length_class());
        }
        const perm p(load(n->order));
        if (found < 0) {
            const decision d = ask(decide, nullptr, *n);
            result<void> done;
            if (d.what == decision::action::store) {
                done = insert(op, *n, root, path,
                              {key.slice(), key.length_class(),
                               masstree_detail::value_word::of_record(d.record)});
            }
            if (d.what == decision::action::store && done && !p.full())
                leave_hint(key, *n, d.record);
            // A split has unlocked n itself.
            if (d.what != decision::action::store || !done || !p.full()) n->version.unlock();
            if (!done) return tl::unexpected(done.error());
            return outcome{false, d.what == decision::action::store};
        }
        const auto slot = static_cast<unsigned>(found);
        const u64 value = load(n->values[slot]);
        const u64 target = masstree_detail::value_word::offset(value);
        if (masstree_detail::value_word::is_layer(value)) {
            leave_hint(key, *n, value);
            n->version.unlock();
            root = at<node>(target);
            key.descend();
            continue;
        }
        const record* old = record_at(target);
        if (key.length_class() == longer && !old->rest_equals(key)) {
            const decision d = ask(decide, nullptr, *n);
            result<void> done;
            if (d.what == decision::action::store)
                done = make_layer(op, *n, slot, *old, key, d.record);
            n->version.unlock();
            if (!done) return tl::unexpected(done.error());
            return outcome{false, d.what == decision::action::store};
        }
        heap_.prefetch_header(target);
        const decision d = ask(decide, old, *n);
        if (d.what == decision::action::keep) {
            n->version.unlock();
            return outcome{true, false};
        }
        const bool erase = d.what == decision::action::erase;
        auto ready = erase ? prepare_removal(op, *n) : prepare_value(op, *n, slot);
        if (!ready) [[unlikely]] {
            n->version.unlock();
            return tl::unexpected(ready.error());
        }
        if (!erase) {
            store(n->values[slot], masstree_detail::value_word::of_record(d.record));
            leave_hint(key, *n, d.record);
            n->version.unlock();
        } else {
            unsigned rank = 0;
            while (p.slot(rank) != slot) ++rank;
            const perm left = p.removed(rank);
            store(n->order, left.word());
            if (left.size() == 0) {
                remove_empty(op, key, n, root, path);
            } else {
                n->version.unlock();
            }
        }
        heap_.deallocate(op, target, old->payload());
        return outcome{true, true};
    }
}

}  // namespace hf
