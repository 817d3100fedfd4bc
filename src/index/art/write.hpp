// art/write.hpp: part of art.hpp: insert, upsert, update, remove.
#pragma once

#include "index/art/art.hpp"

namespace hf {

/// The operation's record, made when it is first needed and kept across retries.
template <class D, class Keys>
struct art<D, Keys>::fresh_record {
    operation& op;
    key k;
    value v;
    u64 offset = 0;

    fresh_record(operation& o, key of, value with) noexcept : op(o), k(of), v(with) {}
    fresh_record(const fresh_record&) = delete;
    fresh_record& operator=(const fresh_record&) = delete;
    ~fresh_record() {
        if (offset != 0) op.cancel(offset);
    }
    [[nodiscard]] result<void> make() {
        if (offset != 0) return {};
        auto made = Keys::make_record(op, k, v);
        if (!made) return tl::unexpected(made.error());
        offset = *made;
        return {};
    }
    [[nodiscard]] u64 word(u8 byte) const noexcept {
        return art_detail::slot_word::of(byte, what::record, offset);
    }
    void is_published() noexcept { offset = 0; }
};

/// Locks a node. False: it is obsolete, and not locked. Throws damage.
template <class D, class Keys>
bool art<D, Keys>::lock(operation& op, node* n, what kind) {
    if (n->lock.lock(op.generation())) [[unlikely]] {
        take_over(op, n, kind);
    }
    return is_usable(op, n, kind);
}

/// After a stale lock was reclaimed: makes everything durable that changes under the lock,
/// including values in records (eager/operation.hpp).
template <class D, class Keys>
void art<D, Keys>::take_over(operation& op, node* n, what kind) noexcept(!crashes_throw) {
    using namespace art_detail;
    each_word(n, kind, [&](u64 word, published*) {
        if (slot_word::what_of(word) == what::record) {
            op.written_line(op.template at<record>(slot_word::offset_of(word)));
        }
    });
    op.make_durable(n, size_of(kind));
}

/// Checks a node that the caller has just locked. False: it is obsolete, and was unlocked.
template <class D, class Keys>
bool art<D, Keys>::is_usable(operation& op, node* n, what kind) noexcept {
    const u64 word = n->lock.load();
    if ((word & node::obsolete) != 0) [[unlikely]] {
        n->lock.unlock();
        return false;
    }
    op.will_rely_on_line(n);  // hints and the lock's version; the first line in every node size
    if (!node::has_hints(word, op.generation())) [[unlikely]] {
        art_detail::visit_node(n, kind, [](auto& x) { x.make_hints(); });
        n->lock.set_version(node::version_for(op.generation()));
    }
    return true;
}

/// Locks the parent of a locked node, if it still points to the node. If it throws, the lower lock
/// is released.
template <class D, class Keys>
bool art<D, Keys>::lock_parent(operation& op, const place& p) {
    if (!or_give_back(p.at->lock, [&] { return lock(op, p.parent, p.parent_kind); })) return false;
    if (p.link->load() == p.self) [[likely]] {
        return true;
    }
    p.parent->lock.unlock();
    return false;
}

/// Locks the node, if the slot found by the descent is unchanged.
template <class D, class Keys>
bool art<D, Keys>::lock_with_slot(operation& op, const place& p, key k) {
    if (!lock(op, p.at, p.kind)) return false;
    if (find_for(p.at, p.kind, k, p.seen.level, true).word == p.slot.word) [[likely]] {
        return true;
    }
    p.at->lock.unlock();
    return false;
}

template <class D, class Keys>
template <class Old>
result<bool> art<D, Keys>::write(operation& op, key k, value v, wanted w, Old&& old) {
    if (auto ok = Keys::check(k, v); !ok) [[unlikely]] {
        return tl::unexpected(ok.error());
    }
    constexpr u32 most_guided = 16;  // retries with a known `stop` that are not counted as restarts
    fresh_record r(op, k, v);
    u32 stop = no_stop;
    u32 guided = 0;
    patience left(damage_is_known_);
    for (bool is_first = true;; is_first = false) {
        op.arrived();
        if (!is_first && (stop == no_stop || ++guided > most_guided)) left.again(root_offset_);
        place p;
        walk(op, k, std::exchange(stop, no_stop), false, p);
        if (p.how == end_of_way::torn) {
            repair(op, p);
            continue;
        }
        const bool is_there = p.how == end_of_way::equal;
        if (w == (is_there ? wanted::absent : wanted::present)) {
            op.persist_dependencies();
            return false;
        }
        auto done = is_there                        ? replace(op, p, k, v, r, old)
                    : p.how == end_of_way::absent   ? add(op, p, k, r, stop)
                    : p.how == end_of_way::occupied ? push_down(op, p, k, r, stop)
                                                    : split_prefix(op, p, k, r, stop);
        if (!done) return tl::unexpected(done.error());
        if (*done == step::done) return is_there ? w == wanted::present : true;
    }
}

/// Adds a new record in a free slot of the node.
template <class D, class Keys>
auto art<D, Keys>::add(operation& op, const place& p, key k, fresh_record& r, u32& stop)
    -> result<step> {
    if (p.skipped) {
        const u32 apart = apart_at(p, k);
        if (apart < p.seen.level) {
            stop = apart;
            return step::again;
        }
    }
    if (auto ok = r.make(); !ok) return tl::unexpected(ok.error());
    if (!lock_with_slot(op, p, k)) return step::again;
    const bool ends = path::can_end && path::length(k) == p.seen.level;
    const u8 byte = ends ? u8{0} : path::at(k, p.seen.level);
    published* slot =
        ends ? p.slot.at
             : art_detail::visit_node(p.at, p.kind, [&](auto& x) { return x.free_slot(byte); });
    if (slot == nullptr) {
        auto grown = grow(op, p, r.word(byte));
        if (grown && *grown == step::done) r.is_published();
        return grown;
    }
    if (!ends) {
        art_detail::visit_node(p.at, p.kind, [&](auto& x) { x.note_added(slot, byte); });
    }
    op.persist_unpublished();
    op.publish(*slot, r.word(byte));
    r.is_published();
    op.persist_publication();
    p.at->lock.unlock();
    return step::done;
}

/// Another record is in the key's slot: moves both into a new node.
template <class D, class Keys>
auto art<D, Keys>::push_down(operation& op, const place& p, key k, fresh_record& r, u32& stop)
    -> result<step> {
    using namespace art_detail;
    const key other = key_in(p.slot.word);
    const u32 apart = path::first_difference(other, k);
    if (apart <= p.seen.level) {
        stop = apart;
        return step::again;
    }
    if (auto ok = r.make(); !ok) return tl::unexpected(ok.error());
    if (!lock_with_slot(op, p, k)) return step::again;
    auto made =
        make_pair(op, prefix::of(k, p.seen.level + 1, apart), other, p.slot.word, k, r.word(0));
    if (!made) {
        p.at->lock.unlock();
        return tl::unexpected(made.error());
    }
    op.shade(*this, slot_word::offset_of(p.slot.word), leaf);
    op.persist_unpublished();
    op.publish(*p.slot.at, slot_word::of(slot_word::byte_of(p.slot.word), what::n4, made->offset));
    r.is_published();
    op.persist_publication();
    p.at->lock.unlock();
    return step::done;
}

/// The key differs from the node's prefix: a new node gets the shared part of it.
template <class D, class Keys>
auto art<D, Keys>::split_prefix(operation& op, const place& p, key k, fresh_record& r, u32& stop)
    -> result<step> {
    using namespace art_detail;
    if (auto ok = r.make(); !ok) return tl::unexpected(ok.error());
    if (!lock(op, p.at, p.kind)) return step::again;
    if (!lock_parent(op, p)) {
        p.at->lock.unlock();
        return step::again;
    }
    const auto unlock = [&] {
        p.parent->lock.unlock();
        p.at->lock.unlock();
    };
    const prefix now = prefix_of(p.at);
    const record* below = any_record(p.at, p.kind);
    if (below == nullptr || path::length(Keys::key_of(*below)) < now.level) {
        unlock();
        return failure(damaged("change the ART", offset_from(base_, p.at),
                               "no key of its length lies below a node"));
    }
    const key other = Keys::key_of(*below);
    const u32 apart = path::first_difference(other, k);
    if (!now.fits(p.depth) || apart >= now.level || apart < p.depth) {
        unlock();
        // differs from the path above, in bytes that no node stores
        if (apart < p.depth) stop = apart;
        return step::again;
    }
    const u64 moved = slot_word::by(p.self, 0);
    auto made = make_pair(op, prefix::of(k, p.depth, apart), other, moved, k, r.word(0));
    if (!made) {
        unlock();
        return tl::unexpected(made.error());
    }
    op.shade(*this, slot_word::offset_of(p.self), static_cast<u32>(p.kind));
    op.persist_unpublished();
    HF_PERSIST_POINT(
        "art A1: record and N4 of a prefix split are durable before the parent's slot");
    op.publish(*p.link, slot_word::of(slot_word::byte_of(p.self), what::n4, made->offset));
    r.is_published();
    op.persist_publication();
    HF_PERSIST_POINT("art A2: the parent's slot is durable before the node's shorter prefix");
    op.publish(p.at->prefix_word, prefix::of(other, apart + 1, now.level).pack());
    op.persist_publication();
    HF_PERSIST_POINT("art A3: the shorter prefix is durable before the locks are given back");
    unlock();
    return step::done;
}

/// Replaces the value of an existing key.
template <class D, class Keys>
template <class Old>
auto art<D, Keys>::replace(operation& op, const place& p, key k, value v, fresh_record& r,
                           Old&& old) -> result<step> {
    using namespace art_detail;
    record& there = *record_of(p.slot.word);
    if constexpr (Keys::inline_values) {
        if (!lock_with_slot(op, p, k)) return step::again;
        old(Keys::value_of(there));
        op.persist_unpublished();
        there.value.store(v, std::memory_order_release);
        op.written_line(&there);
        op.persist_publication();
        p.at->lock.unlock();
    } else {
        if (auto ok = r.make(); !ok) return tl::unexpected(ok.error());
        if (!lock_with_slot(op, p, k)) return step::again;
        op.persist_unpublished();
        op.publish(*p.slot.at, r.word(slot_word::byte_of(p.slot.word)));
        r.is_published();
        op.persist_publication();
        p.at->lock.unlock();
        old(Keys::value_of(there));
        op.retire(*this, slot_word::offset_of(p.slot.word), leaf);
    }
    return step::done;
}

template <class D, class Keys>
template <class Old>
bool art<D, Keys>::remove(operation& op, key k, Old&& old) {
    for (patience left(damage_is_known_);; left.again(root_offset_)) {
        op.arrived();
        place p;
        walk(op, k, no_stop, true, p);
        switch (p.how) {
            case end_of_way::torn:
                repair(op, p);
                break;
            case end_of_way::lone:
                merge(op, p);
                break;
            case end_of_way::equal:
                if (take_out(op, p, k, old) == step::done) return true;
                break;
            default:
                op.persist_dependencies();
                return false;
        }
    }
}

/// Removes the key's record. A node that would become empty is removed with it (I3), even a larger
/// one than an N4 if there was no memory to shrink it. An N4 that would have a single record is
/// replaced by that record. Each of these is one store.
template <class D, class Keys>
template <class Old>
auto art<D, Keys>::take_out(operation& op, const place& p, key k, Old&& old) -> step {
    using namespace art_detail;
    if (!lock_with_slot(op, p, k)) return step::again;
    const u32 entries = entries_of(p.at, p.kind);
    const bool may_go = p.parent != nullptr && (p.kind == what::n4 || entries == 1);
    u64 other = 0;
    if (may_go) {
        each_word(p.at, p.kind, [&](u64 w, published* s) {
            if (s != p.slot.at) other = w;
        });
    }
    const bool goes = may_go && (other == 0 || (entries == 2 && !slot_word::is_node(other)));
    const auto taken = [&] {
        old(Keys::value_of(*record_of(p.slot.word)));
        op.retire(*this, slot_word::offset_of(p.slot.word), leaf);
        return step::done;
    };
    if (goes) {
        if (!lock_parent(op, p)) {
            p.at->lock.unlock();
            return step::again;
        }
        const bool is_root = p.parent == root_;
        if (other == 0 && !is_root && entries_of(p.parent, p.parent_kind) == 1) {
            p.parent->lock.unlock();  // the parent would be empty: the next descent merges it
            p.at->lock.unlock();
            return step::again;
        }
        if (other == 0) note_removed(p.parent, p.parent_kind);
        replace_node(op, p, other);
        return taken();
    }
    op.persist_unpublished();
    op.publish(*p.slot.at, 0);
    op.persist_publication();
    const bool was_end = path::can_end && p.slot.at == end_of(p.at, p.kind);
    if (!was_end) note_removed(p.at, p.kind);
    if (p.parent == nullptr || !is_sparse(p.at, p.kind)) {
        p.at->lock.unlock();
    } else {
        tidy_up(op, p);
    }
    return taken();
}

/// Shrinks or merges a node, which is locked and nearly empty.
template <class D, class Keys>
void art<D, Keys>::tidy_up(operation& op, const place& p) {
    try {
        if (p.kind != what::n4) return shrink(op, p);
        p.at->lock.unlock();
        merge(op, p);
    } catch (const damage&) {  // NOLINT(bugprone-empty-catch): the node may stay as it is
    }
}

}  // namespace hf
