// alloc/committed/word_change.hpp: what a log has to hold of the heap.
#pragma once

#include "alloc/committed/layout.hpp"

#include <span>

namespace hf::committed {

/// word := (word without `clear`) with `set`; an 8-byte word at `offset` of the region. Doing it
/// again changes nothing.
struct word_change {
    u64 offset = 0;
    u64 clear = 0;
    u64 set = 0;
    friend bool operator==(const word_change&, const word_change&) = default;
};

/// Does it in memory. Others may be changing other bits of the word.
inline void change_word(word& target, const word_change& c) noexcept {
    if (c.clear == ~u64{0}) {
        target.store(c.set, std::memory_order_release);
        return;
    }
    if (c.clear != 0) target.fetch_and(~c.clear, std::memory_order_acq_rel);
    if (c.set != 0) target.fetch_or(c.set, std::memory_order_acq_rel);
}

/// For recovery, before the heap is opened: does the changes of one committed entry, and flushes
/// their lines; the caller fences before the entry goes. errc::corrupt, before anything is changed,
/// when one of them is no word of a heap. May be cut short and repeated, any number of times.
[[nodiscard]] result<void> reapply(region& r, std::span<const word_change> changes);

}  // namespace hf::committed
