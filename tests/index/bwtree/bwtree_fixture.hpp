// What is tested of every eager index (../common) is tested of this one.
#pragma once

#include "index/bwtree/bwtree.hpp"
#include "index/common/index_fixture.hpp"

namespace hf::test {

using bwtree_family = family<bwtree>;

}  // namespace hf::test
