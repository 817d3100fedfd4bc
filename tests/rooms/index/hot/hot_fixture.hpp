// The tests shared by all eager indexes (../common) run on HOT, too.
#pragma once

#include "index/common/index_fixture.hpp"
#include "index/hot/hot.hpp"

namespace hf::test {

using hot_family = family<hot>;

}  // namespace hf::test
