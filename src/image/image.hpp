// image/image.hpp: copies of regions.
//
// Copies a region, also while a process uses it (copy.hpp, X1 to X5), recovers and checks the copy
// (ready_copy.hpp), and lets a file appear under its name only when it is complete (partial.hpp).
#pragma once

#include "image/copy.hpp"
#include "image/holes.hpp"
#include "image/partial.hpp"
#include "image/ready_copy.hpp"
