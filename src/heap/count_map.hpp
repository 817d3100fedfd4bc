// heap/count_map.hpp: a transaction's changes of reference counts, by object. Volatile.
//
// Nothing is stored before the end of the transaction: if an object lost a pointer and gained
// another, its count is unchanged, so moving a pointer causes no store to its target.
#pragma once

#include "base/bits.hpp"

#include <vector>

namespace hf::nv {

struct counted {
    u64 offset = 0;
    int by = 0;
    bool fresh = false;   ///< made by this transaction: its header is stored in place
    bool queued = false;  ///< waits to be processed
    bool waited = false;  ///< was postponed after all others
    bool dead = false;
    bool forsaken = false;  ///< its pointers were moved: attempt::forsake()
};

/// Stamp: a smaller type wraps around earlier, for tests.
template <class Stamp>
class stamped_count_map {
   public:
    stamped_count_map() : slots_(64) {}

    [[nodiscard]] u32 index_of(u64 offset) {
        for (u64 i = hash(offset);; ++i) {
            slot& s = slots_[i & (slots_.size() - 1)];
            if (s.stamp != stamp_) {
                if (2 * (entries_.size() + 1) > slots_.size()) {
                    widen();
                    return index_of(offset);
                }
                entries_.push_back({offset});
                s = {stamp_, static_cast<u32>(entries_.size() - 1)};
                return s.index;
            }
            if (entries_[s.index].offset == offset) return s.index;
        }
    }
    [[nodiscard]] const counted* find(u64 offset) const noexcept {
        for (u64 i = hash(offset);; ++i) {
            const slot& s = slots_[i & (slots_.size() - 1)];
            if (s.stamp != stamp_) return nullptr;
            if (entries_[s.index].offset == offset) return &entries_[s.index];
        }
    }
    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
    [[nodiscard]] counted& operator[](u32 index) noexcept { return entries_[index]; }
    [[nodiscard]] const std::vector<counted>& all() const noexcept { return entries_; }
    void clear() noexcept {
        // Otherwise accesses after a long transaction would miss the cache.
        if (slots_.size() > most_kept_slots && 8 * entries_.size() < slots_.size()) {
            slots_.resize(most_kept_slots);
        }
        entries_.clear();
        if (++stamp_ == 0) {
            for (slot& s : slots_) s.stamp = 0;
            stamp_ = 1;
        }
    }

   private:
    static constexpr std::size_t most_kept_slots = 1024;
    struct slot {
        Stamp stamp = 0;
        u32 index = 0;
    };
    [[nodiscard]] static u64 hash(u64 offset) noexcept {
        return (offset * 0x9e3779b97f4a7c15) >> 32;  // 2^64 by the golden ratio
    }
    void widen() {
        slots_ = std::vector<slot>(2 * slots_.size());
        stamp_ = 1;
        for (u32 index = 0; index < entries_.size(); ++index) {
            u64 i = hash(entries_[index].offset);
            while (slots_[i & (slots_.size() - 1)].stamp == stamp_) ++i;
            slots_[i & (slots_.size() - 1)] = {stamp_, index};
        }
    }

    std::vector<counted> entries_;
    std::vector<slot> slots_;
    Stamp stamp_ = 1;
};

using count_map = stamped_count_map<u32>;

}  // namespace hf::nv
