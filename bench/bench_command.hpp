// bench/bench_command.hpp: `holdfast bench`.
#pragma once

#include <string>
#include <vector>

namespace hf::bench {

/// `arguments`: those after the verb. Results go to standard output, progress to standard error.
/// Returns the exit code: 0, that of the error (hf::errc; 2 for bad options), 1 if `compare
/// --check` missed a target, or 130 if interrupted.
int bench_command(const std::vector<std::string>& arguments);

}  // namespace hf::bench
