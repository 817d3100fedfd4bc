// persist/trace.hpp: what the medium is asked to do, told to whoever records it.
//
// Purpose. The `traced` medium of the crash lab (docs/crashlab.md). In a build with HF_TRACE a
// flush, a fence, a streaming copy, a note in a dirty list and the announcement of an epoch are
// told to a sink instead of being executed; stores the lab sees by itself, through the compiler's
// instrumentation. A build with HF_PERSIST_POINTS has the sink, too, so that tests at full speed
// can keep a second memory (tests/support/shadow_memory.hpp); without a sink it does what a release
// does. In a release none of this exists.
//
// Concurrency. The sink is set while nothing else runs. Its functions are called by whatever thread
// does the work.
#pragma once

#if defined(HF_TRACE) || defined(HF_PERSIST_POINTS)
#define HF_TRACE_SINK 1
#endif

#ifdef HF_TRACE
/// A part of whoever calls it: a trace names the place that asked.
#define HF_TRACED_AT_CALLER [[gnu::always_inline]]
/// A function of its own: a trace names it, and nothing that it was merged with.
#define HF_TRACED_APART [[gnu::noinline]]
#else
#define HF_TRACED_AT_CALLER
#define HF_TRACED_APART
#endif

#ifdef HF_TRACE_SINK

#include "base/bits.hpp"

namespace hf {

class trace_sink {
   public:
    virtual ~trace_sink() = default;
    /// The line that holds `line` is written back; sure after the same thread's next fence.
    virtual void flush(const void* line) noexcept = 0;
    virtual void fence() noexcept = 0;
    /// Copies n bytes past the caches: 8-byte pieces, in any order until the next fence.
    virtual void stream(void* to, const void* from, std::size_t n) noexcept = 0;
    /// [p, p + n) has been put on a list of lines to be written back at the epoch's end.
    virtual void noted(const void* p, std::size_t n) noexcept = 0;
    /// Everything up to this epoch is promised to survive.
    virtual void announced(u64 epoch) noexcept = 0;
};

namespace trace {
inline constinit trace_sink* sink = nullptr;

/// Whether flushes are told to a sink instead of being executed.
[[nodiscard]] inline bool is_watched() noexcept { return sink != nullptr; }

inline void announced(u64 epoch) noexcept {
    if (sink != nullptr) sink->announced(epoch);
}
inline void noted(const void* p, std::size_t n) noexcept {
    if (sink != nullptr) sink->noted(p, n);
}
}  // namespace trace
}  // namespace hf

#else

namespace hf::trace {
[[nodiscard]] inline constexpr bool is_watched() noexcept { return false; }
inline void announced(unsigned long) noexcept {}
inline void noted(const void*, unsigned long) noexcept {}
}  // namespace hf::trace

#endif
