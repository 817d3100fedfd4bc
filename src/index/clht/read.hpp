// clht/read.hpp: part of clht.hpp: reads of a single key.
#pragma once

#include "index/clht/clht.hpp"

namespace hf {

/// The fast path of a read. Nearly every key is in its first bucket, which usually also shows that
/// a key does not exist. It is as short as possible, so that the following reads overlap their
/// cache misses with this one. All rare cases are left to get_from_chain(). `is_durable`:
/// everything is durable except under held locks. Misses: the fast path also answers that a key
/// does not exist.
template <class D, class Keys, class Shape>
template <bool Misses, class Found>
[[gnu::always_inline]] inline auto clht<D, Keys, Shape>::look(key k, u64 hash, bool is_durable,
                                                              Found&& found) const -> answer {
    const home h = home_of(hash);
    const bucket& b = *h.first;
    const u64 before = b.state.load();
    if (const unsigned equal = b.slots_of(h.hash); equal != 0) [[likely]] {
        const u64 word = b.value[static_cast<unsigned>(std::countr_zero(u64{equal}))].load();
        if (is_of(k, word) && b.state.load() == before && !lock_of(hash).is_held() && is_durable)
            [[likely]] {
            found(value_in(word));
            return answer::present;
        }
        return answer::unknown;
    }
    if constexpr (Misses) {
        const bool is_all = b.next.load() == 0 && h.number != no_number;
        if (is_all && home_of(hash).number == h.number && !lock_of(hash).is_held() && is_durable) {
            return answer::absent;
        }
    }
    return answer::unknown;
}

template <class D, class Keys, class Shape>
template <class Found>
bool clht<D, Keys, Shape>::get(operation& op, key k, Found&& found) const {
    return get_by_hash(op, k, Keys::hash(k), found);
}

template <class D, class Keys, class Shape>
template <class Found>
[[gnu::always_inline]] inline bool clht<D, Keys, Shape>::get_by_hash(operation& op, key k, u64 hash,
                                                                     Found&& found) const {
    const answer a = look<true>(k, hash, !op.is_after_a_kill(), found);
    if (a != answer::unknown) [[likely]] {
        return a == answer::present;
    }
    return get_from_chain(op, k, hash, found);
}

/// Prefetches the bucket of a hash, and its buddy if that must be read.
template <class D, class Keys, class Shape>
[[gnu::always_inline]] inline void clht<D, Keys, Shape>::begin_loading(u64 hash) const noexcept {
    const stage& s = now();
    const auto begin = [&](u64 number) {
        bucket* chunk = chunks_[number >> Shape::chunk_bits].load(std::memory_order_acquire);
        if (chunk != nullptr) __builtin_prefetch(chunk + (number & mask(Shape::chunk_bits)));
    };
    begin(s.number_of(hash));
    if (!s.exact) [[unlikely]] {
        begin((hash & s.numbers) + s.size());
    }
}

/// Prefetches the record of a hash, whose bucket has been loaded.
template <class D, class Keys, class Shape>
[[gnu::always_inline]] inline void clht<D, Keys, Shape>::begin_loading_record(
    u64 hash) const noexcept {
    const home h = home_of(hash);
    const unsigned equal = h.first->slots_of(h.hash);
    if (equal == 0) return;
    const u64 word = h.first->value[static_cast<unsigned>(std::countr_zero(equal))].load();
    __builtin_prefetch(at<typename Keys::record>(word));
}

template <class D, class Keys, class Shape>
template <class Found>
void clht<D, Keys, Shape>::get_piece(operation& op, std::span<const key> keys,
                                     Found&& found) const {
    std::array<u64, gets_at_once> hashes;  // NOLINT(*-member-init): as many as there are keys
    for (std::size_t i = 0; i < keys.size(); ++i) {
        hashes[i] = Keys::hash(keys[i]);
        begin_loading(hashes[i]);
    }
    if constexpr (!Keys::inline_values) {
        for (std::size_t i = 0; i < keys.size(); ++i) begin_loading_record(hashes[i]);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        op.arrived();
        get_by_hash(op, keys[i], hashes[i], [&](const auto& v) { found(i, v); });
    }
}

/// The part of an operation that a read of durable data needs: it keeps memory that it reads from
/// being freed.
template <class D, class Keys, class Shape>
class clht<D, Keys, Shape>::short_stay {
   public:
    [[gnu::always_inline]] explicit short_stay(eager_lane& l) noexcept
        : lane_(l), count_(l.enter_quickly()) {}
    [[gnu::always_inline]] ~short_stay() { lane_.leave_quickly(count_); }
    short_stay(const short_stay&) = delete;
    short_stay& operator=(const short_stay&) = delete;

   private:
    eager_lane& lane_;
    const u64 count_;
};

/// Creates no operation unless something has to be made durable, and makes no calls except at its
/// end, so that no registers have to be saved. `space` is the table's own, so that it needs no
/// register.
template <class D, class Keys, class Shape>
template <class Found>
[[gnu::always_inline]] inline bool clht<D, Keys, Shape>::get([[maybe_unused]] eager_space& space,
                                                             key k, Found found) const {
    HF_ASSERT(&space == &space_, "a table is read in its own space");
    if (lane_of_last_table.table == number_) [[likely]] {
        const short_stay stay(*lane_of_last_table.lane);
        if (look<false>(k, Keys::hash(k), true, found) == answer::present) [[likely]] {
            return true;
        }
    }
    return get_apart(k, found);
}

template <class D, class Keys, class Shape>
template <class Found>
[[gnu::noinline]] bool clht<D, Keys, Shape>::get_apart(key k, Found found) const {
    const u64 hash = Keys::hash(k);
    if (lane_of_last_table.table != number_ && space_.epochs() == nullptr &&
        !space_.is_after_a_kill() && light_fence_is_free()) {
        lane_of_last_table = {number_, &space_.my_lane()};
    }
    if (lane_of_last_table.table == number_) [[likely]] {
        const short_stay stay(*lane_of_last_table.lane);
        const answer a = look<true>(k, hash, true, found);
        if (a != answer::unknown) [[likely]] {
            return a == answer::present;
        }
    }
    operation op(space_);
    return get_from_chain(op, k, hash, found);
}

template <class D, class Keys, class Shape>
template <class Found>
[[gnu::noinline]] bool clht<D, Keys, Shape>::get_from_chain(operation& op, key k, u64 hash,
                                                            Found&& found) const {
    for (;;) {
        op.arrived();  // a retry is a new traversal
        const home h = home_of(hash);
        const u64 before = h.first->state.load();
        slot hit;
        u64 word = 0;
        for (bucket* n = h.first; n != nullptr && !hit; n = next_of(n)) {
            op.took_step();
            unsigned equal = n->slots_of(h.hash);
            for (; equal != 0; equal &= equal - 1) {
                const auto i = static_cast<unsigned>(std::countr_zero(equal));
                word = n->value[i].load();
                if (!is_of(k, word)) continue;
                hit = {n, i};
                break;
            }
        }
        const u64 behind = h.first->state.load();
        if (hit && before != behind) continue;
        if (!hit && h.number != no_number && home_of(hash).number != h.number) continue;
        if (lock_of(hash).is_held() || op.is_after_a_kill()) [[unlikely]] {
            for (bucket* n = h.first; n != nullptr; n = n == hit.node ? nullptr : next_of(n)) {
                op.written_line(n);
            }
            op.persist_dependencies();
        }
        if (hit) found(value_in(word));
        return static_cast<bool>(hit);
    }
}

}  // namespace hf
