// The tests shared by all eager indexes (../common) run on ART, too.
#pragma once

#include "index/art/art.hpp"
#include "index/common/index_fixture.hpp"

namespace hf::test {

using art_family = family<art>;

}  // namespace hf::test
