// index/common/scan.hpp: shared by the scans of ordered eager indexes.
#pragma once

#include "base/bits.hpp"

namespace hf {

/// Guards a scan of a corrupt index against looping forever: throws damage if one operation of the
/// scan did not advance. Each operation of a long scan begins after the last key visited by the one
/// before. `last`: the last key visited; `exclusive`: the operation began after `from`.
template <bool Up, class Key, class Operation>
void check_came_on(const Operation& op, const void* root, const Key& from, const Key& last,
                   bool exclusive) {
    if (Up ? last > from : last < from) [[likely]] {
        return;
    }
    if (exclusive || last != from) op.fail(root, "a scan has come back: keys are not in order");
}

}  // namespace hf
