// section/inside_runtime.hpp: marks the stretches in which the runtime works for itself.
//
// The rooms below take locks (std::mutex), which are interposed in a program with sections. A lock
// that is taken while the calling thread is inside the runtime makes no section, and neither does
// any lock of a thread that the runtime has started.
#pragma once

#include "base/bits.hpp"

#include <atomic>

namespace hf::section {

namespace detail {
/// Nested stretches of the calling thread.
[[gnu::tls_model("initial-exec")]] inline thread_local constinit u32 runtime_depth = 0;
[[gnu::tls_model("initial-exec")]] inline thread_local constinit bool is_runtimes_thread = false;
/// The calling thread may be cancelled at any instruction (locks/cancellation.cpp).
[[gnu::tls_model("initial-exec")]] inline thread_local constinit bool is_cancelled_anywhere = false;
}  // namespace detail

[[nodiscard]] inline bool is_inside_runtime() noexcept { return detail::runtime_depth != 0; }

class inside_runtime {
   public:
    inside_runtime() noexcept { ++detail::runtime_depth; }
    ~inside_runtime() { --detail::runtime_depth; }
    inside_runtime(const inside_runtime&) = delete;
    inside_runtime& operator=(const inside_runtime&) = delete;
};

/// While it exists the thread enters the gate. Its depth and its flag at the gate change one after
/// the other; a signal handler in between that stores is reported (announce()), not taken for a
/// section of its own.
class at_the_gate {
   public:
    at_the_gate() noexcept {
        ++detail::runtime_depth;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~at_the_gate() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        --detail::runtime_depth;
    }
    at_the_gate(const at_the_gate&) = delete;
    at_the_gate& operator=(const at_the_gate&) = delete;
};

/// The calling thread belongs to the runtime until it ends.
inline void belong_to_runtime() noexcept {
    ++detail::runtime_depth;
    detail::is_runtimes_thread = true;
}
[[nodiscard]] inline bool belongs_to_runtime() noexcept { return detail::is_runtimes_thread; }

[[nodiscard]] inline bool is_cancelled_anywhere() noexcept { return detail::is_cancelled_anywhere; }

}  // namespace hf::section
