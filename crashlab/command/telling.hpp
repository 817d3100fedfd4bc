// command/telling.hpp: the output of a crash lab program.
#pragma once

#include "crashlab/command/campaign.hpp"
#include "crashlab/command/options.hpp"

namespace hf::lab {

/// Minimises findings, prints the table and each finding's timeline, and writes the requested
/// files.
[[nodiscard]] outcome tell_campaign(const std::vector<target_result>& results, const arguments& a);

/// Repeats one run and prints its timeline.
[[nodiscard]] outcome tell_replay(laboratory& lab, const target_description& d, const arguments& a);

/// Records each target once and prints the lint's findings.
[[nodiscard]] outcome tell_lint(laboratory& lab, const arguments& a);

}  // namespace hf::lab
