// persist/trace.hpp: reports the operations on the medium to a recorder.
//
// Purpose. The `traced` medium of the crash lab (docs/crashlab.md). In a build with HF_TRACE a
// flush, a fence, a streaming copy, an entry in a dirty list and the announcement of an epoch are
// reported to a sink and not executed; the lab sees stores separately, through the compiler's
// instrumentation. A build with HF_PERSIST_POINTS has the sink, too, so that tests at full speed
// can keep a second memory (tests/support/shadow_memory.hpp); without a sink it behaves like a
// release build. A release build contains none of this.
//
// Concurrency. The sink is set while no other thread runs. Its functions are called by the thread
// that executes the operation.
#pragma once

#if defined(HF_TRACE) || defined(HF_PERSIST_POINTS)
#define HF_TRACE_SINK 1
#endif

#ifdef HF_TRACE
/// Inlined into its caller, so that a trace names the caller's source location.
#define HF_TRACED_AT_CALLER [[gnu::always_inline]]
/// Never inlined or merged, so that a trace names this function.
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
    /// The line that contains `line` is written back; durable after the same thread's next fence.
    virtual void flush(const void* line) noexcept = 0;
    virtual void fence() noexcept = 0;
    /// Copies n bytes by streaming stores: 8-byte pieces, in any order until the next fence.
    virtual void stream(void* to, const void* from, std::size_t n) noexcept = 0;
    /// [p, p + n) was added to a list of lines to be written back at the epoch's end.
    virtual void noted(const void* p, std::size_t n) noexcept = 0;
    /// Everything up to this epoch is durable: the caller may tell users.
    virtual void announced(u64 epoch) noexcept = 0;
};

namespace trace {
inline constinit trace_sink* sink = nullptr;

/// True if flushes are reported to a sink instead of being executed.
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
