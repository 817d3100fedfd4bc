// production/trace_file.hpp: what the tracer of an unmodified program writes, and the lab reads.
//
//   header | name bytes ... | file bytes before the trace | events
//
// Of this machine and build only; nobody keeps it. Numbers in the machine's byte order.
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
