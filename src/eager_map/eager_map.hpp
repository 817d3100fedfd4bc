// eager_map/eager_map.hpp: maps over an eager index that is chosen by name.
//
// engine.hpp erases the index's type, one virtual call an operation; indexes.hpp names all of them.
// byte_map.hpp is the public map's family over them (map_engine), inspection.hpp reads a file
// without using it.
#pragma once

#include "eager_map/byte_map.hpp"
#include "eager_map/engine.hpp"
#include "eager_map/inspection.hpp"
