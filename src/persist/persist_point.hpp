// persist/persist_point.hpp: executable persist order.
//
// HF_PERSIST_POINT("room P3: what is durable before what") marks the moment when one thing has
// become durable and the next is not begun. It compiles to nothing unless HF_PERSIST_POINTS is
// defined; then it calls the hook, by which a test stops the process there, as a crash would.
// docs/persist_order.md lists all points.
#pragma once

namespace hf {

/// True if a persist point may exit by an exception. Only the crash lab does that.
#ifdef HF_TRACE
inline constexpr bool crashes_throw = true;
#else
inline constexpr bool crashes_throw = false;
#endif

using persist_point_hook = void (*)(const char* name);

/// Sets the hook and returns the old one; nullptr: none. Any thread may call the hook at any time.
persist_point_hook set_persist_point_hook(persist_point_hook hook) noexcept;

namespace detail {
void persist_point_reached(const char* name);
}

}  // namespace hf

#ifdef HF_PERSIST_POINTS
#define HF_PERSIST_POINT(name) ::hf::detail::persist_point_reached(name)
#else
#define HF_PERSIST_POINT(name) static_cast<void>(0)
#endif
