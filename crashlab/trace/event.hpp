// trace/event.hpp: what a workload did to the watched memory, as a sequence.
#pragma once

#include "base/bits.hpp"

#include <string_view>

namespace hf::lab {

/// Threads of a workload, at most.
inline constexpr unsigned max_threads = 8;

/// Bytes that a file of the lab may have.
inline constexpr u64 file_capacity = u64{64} << 20;
/// Files lie a window apart in memory (region/arena.hpp), and one behind the other in a trace.
inline constexpr unsigned file_stride_bits = 40;
inline constexpr u64 file_stride = u64{1} << file_stride_bits;

[[nodiscard]] constexpr u64 place_of(u64 offset) noexcept {
    return (offset >> file_stride_bits) * file_capacity + (offset & (file_stride - 1));
}
[[nodiscard]] constexpr u64 offset_of(u64 place) noexcept {
    return place / file_capacity * file_stride + place % file_capacity;
}
[[nodiscard]] constexpr unsigned file_of_line(u64 line) noexcept {
    return static_cast<unsigned>(line / (file_capacity / line_size));
}

enum class event_kind : u8 {
    store,      ///< `value` to [where, where + size), inside of one 8-byte word
    flush,      ///< of the line that holds `where`
    fence,      ///< what this thread flushed or streamed is sure
    noted,      ///< `value` bytes at `where` are on a list of dirty lines
    begin,      ///< of the operation number `value`
    end,        ///< of the operation number `value`: it returns `where`
    announced,  ///< epoch `value` is promised to survive
    point,      ///< persist point number `value`
    length,     ///< file number `where` has `value` bytes
    link,       ///< file number `where` has its name
    sync,       ///< of file number `where`: its length, and what system calls have written
    sync_name,  ///< of all files: their names
    load,       ///< of bytes that another thread's store, number `value`, has not made sure
    acquire,    ///< of an atomic anywhere in memory: a lock is taken, a flag is seen
    release,    ///< of an atomic in ordinary memory: a lock is given back
    killed,     ///< the process died, and the machine went on: what comes behind is the next one's
};

[[nodiscard]] std::string_view to_string(event_kind k) noexcept;

/// How a store reaches the medium.
enum class store_kind : u8 {
    plain,    ///< a compiler may hoist it up to the thread's last barrier
    relaxed,  ///< likewise
    release,  ///< behind every earlier store to its line
    piece,    ///< of a store wider than 8 bytes: any subset of the pieces, else as plain
    stream,   ///< past the caches: any subset until fenced
    file,     ///< by a system call: any subset until synced
};

struct event {
    u64 where = 0;
    u64 value = 0;
    u64 pc = 0;  ///< behind the instruction that did it
    event_kind kind = event_kind::store;
    u8 size = 0;
    store_kind how = store_kind::plain;
    u8 thread = 0;
    /// Of a store: the thread passed a compiler barrier since its last one.
    bool after_barrier = false;
    bool acquires = false;  ///< of a load
};

}  // namespace hf::lab
