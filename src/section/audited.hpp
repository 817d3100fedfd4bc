// section/audited.hpp: the debugging mode of a group finds stores that were not announced (audit/).
//
// HOLDFAST_SECTION_AUDIT=compare or exact, in the environment of a program whose stores are
// announced, starts it when the group is opened. Findings are reported when the group is closed, or
// at exit, with a last line that counts them:
//
//     holdfast: audit: unannounced store to 0x200000000020 by sneak at skipped.c:8
//     holdfast: audit: 1 unannounced store; 4711 were announced
//
// The runtime's own stores are announced by `change`; its logs are not audited. All fast paths are
// off: each store takes the slow one, which tells the audit.
#pragma once

#include <holdfast/result.hpp>

#include "section/group.hpp"

#include <cstddef>

namespace hf::section {

inline constexpr const char* audit_variable = "HOLDFAST_SECTION_AUDIT";

/// Before a group is opened. errc::usage: the variable makes no sense, or stores are found by
/// pages, so nothing announces them.
[[nodiscard]] result<void> check_audit(bool are_announced);
/// If the environment asks for it: from now on each byte of the group's heap is compared.
/// errc::usage: `exact` needs stores that go in place.
[[nodiscard]] result<void> start_audit(group& g);
/// The heap has grown by [p, p + n).
void audit_growth(void* p, std::size_t n) noexcept;
/// Reports each byte that has changed since the last cut without an announcement. No thread may be
/// inside a section.
void audit_cut() noexcept;
/// Prints the findings, and ends the mode. `is_quiet`: no thread stores any more, and the region is
/// about to be unmapped; at exit other threads may still run.
void finish_audit(bool is_quiet) noexcept;

}  // namespace hf::section
