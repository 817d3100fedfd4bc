// production/trace_file.hpp: the file that the tracer of an unmodified program writes, and the lab
// reads.
//
//   header | name bytes ... | file bytes before the trace | events
//
// A temporary format for one machine and build, in native byte order.
#pragma once

#include "crashlab/trace/event.hpp"

#include <cstddef>

namespace hf::lab {

struct trace_header {
    char magic[8];
    u64 version;
    u64 file_bytes;
    u64 events;
};

inline constexpr char trace_magic[8] = {'H', 'F', 'T', 'R', 'A', 'C', 'E', '\n'};
inline constexpr u64 trace_version = 1;

}  // namespace hf::lab
