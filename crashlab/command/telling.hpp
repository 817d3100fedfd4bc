// command/telling.hpp: the output of a program of the lab.
#pragma once

#include "crashlab/command/campaign.hpp"
#include "crashlab/command/options.hpp"

namespace hf::lab {

/// Minimises findings, prints the table and each finding's timeline, writes the files asked for.
[[nodiscard]] outcome tell_campaign(const std::vector<target_result>& results, const arguments& a);

/// Repeats one run and draws it.
[[nodiscard]] outcome tell_replay(laboratory& lab, const target_description& d, const arguments& a);

/// Records each target once and prints the findings of the lint.
[[nodiscard]] outcome tell_lint(laboratory& lab, const arguments& a);

}  // namespace hf::lab
