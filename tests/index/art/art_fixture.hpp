// What is tested of every eager index (../common) is tested of this one.
#pragma once

#include "index/art/art.hpp"
#include "index/common/index_fixture.hpp"

namespace hf::test {

/// Roots of long ways keep nodes until something grows there.
template <class D, class Keys>
inline constexpr u64 most_interiors_when_empty<art<D, Keys>> = 40;

using art_family = family<art>;

}  // namespace hf::test
