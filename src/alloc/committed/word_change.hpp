// alloc/committed/word_change.hpp: the changes of heap words that a log contains.
#pragma once

#include "alloc/committed/layout.hpp"

#include <span>

namespace hf::committed {

/// word := (word without `clear`) with `set`; an 8-byte word at `offset` of the region.
/// Idempotent.
struct word_change {
    u64 offset = 0;
    u64 clear = 0;
    u64 set = 0;
    friend bool operator==(const word_change&, const word_change&) = default;
};

/// Applies it in memory. Other threads may concurrently change other bits of the word.
inline void change_word(word& target, const word_change& c) noexcept {
    if (c.clear == ~u64{0}) {
        target.store(c.set, std::memory_order_release);
        return;
    }
    if (c.clear != 0) target.fetch_and(~c.clear, std::memory_order_acq_rel);
    if (c.set != 0) target.fetch_or(c.set, std::memory_order_acq_rel);
}

/// For recovery, before the heap is opened: applies the changes of one committed entry, and flushes
/// their lines; the caller fences before the entry is removed. errc::corrupt, before anything is
/// changed: one of them is not a word of a heap. May be interrupted and repeated any number of
/// times.
[[nodiscard]] result<void> reapply(region& r, std::span<const word_change> changes);

}  // namespace hf::committed
