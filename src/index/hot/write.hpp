// hot/write.hpp: part of hot.hpp: insert, upsert, update, remove.
#pragma once

#include "index/hot/hot.hpp"

namespace hf {

/// The operation's record, made when it is first needed and kept across retries.
template <class D, class Keys>
struct hot<D, Keys>::fresh_record {
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
    [[nodiscard]] u64 word() const noexcept {
        return hot_detail::slot_word::of(what::record, 0, offset);
    }
    void is_published() noexcept { offset = 0; }
};

template <class D, class Keys>
template <class Old>
result<bool> hot<D, Keys>::write(operation& op, key k, value v, wanted want, Old&& old) {
    if (auto ok = Keys::check(k, v); !ok) [[unlikely]] {
        return tl::unexpected(ok.error());
    }
    fresh_record r(op, k, v);
    way w;
    for (patience left(damage_is_known_);; w.clear(), left.again(root_offset_)) {
        op.arrived();
        const u64 found = descend(op, k, w);
        begin_copying(w);
        const bool is_key = found != 0 && key_in(found) == k;
        const bool is_there = is_key && hot_detail::slot_word::what_of(found) == what::record;
        if (want == (is_there ? wanted::absent : wanted::present)) {
            op.persist_dependencies();
            return false;
        }
        auto done = is_key ? replace(op, w, found, k, v, r, old) : add(op, w, found, k, r);
        if (!done) return tl::unexpected(done.error());
        if (*done == step::done) return is_there ? want == wanted::present : true;
    }
}

/// Adds a new record beside the one that the descent has found (0: the trie is empty).
template <class D, class Keys>
auto hot<D, Keys>::add(operation& op, way& w, u64 found, key k, fresh_record& r) -> result<step> {
    using namespace hot_detail;
    if (auto ok = r.make(); !ok) return tl::unexpected(ok.error());
    change c(op);
    const u32 bit = found == 0 ? 0 : path::first_difference(key_in(found), k);
    const bool one = found != 0 && path::bit(k, bit);
    if (w.empty() || found == 0) {
        if (!c.lock(*this, w, 0, found)) return step::again;
        u64 word = r.word();
        if (found != 0) {
            draft d;  // NOLINT(cppcoreguidelines-pro-type-member-init): make_pair() fills it
            d.make_pair(bit, one ? found : word, one ? word : found, 1);
            auto made = make_node(c, d);
            if (!made) return tl::unexpected(made.error());
            word = *made;
        }
        publish_pair(c, root_->word, found, word);
        r.is_published();
        return step::done;
    }
    const u32 depth = level_of(w, bit);
    // The entry that the descent has followed must be unchanged: a node that has replaced it may
    // branch at an earlier bit, and may even contain the key.
    const u64 entry = depth + 1 < w.size() ? w[depth + 1].word : found;
    w.cut(depth + 1);
    level& last = w.back();
    published& slot = last.n->words(last.word)[last.index];
    if (!c.lock(*this, w, w.size(), entry)) return step::again;
    draft d;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by load() or make_pair()
    if (!slot_word::is_node(entry) && last.n->height() > 1) {
        bool is_alone = true;
        {
            load(op, d, last.n, last.word);
            const auto [from, to] = d.sharing(last.index, d.rank_of(bit));
            is_alone = from == to;
        }
        if (is_alone) {
            d.make_pair(bit, one ? entry : r.word(), one ? r.word() : entry, 1);
            auto made = make_node(c, d);
            if (!made) return tl::unexpected(made.error());
            publish_pair(c, slot, entry, *made);
            r.is_published();
            return step::done;
        }
    } else {
        node_buffer grown;  // NOLINT(cppcoreguidelines-pro-type-member-init): grow() fills it
        const newcomer comer{last.index, bit - 8 * last.n->window(), one, r.word()};
        if (const auto word = grow(grown, last.n, last.word, comer, op.generation())) [[likely]] {
            auto done = put_grown(c, w, grown, *word);
            if (done && *done == step::done) r.is_published();
            return done;
        }
        load(op, d, last.n, last.word);
    }
    u32 index = last.index;
    leave_out_dead(c, d, index, 1);
    d.add(index, bit, one, r.word());
    auto done = put(c, w, d);
    if (done && *done == step::done) r.is_published();
    return done;
}

/// Replaces the value of a key whose record exists or is dead.
template <class D, class Keys>
template <class Old>
auto hot<D, Keys>::replace(operation& op, const way& w, u64 found, key, value v, fresh_record& r,
                           Old&& old) -> result<step> {
    using namespace hot_detail;
    record& there = *record_of(found);
    const bool is_dead = slot_word::what_of(found) == what::dead;
    change c(op);
    published& slot = link_of(w, w.size());
    if (Keys::inline_values && !is_dead) {
        if (!c.lock(*this, w, w.size(), found)) return step::again;
        old(Keys::value_of(there));
        op.persist_unpublished();
        if constexpr (Keys::inline_values) there.value.store(v, std::memory_order_release);
        op.written_line(&there);
        op.persist_publication();
        return step::done;
    }
    if (auto ok = r.make(); !ok) return tl::unexpected(ok.error());
    if (!c.lock(*this, w, w.size(), found)) return step::again;
    op.persist_unpublished();
    op.publish(slot, r.word());
    r.is_published();
    op.persist_publication();
    c.unlock();
    if (!is_dead) old(Keys::value_of(there));
    op.retire(*this, slot_word::offset_of(found), leaf);
    return step::done;
}

template <class D, class Keys>
template <class Old>
bool hot<D, Keys>::remove(operation& op, key k, Old&& old) {
    way w;
    for (patience left(damage_is_known_);; w.clear(), left.again(root_offset_)) {
        op.arrived();
        const u64 found = descend(op, k, w);
        if (hot_detail::slot_word::what_of(found) != what::record || key_in(found) != k) {
            op.persist_dependencies();
            return false;
        }
        if (take_out(op, w, found, old) == step::done) return true;
    }
}

/// Removes the record. A node that would have one entry left is replaced by that entry.
template <class D, class Keys>
template <class Old>
auto hot<D, Keys>::take_out(operation& op, way& w, u64 found, Old&& old) -> step {
    using namespace hot_detail;
    const auto taken = [&] {
        old(Keys::value_of(*record_of(found)));
        op.retire(*this, slot_word::offset_of(found), leaf);
        return step::done;
    };
    change c(op);
    published& slot = link_of(w, w.size());
    if (!c.lock(*this, w, w.size(), found)) return step::again;
    if (w.empty()) {
        op.persist_unpublished();
        op.publish(slot, 0);
        op.persist_publication();
        c.unlock();
        return taken();
    }
    level& last = w.back();
    const u32 count = slot_word::count_of(last.word);
    if (count == 2) {
        published& link = link_of(w, w.size() - 1);
        if (!c.lock(*this, w, w.size() - 1, last.word)) return step::again;
        op.persist_unpublished();
        op.publish(link, last.n->words(last.word)[1 - last.index].load());
        op.persist_publication();
        HF_PERSIST_POINT(
            "hot H3: the entry that is left is in the parent before its node is retired");
        c.mark_obsolete();
        c.unlock();
        op.retire(*this, slot_word::offset_of(last.word), slot_word::kind_of(last.word));
        return taken();
    }
    draft d;  // NOLINT(cppcoreguidelines-pro-type-member-init): load() fills it
    load(op, d, last.n, last.word);
    u32 index = last.index;
    leave_out_dead(c, d, index, 3);
    d.remove(index);
    auto done = put(c, w, d);
    if (done) return *done == step::done ? taken() : step::again;
    // No memory for a copy. `c` releases the other locks that put() has taken.
    op.persist_unpublished();
    op.publish(slot, slot_word::of(what::dead, 0, slot_word::offset_of(found)));
    op.persist_publication();
    c.unlock();
    old(Keys::value_of(*record_of(found)));
    return step::done;
}

}  // namespace hf
