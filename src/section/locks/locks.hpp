// section/locks/locks.hpp: locks that begin and end sections.
//
// The functions of pthread that stand in front of the C library's: taking the outermost lock begins
// a section (locked.hpp), a wait ends it and begins another (waiting.hpp), and some locks make none
// (exempt.hpp).
#pragma once

#include "section/locks/exempt.hpp"
#include "section/locks/locked.hpp"
#include "section/locks/real.hpp"
#include "section/locks/waiting.hpp"
