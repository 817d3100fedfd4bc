// index/common/get_piece.hpp: many keys looked for at once.
//
// Purpose. A search waits for memory at each step, and none of its loads can begin before the one
// above it has come. Searches for different keys don't depend on one another: an index that takes
// them in step, each of their next lines asked for before the first of these is looked at, waits
// for all of them together. It says so with
//
//   get_piece(op, keys, found)    at most gets_at_once keys; found(number, value) of each that is
//                                 there, in the order of `keys`; what it is given lives as long as
//                                 the operation
//
// and each search keeps to the rules of its get(): what is noted, and when it looks at a lock, is
// the same. To the others a key in step is a reader that takes his time between two loads. An index
// that has nothing of the kind is asked for one key after the other.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"

#include <cstddef>
#include <span>

namespace hf {

/// So many lines are on their way at once, twice what a processor can wait for: a piece's first
/// lines are there when its last ones have been asked for.
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
