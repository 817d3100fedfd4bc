// runtime/observer.hpp: the interface between the compiler's instrumentation and the lab.
//
// Purpose. Rooms explored by the lab are compiled with -fsanitize=thread and linked to the
// functions of this folder instead of the sanitizer's runtime (instrumentation.cpp, libc.cpp). Each
// load and store checks whether its address is in the watched memory, and if so notifies the
// observer BEFORE it is executed. Other accesses cost one comparison.
//
// Concurrency. None: workloads of several threads run as fibers on one (schedule/).
#pragma once

#include "base/bits.hpp"
#include "crashlab/schedule/yield.hpp"
#include "crashlab/trace/event.hpp"

namespace hf::lab {

/// How a store may be reordered. A compiler may hoist a plain or relaxed store over earlier stores,
/// up to the last barrier of its thread; no store moves after a later release store.
enum class ordering : u8 { plain, relaxed, release };

class observer {
   public:
    virtual ~observer() = default;
    /// [at, at + size) of the watched memory is about to be read by the instruction before pc.
    virtual void reading(u64 at, u64 size, u64 pc, bool acquires) = 0;
    virtual void writing(u64 at, u64 size, ordering how, u64 pc) = 0;
    /// A lock or another atomic, anywhere in memory, is acquired or released.
    virtual void acquiring(u64 pc) { static_cast<void>(pc); }
    virtual void releasing(u64 pc) { static_cast<void>(pc); }
};

struct watch {
    u64 base = 0;
    u64 size = 0;  ///< 0: nothing is watched
    observer* who = nullptr;
    /// Number of compiler barriers of each thread: acquire loads, fences, locked operations.
    u64 barriers[max_threads] = {};
};

extern constinit watch the_watch;

/// Watches [base, base + size) for `who`; nullptr: stops watching.
inline void watch_for(observer* who, const void* base, u64 size) noexcept {
    the_watch.base = reinterpret_cast<u64>(base);
    the_watch.size = who == nullptr ? 0 : size;
    the_watch.who = who;
}

[[nodiscard]] inline bool is_watched(const void* p) noexcept {
    return reinterpret_cast<u64>(p) - the_watch.base < the_watch.size;
}

inline void tell_reading(const void* p, u64 size, u64 pc, bool acquires = false) {
    if (is_watched(p)) [[unlikely]] {
        the_watch.who->reading(place_of(reinterpret_cast<u64>(p) - the_watch.base), size, pc,
                               acquires);
    }
}

inline void tell_writing(const void* p, u64 size, ordering how, u64 pc) {
    if (is_watched(p)) [[unlikely]] {
        the_watch.who->writing(place_of(reinterpret_cast<u64>(p) - the_watch.base), size, how, pc);
    }
}

inline void tell_acquiring(u64 pc) {
    if (the_watch.who != nullptr) [[unlikely]] {
        the_watch.who->acquiring(pc);
    }
}

inline void tell_releasing(u64 pc) {
    if (the_watch.who != nullptr) [[unlikely]] {
        the_watch.who->releasing(pc);
    }
}

/// Copies without notifying the observer. `n` may be any size; the ranges must not overlap.
inline void unseen_copy(void* to, const void* from, std::size_t n) noexcept {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
}

/// One cache line, aligned or not.
inline void unseen_copy_line(void* to, const void* from) noexcept {
    auto* d = static_cast<char*>(to);
    const auto* s = static_cast<const char*>(from);
    asm volatile(
        "movdqu (%1), %%xmm0; movdqu 16(%1), %%xmm1; movdqu 32(%1), %%xmm2; movdqu 48(%1), %%xmm3;"
        "movdqu %%xmm0, (%0); movdqu %%xmm1, 16(%0); movdqu %%xmm2, 32(%0); movdqu %%xmm3, "
        "48(%0)" ::"r"(d),
        "r"(s)
        : "memory", "xmm0", "xmm1", "xmm2", "xmm3");
}

}  // namespace hf::lab
