// command/minimise.hpp: reduces a finding to the fewest lines that still cause it.
#pragma once

#include "crashlab/explore/explorer.hpp"

#include <functional>

namespace hf::lab {

/// Replaces line after line by its old content, first in the last crash, then in earlier ones, as
/// long as `still_wrong` returns true.
[[nodiscard]] finding minimised(finding f, const std::function<bool(const finding&)>& still_wrong);

/// Repeats a run in a child process, because it may abort or hang. True: it fails again.
[[nodiscard]] bool is_wrong_in_child(const std::string& target, u64 seed, const std::string& mode,
                                     const finding& f);

}  // namespace hf::lab
