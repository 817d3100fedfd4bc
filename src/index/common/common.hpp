// index/common/common.hpp: the interface of the eager indexes.
//
// index.hpp has the concept, keys.hpp the key and value types that an index is compiled for;
// batch.hpp, get_piece.hpp and scan.hpp are shared by the implementations.
#pragma once

#include "index/common/batch.hpp"
#include "index/common/get_piece.hpp"
#include "index/common/index.hpp"
#include "index/common/keys.hpp"
#include "index/common/root.hpp"
#include "index/common/scan.hpp"
