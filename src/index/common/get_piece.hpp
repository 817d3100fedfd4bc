// index/common/get_piece.hpp: looks up many keys at once.
//
// Purpose. A search is a chain of dependent cache misses. Searches for different keys are
// independent: an index that advances them in lockstep, and prefetches the next line of each before
// it reads the first of these lines, overlaps the misses. Such an index has
//
//   get_piece(op, keys, found)    at most gets_at_once keys; found(number, value) for each key
//                                 that exists, in the order of `keys`; the value lives as long as
//                                 the operation
//
// Each search follows the rules of get(): it records the same lines and checks the same locks. To
// other threads it is a reader that pauses between two loads. An index without get_piece() looks up
// one key after the other.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"

#include <cstddef>
#include <span>

namespace hf {

/// Number of prefetches in flight: twice what a processor can keep outstanding, so the first lines
/// have arrived when the last ones are requested.
inline constexpr std::size_t gets_at_once = 32;

template <class Index, class Found>
void get_piece(const Index& index, typename Index::operation& op,
               std::span<const typename Index::key> keys, Found&& found) {
    HF_ASSERT(keys.size() <= gets_at_once, "too many keys at once");
    if constexpr (requires { index.get_piece(op, keys, found); }) {
        index.get_piece(op, keys, found);
    } else {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            op.arrived();
            index.get(op, keys[i], [&](const auto& v) { found(i, v); });
        }
    }
}

}  // namespace hf
