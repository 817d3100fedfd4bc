// What is tested of every eager index (../common) is tested of this one.
#pragma once

#include "index/common/index_fixture.hpp"
#include "index/eager_masstree/eager_masstree.hpp"

namespace hf::test {

using eager_masstree_family = family<eager_masstree>;

}  // namespace hf::test
