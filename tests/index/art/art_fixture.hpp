// What is tested of every eager index (../common) is tested of this one.
#pragma once

#include "index/art/art.hpp"
#include "index/common/index_fixture.hpp"

namespace hf::test {

using art_family = family<art>;

}  // namespace hf::test
