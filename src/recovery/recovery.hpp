// recovery/recovery.hpp: how a region is opened.
//
// opening.hpp has the function by which every program opens a region, and begins the
// recovery_driver (driver.hpp) that all rooms above add their steps to. journalled_file.hpp is the
// layer between a region's memory and its files; upgrade.hpp converts older formats.
#pragma once

#include "recovery/driver.hpp"
#include "recovery/journalled_file.hpp"
#include "recovery/opening.hpp"
#include "recovery/redo.hpp"
#include "recovery/upgrade.hpp"
