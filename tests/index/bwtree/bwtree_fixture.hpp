// What is tested of every eager index (../common) is tested of this one.
#pragma once

#include "index/bwtree/bwtree.hpp"
#include "index/common/index_fixture.hpp"

namespace hf::test {

using bwtree_family = family<bwtree>;

/// Inner nodes stay where their leaves have gone.
template <class D, class Keys>
inline constexpr u64 most_interiors_when_empty<bwtree<D, Keys>> = 16;

}  // namespace hf::test
