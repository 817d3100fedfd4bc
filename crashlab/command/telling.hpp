// command/telling.hpp: what a program of the lab prints and writes.
#pragma once

#include "crashlab/command/campaign.hpp"
#include "crashlab/command/options.hpp"

namespace hf::lab {

/// Minimises findings, prints the table and each finding's timeline, writes the files asked for.
[[nodiscard]] outcome tell_campaign(const std::vector<target_result>& results, const arguments& a);

/// Repeats one run and draws it.
[[nodiscard]] outcome tell_replay(laboratory& lab, const target_description& d, const arguments& a);

/// Records each target once and prints what the lint says.
[[nodiscard]] outcome tell_lint(laboratory& lab, const arguments& a);

}  // namespace hf::lab
