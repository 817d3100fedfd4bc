// section/audit_switch.hpp: tells the debugging mode (audited.hpp) of a store, if it is on.
#pragma once

#include "section/audit/audit.hpp"

#include <atomic>
#include <cstddef>

namespace hf::section {

namespace detail {
inline constinit std::atomic<bool> audit_is_on{false};
}  // namespace detail

[[nodiscard]] inline bool is_audited() noexcept {
    return detail::audit_is_on.load(std::memory_order_relaxed);
}
/// Before a store to [p, p + n). The caller is inside the runtime.
inline void tell_audit(const void* p, std::size_t n, const void* site) noexcept {
    if (is_audited()) [[unlikely]]
        hf_audit_announced(p, n, site);
}

}  // namespace hf::section
