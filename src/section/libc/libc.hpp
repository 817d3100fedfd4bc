// section/libc/libc.hpp: library functions that write.
//
// Wrappers for code that the compiler plugin has compiled: each behaves as the function of its name
// and announces what it writes to a region. They know the hooks of <holdfast/section_hooks.h> only.
#pragma once

#include "section/libc/announced.hpp"
