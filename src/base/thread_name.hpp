// base/thread_name.hpp: what a thread is called in top -H, gdb and perf.
#pragma once

#include <sys/prctl.h>

namespace hf {

/// The first 15 bytes count.
inline void name_this_thread(const char* name) noexcept { ::prctl(PR_SET_NAME, name); }

}  // namespace hf
