// clht/growth.hpp: a part of clht.hpp: splitting buckets, and making room for their buddies.
#pragma once

#include "index/clht/clht.hpp"

namespace hf {

/// Durable zeros, which nobody reaches yet.
template <class D, class Keys, class Shape>
result<u64> clht<D, Keys, Shape>::make_zeros(operation& op, u64 bytes) {
    auto offset = op.allocate(bytes);
    if (!offset) return offset;
    auto* words = at<published>(*offset);
    for (u64 i = 0; i < bytes / sizeof(published); ++i) words[i].store(0);
    op.written(words, bytes);
    op.settle();
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
        op.commit();
    }
    auto made = make_zeros(op, sizeof(bucket) << Shape::chunk_bits);
    if (!made) return tl::unexpected(made.error());
    op.publish(at<published>(table.load())[clht_detail::place_of_chunk(chunk)], *made);
    op.commit();
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

/// Everything but `made`. Both locks are the caller's, and nobody looks into the buddy yet.
template <class D, class Keys, class Shape>
result<void> clht<D, Keys, Shape>::copy_to_buddy(operation& op, u64 number, unsigned bits) {
    bucket* const buddy = bucket_at(number + mask(bits) + 1);
    bucket* to = buddy;
    unsigned used = 0;
    buddy->next.store(0);
    for (bucket* n = bucket_at(number); n != nullptr; n = next_of(n)) {
        for (unsigned i = 0; i < slots; ++i) {
            const u64 hash = n->key[i].load();
            if (!is_alive(hash, number + mask(bits) + 1, bits + 1)) continue;
            if (used == slots) {
                auto more = op.allocate(sizeof(bucket));
                if (!more) {
                    undo_copy(op, buddy);
                    return tl::unexpected(more.error());
                }
                to->next.store(*more);
                to = at<bucket>(*more);
                to->lock.init(0);
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

/// Makes the buddies of the whole group that `number` lies in, under one fence.
template <class D, class Keys, class Shape>
result<void> clht<D, Keys, Shape>::split_group_of(operation& op, u64 number) {
    const unsigned bits = level();
    const u64 first = align_down(number & mask(bits), group);
    const u64 distance = mask(bits) + 1;
    if (auto ok = ensure_chunk(op, (first + distance) >> Shape::chunk_bits); !ok) return ok;
    for (u64 i = first; i < first + group; ++i) bucket_at(i)->lock.lock(op.generation());
    result<void> done;
    bool has_split[group] = {};
    for (u64 i = 0; i < group && done && level() == bits; ++i) {
        if (is_made(first + i + distance)) continue;
        done = copy_to_buddy(op, first + i, bits);
        has_split[i] = done.has_value();
    }
    op.settle();
    HF_PERSIST_POINT("clht C4: overflow buckets are durable before the bucket that leads to them");
    for (u64 i = 0; i < group; ++i) {
        if (!has_split[i]) continue;
        bucket* buddy = bucket_at(first + i + distance);
        buddy->lock.init(node_lock::fresh(bucket::made, true, op.generation()));
        op.written_line(buddy);
    }
    op.commit();
    HF_PERSIST_POINT("clht C5: a split is durable before its locks are given back");
    for (u64 i = 0; i < group; ++i) {
        if (has_split[i]) bucket_at(first + i + distance)->lock.unlock();
        bucket_at(first + i)->lock.unlock();
    }
    return done;
}

/// Goes on where somebody has stopped; one thread at a time, and nobody waits for it.
template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::push_frontier(operation& op, unsigned groups) {
    constexpr unsigned looked_at_most = 64;
    if (!frontier_lock_.try_lock()) return;
    const std::lock_guard guard(frontier_lock_, std::adopt_lock);
    const unsigned bits = level();
    const u64 distance = mask(bits) + 1;
    for (unsigned looked = 0; looked < looked_at_most && groups > 0; ++looked) {
        const u64 first = frontier_ * group;
        bool all = true;
        for (u64 i = 0; i < group; ++i) {
            // A split that is under way is not durable yet.
            const bucket* b = bucket_at(first + i + distance);
            all &= b != nullptr && b->is_made() && !b->lock.is_held(op.generation());
        }
        if (!all) {
            if (!split_group_of(op, first)) return;
            --groups;
        }
        if (++frontier_ * group > mask(bits)) {
            level_.store(bits + 1, std::memory_order_release);
            frontier_ = 0;
            return;
        }
    }
}

}  // namespace hf
