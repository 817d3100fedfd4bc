// base/base.hpp: helpers that every room may use and that need no other room.
//
// Checks and assertions, errors of the operating system, checksums, random numbers with a printed
// seed, histograms, time. A room of small files, each of which stands alone; a file includes the
// ones that it needs, and this header has the four that most do.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"
#include "base/checksum.hpp"
#include "base/damage.hpp"
