// The tests shared by all eager indexes (../common) run on the eager Masstree, too.
#pragma once

#include "index/common/index_fixture.hpp"
#include "index/eager_masstree/eager_masstree.hpp"

#include <string>
#include <type_traits>

namespace hf::test {

using eager_masstree_family = family<eager_masstree>;
using eager_masstrees =
    ::testing::Types<eager_masstree_family::eager_numbers, eager_masstree_family::eager_bytes>;

/// Key number n, one slice long, in ascending order.
template <class Kept>
Kept numbered(u64 n) {
    if constexpr (std::is_same_v<Kept, u64>) {
        return n;
    } else {
        return std::to_string(10'000'000 + n);
    }
}

}  // namespace hf::test
