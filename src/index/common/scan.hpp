// index/common/scan.hpp: what scans of ordered eager indexes share.
#pragma once

#include "base/bits.hpp"

namespace hf {

/// A long scan is several operations, each of which begins behind the last key that the one before
/// it has visited. So each comes further, or keys lie where they don't belong: then there might be
/// no end of it. `last`: the key that it has come to; `exclusive`: it began behind `from`.
template <bool Up, class Key, class Operation>
void check_came_on(const Operation& op, const void* root, const Key& from, const Key& last,
                   bool exclusive) {
    if (Up ? last > from : last < from) [[likely]] {
        return;
    }
    if (exclusive || last != from) op.fail(root, "a scan has come back: keys are not in order");
}

}  // namespace hf
