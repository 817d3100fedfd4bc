// bench/environment.hpp: what a figure was measured on.
#pragma once

#include "base/bits.hpp"

#include <string>

namespace hf::bench {

struct environment {
    std::string processor;
    unsigned cores = 0;  ///< that this process may use
    std::string kernel;
    std::string compiler;
    std::string build;  ///< "release" or what makes figures worthless
    std::string version;
    std::string flush_instruction;
    u64 memory_bytes = 0;
    double load = 0;  ///< mean of the last minute, at the start
};

[[nodiscard]] environment find_environment();

}  // namespace hf::bench
