// trace/event.hpp: the effects of a workload on the watched memory, as a sequence.
#pragma once

#include "base/bits.hpp"

#include <string_view>

namespace hf::lab {

/// Maximum number of threads of a workload.
inline constexpr unsigned max_threads = 8;

/// Maximum size of a file of the lab, in bytes.
inline constexpr u64 file_capacity = u64{64} << 20;
/// Files are a window apart in memory (region/arena.hpp), and one after the other in a trace.
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
    store,      ///< of `value` to [where, where + size), within one 8-byte word
    flush,      ///< of the line that contains `where`
    fence,      ///< everything that this thread flushed or streamed before is durable
    noted,      ///< `value` bytes at `where` are on a list of dirty lines
    begin,      ///< of the operation number `value`
    end,        ///< of the operation number `value`, with the result `where`
    announced,  ///< epoch `value` is promised to survive
    point,      ///< persist point number `value`
    length,     ///< file number `where` has `value` bytes
    link,       ///< file number `where` has its name
    sync,       ///< of file number `where`: its length, and writes by system calls
    sync_name,  ///< of all files: their names
    load,       ///< of bytes of another thread's store, number `value`, that is not durable
    acquire,    ///< of an atomic anywhere in memory: a lock is acquired, a flag is read
    release,    ///< of an atomic in ordinary memory: a lock is released
    killed,     ///< the process died, and the machine goes on: later events are the next process's
};

[[nodiscard]] std::string_view to_string(event_kind k) noexcept;

/// How a store reaches the medium.
enum class store_kind : u8 {
    plain,    ///< a compiler may hoist it up to the thread's last barrier
    relaxed,  ///< as plain
    release,  ///< after every earlier store to its line
    piece,    ///< of a store wider than 8 bytes: any subset of the pieces, else as plain
    stream,   ///< bypasses the caches: any subset until fenced
    file,     ///< by a system call: any subset until synced
};

struct event {
    u64 where = 0;
    u64 value = 0;
    u64 pc = 0;  ///< address after the instruction
    event_kind kind = event_kind::store;
    u8 size = 0;
    store_kind how = store_kind::plain;
    u8 thread = 0;
    /// For a store: the thread has passed a compiler barrier since its last store.
    bool after_barrier = false;
    bool acquires = false;  ///< for a load: acquire order
};

}  // namespace hf::lab
