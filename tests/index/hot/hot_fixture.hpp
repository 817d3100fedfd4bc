// What is tested of every eager index (../common) is tested of this one.
#pragma once

#include "index/common/index_fixture.hpp"
#include "index/hot/hot.hpp"

namespace hf::test {

using hot_family = family<hot>;

}  // namespace hf::test
