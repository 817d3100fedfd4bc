// clht/growth.hpp: part of clht.hpp: splits buckets, and allocates the chunks for their buddies.
#pragma once

#include "index/clht/clht.hpp"

namespace hf {

/// Allocates durable zeros, unreachable.
template <class D, class Keys, class Shape>
result<u64> clht<D, Keys, Shape>::make_zeros(operation& op, u64 bytes) {
    auto offset = op.allocate(bytes);
    if (!offset) return offset;
    auto* words = at<published>(*offset);
    op.write_zeros(words, bytes);
    op.persist_unpublished();
    HF_PERSIST_POINT("clht C3: zeros are durable before the word that leads to them");
    return offset;
}

template <class D, class Keys, class Shape>
result<void> clht<D, Keys, Shape>::ensure_chunk(operation& op, u64 chunk) {
    if (chunk >> most_chunk_bits != 0) return failure(damaged(root_offset_, "it is too large"));
    if (chunks_[chunk].load(std::memory_order_acquire) != nullptr) return {};
    const std::lock_guard guard(chunk_mutex_);
    if (chunks_[chunk].load(std::memory_order_relaxed) != nullptr) return {};
    published& table = root_->directory[clht_detail::level_of_chunk(chunk)];
    if (table.load() == 0) {
        auto made = make_zeros(op, clht_detail::table_bytes(clht_detail::level_of_chunk(chunk)));
        if (!made) return tl::unexpected(made.error());
        op.publish(table, *made);
        op.persist_publication();
    }
    auto made = make_zeros(op, sizeof(bucket) << Shape::chunk_bits);
    if (!made) return tl::unexpected(made.error());
    op.publish(at<published>(table.load())[clht_detail::place_of_chunk(chunk)], *made);
    op.persist_publication();
    chunks_[chunk].store(at<bucket>(*made), std::memory_order_release);
    return {};
}

template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::undo_copy(operation& op, bucket* buddy) {
    for (u64 next = buddy->next.load(); next != 0;) {
        const u64 offset = std::exchange(next, at<bucket>(next)->next.load());
        op.cancel(offset);
    }
    buddy->next.store(0);
}

/// Fills the buddy except for `made`. The caller holds the lock, and no reader looks into the buddy
/// yet.
template <class D, class Keys, class Shape>
result<void> clht<D, Keys, Shape>::copy_to_buddy(operation& op, u64 number, unsigned bits) {
    bucket* const buddy = bucket_at(number + mask(bits) + 1);
    if (buddy == nullptr) [[unlikely]] {
        return failure(damaged(root_offset_, "a bucket's buddy has no chunk"));
    }
    bucket* to = buddy;
    unsigned used = 0;
    buddy->next.store(0);
    op.arrived();
    for (bucket* n = bucket_at(number); n != nullptr; n = next_of(n)) {
        op.took_step();
        for (unsigned i = 0; i < slots; ++i) {
            const u64 hash = n->key[i].load();
            if (!is_alive(hash, number + mask(bits) + 1, bits + 1)) continue;
            if (used == slots) {
                auto more = op.allocate_node(sizeof(bucket));
                if (!more) {
                    undo_copy(op, buddy);
                    return tl::unexpected(more.error());
                }
                to->next.store(*more);
                to = at<bucket>(*more);
                to->state.store(0);
                to->next.store(0);
                used = 0;
            }
            const u64 word = n->value[i].load();
            if constexpr (!Keys::inline_values) op.shade(*this, word, leaf);
            to->value[used].store(word);
            to->key[used++].store(hash);
            if (to != buddy && used == slots) op.written_line(to);
        }
    }
    if (to != buddy) op.written_line(to);
    for (; used < slots; ++used) to->key[used].store(0);
    return {};
}

/// Splits the group that contains `number`: makes all its buddies with one fence, or none.
template <class D, class Keys, class Shape>
result<void> clht<D, Keys, Shape>::split_group_of(operation& op, u64 number) {
    const stage& s = now();
    const u64 first = align_down(number & (s.size() - 1), group);
    if (auto ok = ensure_chunk(op, (first + s.size()) >> Shape::chunk_bits); !ok) return ok;
    const std::lock_guard guard(lock_of(first));
    result<void> done;
    bool is_copied[group] = {};
    const bool is_wanted = &now() == &s && !s.has_split(first >> Shape::group_bits);
    for (u64 i = 0; i < group && done && is_wanted; ++i) {
        if (is_made(first + i + s.size())) {  // a crash interrupted the split of this group: C5
            if (op.is_after_a_kill()) op.written_line(bucket_at(first + i + s.size()));
            continue;
        }
        done = copy_to_buddy(op, first + i, s.bits);
        is_copied[i] = done.has_value();
    }
    op.persist_unpublished();
    HF_PERSIST_POINT("clht C4: overflow buckets are durable before the bucket that leads to them");
    for (u64 i = 0; i < group; ++i) {
        if (!is_copied[i]) continue;
        bucket* buddy = bucket_at(first + i + s.size());
        if (done) {
            buddy->state.store(bucket::made);
            op.written_line(buddy);
        } else {
            undo_copy(op, buddy);
        }
    }
    op.persist_publication();
    HF_PERSIST_POINT("clht C5: a split is durable before its locks are given back");
    if (done && is_wanted) s.set_split(first >> Shape::group_bits);
    return done;
}

template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::begin_level(unsigned bits, bool exact) {
    stages_.push_back(std::make_unique<const stage>(bits, exact));
    stage_.store(stages_.back().get(), std::memory_order_release);
    frontier_ = 0;
}

/// Splits up to `groups` more groups, in order. One thread at a time; others return at once.
template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::push_frontier(operation& op, unsigned groups) {
    constexpr unsigned looked_at_most = 1024;
    if (!frontier_lock_.try_lock()) return;
    const std::lock_guard guard(frontier_lock_, std::adopt_lock);
    const stage& s = now();
    for (unsigned looked = 0; looked < looked_at_most && groups > 0; ++looked) {
        if (!s.has_split(frontier_)) {
            try {
                if (!split_group_of(op, frontier_ * group)) return;
            } catch (const damage&) {
                // not this operation's bucket: an operation that needs it will report the damage
                return;
            }
            --groups;
        }
        if (++frontier_ == s.groups()) return begin_level(s.bits + 1, true);
    }
}

}  // namespace hf
