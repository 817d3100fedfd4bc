// bwtree/write.hpp: part of bwtree.hpp: insert, upsert, update, remove.
#pragma once

#include "index/bwtree/bwtree.hpp"

namespace hf {

/// The word for the value (a record's offset, or the value itself). The record is made when it is
/// first needed, and kept across retries.
template <class D, class Keys>
struct bwtree<D, Keys>::fresh_word {
    operation& op;
    key k;
    value v;
    u64 word = 0;

    fresh_word(operation& o, key of, value with) noexcept : op(o), k(of), v(with) {}
    fresh_word(const fresh_word&) = delete;
    fresh_word& operator=(const fresh_word&) = delete;
    ~fresh_word() {
        if constexpr (!order::exact) {
            if (word != 0) op.cancel(word);
        }
    }
    [[nodiscard]] result<void> make() {
        if constexpr (order::exact) {
            word = v;
        } else if (word == 0) {
            auto made = Keys::make_record(op, k, v);
            if (!made) return tl::unexpected(made.error());
            word = *made;
        }
        return {};
    }
    void is_published() noexcept { word = 0; }
};

/// Waits until the hold seen in `p.word` has ended.
template <class D, class Keys>
void bwtree<D, Keys>::await_hold(operation& op, const place& p) {
    p.at->lock.lock(op.generation());
    if (p.at->load() == p.word) p.at->end_hold(p.word);  // a stale hold of a dead process
    p.at->lock.unlock();
}

/// Finds the leaf of `k`; false if it had to be helped first, and the search must be repeated.
template <class D, class Keys>
bool bwtree<D, Keys>::prepare_place(operation& op, place& p, const bound& k, bool& helped) {
    p = find(op, k, 0);
    if ((p.word & (cell::frozen | cell::hold)) != 0) [[unlikely]] {
        if ((p.word & cell::frozen) != 0) {
            adopt(op, p.at, low_behind(op, p.base), 0);
        } else {
            await_hold(op, p);
        }
        return false;
    }
    if (p.sideways && !helped) [[unlikely]] {
        helped = true;  // only once: adopting may fail for lack of memory
        adopt(op, p.at, low_behind(op, p.base), 0);
        return false;
    }
    return true;
}

template <class D, class Keys>
template <class Old>
result<bool> bwtree<D, Keys>::write(operation& op, key k, value v, wanted want, Old&& old) {
    if (auto ok = Keys::check(k, v); !ok) [[unlikely]] {
        return tl::unexpected(ok.error());
    }
    const bound b = bound::of(k);
    fresh_word fresh(op, k, v);
    bool helped = false;
    for (;;) {
        place p;
        if (!prepare_place(op, p, b, helped)) continue;
        const finding f = search(op, p, b);
        if (want == (f.is_there ? wanted::absent : wanted::present)) {
            op.persist_dependencies();
            return false;
        }
        if (auto ok = fresh.make(); !ok) return tl::unexpected(ok.error());
        auto done =
            put(op, p, {b.head, fresh.word}, f.is_there ? change_of::replaced : change_of::added);
        if (!done) return tl::unexpected(done.error());
        if (*done == step::again) {
            op.arrived();  // another thread made progress: begin a new traversal
            continue;
        }
        fresh.is_published();
        if (f.is_there) old(value_of({b.head, f.word}));
        return f.is_there ? want == wanted::present : true;
    }
}

template <class D, class Keys>
template <class Old>
bool bwtree<D, Keys>::remove(operation& op, key k, Old&& old) {
    const bound b = bound::of(k);
    bool helped = false;
    for (;;) {
        place p;
        if (!prepare_place(op, p, b, helped)) continue;
        const finding f = search(op, p, b);
        if (!f.is_there) {
            op.persist_dependencies();
            return false;
        }
        auto done = put(op, p, {b.head, f.word}, change_of::removed);
        const step how = done ? *done : kill(op, p, b);
        if (how == step::again) {
            op.arrived();
            continue;
        }
        old(value_of({b.head, f.word}));
        return true;
    }
}

/// The number of entries of a chain, dead ones included.
template <class D, class Keys>
u32 bwtree<D, Keys>::live_in(const place& p) const noexcept {
    return p.head->kind() == what::delta ? static_cast<const delta*>(p.head)->live()
                                         : p.base->count();
}

/// Adds an entry to the chain, by a delta or by consolidation.
template <class D, class Keys>
auto bwtree<D, Keys>::put(operation& op, const place& p, const entry& e, change_of how)
    -> result<step> {
    using namespace bwtree_detail;
    const bool gone = how == change_of::removed;
    const u32 left = live_in(p) + (how == change_of::added ? 1 : 0) - (gone ? 1 : 0);
    const auto* d = static_cast<const delta*>(p.head);
    const bool is_delta = p.head->kind() == what::delta;
    const bool is_long = is_delta && d->depth() >= longest_chain && d->count() == delta_entries;
    if (is_long || left == 0) {
        auto done = consolidate(op, p, e, gone);
        if (done) {
            if (gone && *done == step::done && left <= most_entries / 8) {
                try {
                    merge(op, p.at, {e.head, key_of(e).bytes});
                } catch (const damage&) {  // NOLINT(bugprone-empty-catch): the key is removed
                }
            }
            return done;
        }
        if (is_delta && d->depth() >= longest_allowed && d->count() == delta_entries) return done;
    }
    return put_delta(op, p, e, gone, left);
}

/// True if the next delta can take over the entries of the chain's first delta.
template <class D, class Keys>
bool bwtree<D, Keys>::has_room(const block* head) noexcept {
    return head->kind() == what::delta &&
           static_cast<const delta*>(head)->count() < bwtree_detail::delta_entries;
}

/// Makes a delta with `more` entries (at most as many as fit) in front of the chain at p.head. It
/// stays unreachable.
template <class D, class Keys>
auto bwtree<D, Keys>::make_delta(fresh_blocks& made, const place& p, std::span<const entry> more,
                                 bool gone, u32 live) const -> result<delta*> {
    auto offset = made.make(sizeof(delta));
    if (!offset) return tl::unexpected(offset.error());
    auto* d = at<delta>(*offset);
    const auto* before = static_cast<const delta*>(p.head);
    const bool is_delta = p.head->kind() == what::delta;
    const bool shares = has_room(p.head);
    u32 count = 0;
    u32 gones = 0;
    u32 dead = 0;
    if (shares) {
        for (; count < before->count(); ++count) {
            d->entries[count] = before->entries[count];
            gones |= (before->is_gone(count) ? 1U : 0U) << count;
            dead |= (before->is_dead(count) ? 1U : 0U) << count;
        }
        if (dead != 0) made.op.written_line(before);
    }
    for (const entry& e : more) {
        d->entries[count] = e;
        gones |= (gone ? 1U : 0U) << count++;
    }
    d->set_info(offset_of(p.base), live, gones, count);
    d->set_tail(shares ? before->next() : offset_of(p.head),
                shares ? before->depth() : (is_delta ? before->depth() : 0) + 1, dead);
    made.op.written_line(d);
    return d;
}

template <class D, class Keys>
auto bwtree<D, Keys>::put_delta(operation& op, const place& p, const entry& e, bool gone, u32 live)
    -> result<step> {
    using namespace bwtree_detail;
    fresh_blocks made(op);
    auto d = make_delta(made, p, std::span(&e, 1), gone, live);
    if (!d) return tl::unexpected(d.error());
    const bool shares = has_room(p.head);
    if (!shares) op.shade(*this, offset_of(p.head), trace_block);
    if (!publish(op, *p.at, p.word, offset_of(*d))) return step::again;
    p.at->hint(offset_of(p.base), (*d)->next());
    made.are_published();
    if (shares) op.retire(*this, offset_of(p.head), trace_block);
    return step::done;
}

/// Removes a key without memory for a delta: sets the tombstone bit of its entry.
template <class D, class Keys>
auto bwtree<D, Keys>::kill(operation& op, const place& p, const bound& k) -> step {
    cell& c = *p.at;
    held_cell held;
    held.lock(c, op.generation());
    step how = step::again;
    if (c.take_hold(p.word)) {
        const finding f = search(op, p, k);
        if (f.is_there) {
            if (f.in->kind() == what::delta) {
                static_cast<delta*>(f.in)->tail.fetch_or(u64{1} << f.index);
                op.written_line(f.in);
            } else {
                static_cast<node*>(f.in)->dead.fetch_or(u64{1} << f.index);
                op.written_line(&static_cast<node*>(f.in)->dead);
            }
            op.persist_publication();
            HF_PERSIST_POINT("bwtree B7: a dead bit is durable before the word's next version");
            how = step::done;
        }
        c.end_hold(p.word | cell::hold);
    }
    return how;
}

}  // namespace hf
