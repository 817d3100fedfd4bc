// base/thread_name.hpp: the name of a thread in top -H, gdb and perf.
#pragma once

#include <sys/prctl.h>

namespace hf {

/// Only the first 15 bytes are used.
inline void name_this_thread(const char* name) noexcept { ::prctl(PR_SET_NAME, name); }

}  // namespace hf
