// command/minimise.hpp: the fewest lines that still make a finding.
#pragma once

#include "crashlab/explore/explorer.hpp"

#include <functional>

namespace hf::lab {

/// Makes line after line old again, in the last crash and then in those before it, as long as
/// `still_wrong` says so.
[[nodiscard]] finding minimised(finding f, const std::function<bool(const finding&)>& still_wrong);

/// Repeats a run in a process of its own, so that it may abort or never end. True: wrong again.
[[nodiscard]] bool is_wrong_in_child(const std::string& target, u64 seed, const std::string& mode,
                                     const finding& f);

}  // namespace hf::lab
