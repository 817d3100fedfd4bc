// The tests shared by all eager indexes (../common) run on the Bw-tree, too.
#pragma once

#include "index/bwtree/bwtree.hpp"
#include "index/common/index_fixture.hpp"

namespace hf::test {

using bwtree_family = family<bwtree>;

}  // namespace hf::test
