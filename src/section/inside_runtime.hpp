// section/inside_runtime.hpp: marks the stretches in which the runtime works for itself.
//
// The rooms below take locks (std::mutex), which are interposed in a program with sections. A lock
// that is taken while the calling thread is inside the runtime makes no section, and neither does
// any lock of a thread that the runtime has started.
#pragma once

#include "base/bits.hpp"

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

/// The calling thread belongs to the runtime until it ends.
inline void belong_to_runtime() noexcept {
    ++detail::runtime_depth;
    detail::is_runtimes_thread = true;
}
[[nodiscard]] inline bool belongs_to_runtime() noexcept { return detail::is_runtimes_thread; }

[[nodiscard]] inline bool is_cancelled_anywhere() noexcept { return detail::is_cancelled_anywhere; }

}  // namespace hf::section
