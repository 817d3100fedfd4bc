// command/minimise.hpp: reduces a finding to the fewest lines that still reproduce it.
#pragma once

#include "crashlab/explore/explorer.hpp"

#include <functional>

namespace hf::lab {

/// Makes one line after the other old again, in the last crash and then in the earlier ones, as
/// long as `still_wrong` returns true.
[[nodiscard]] finding minimised(finding f, const std::function<bool(const finding&)>& still_wrong);

/// Repeats a run in a child process, so that it may abort or not terminate. True: wrong again.
[[nodiscard]] bool is_wrong_in_child(const std::string& target, u64 seed, const std::string& mode,
                                     const finding& f);

}  // namespace hf::lab
