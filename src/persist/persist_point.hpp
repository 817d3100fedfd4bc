// persist/persist_point.hpp: persist order that can be executed.
//
// HF_PERSIST_POINT("room P3: what is durable before what") stands where one thing has become
// durable and the next has not been touched. It vanishes unless HF_PERSIST_POINTS is defined; then
// it calls the hook, with which a test stops the process there, as a crash would.
// docs/persist_order.md lists all points.
#pragma once

namespace hf {

/// The crash lab leaves by an exception at a persist point; nobody else does.
#ifdef HF_TRACE
inline constexpr bool crashes_throw = true;
#else
inline constexpr bool crashes_throw = false;
#endif

using persist_point_hook = void (*)(const char* name);

/// nullptr: no hook. Returns the old one. Any thread may call the hook at any time.
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
