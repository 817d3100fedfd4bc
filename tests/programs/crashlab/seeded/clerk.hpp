// crashlab/seeded/clerk.hpp: who answers what he finds, and promises the answer; he may trust the
// caches that a process before him, which was killed, has left.
//
// On the medium, in a region's first segment:   | claim: 0 or 1 | answer: 0 or 1 |, a line each.
//
// Invariant. When an answer was promised, there is a claim. The mistake: a claim that was found is
// answered before it was made durable.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab::seeded {

enum class next_one : u8 { trusts_caches, makes_sure };

/// Files a claim; the process that opens the region next answers it.
[[nodiscard]] target_description clerk_case(next_one n);

}  // namespace hf::lab::seeded
