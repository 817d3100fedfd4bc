// map/map.hpp: the public map.
//
// A face over map_engine (map_engine/map_engine.hpp): map_impl.hpp turns damage into errors,
// families.hpp has a row for each family, inspect.hpp opens the inside to checks and tests,
// copy.hpp copies a store while it is used.
#pragma once

#include "map/copy.hpp"
#include "map/families.hpp"
#include "map/inspect.hpp"
