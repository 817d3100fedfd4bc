// bench/environment.hpp: the machine and build that a figure was measured on.
#pragma once

#include "base/bits.hpp"

#include <string>

namespace hf::bench {

struct environment {
    std::string processor;
    unsigned cores = 0;  ///< available to this process
    std::string kernel;
    std::string compiler;
    std::string build;  ///< "release", or the reason why figures have no meaning
    std::string version;
    std::string flush_instruction;
    u64 memory_bytes = 0;
    double load = 0;  ///< average of the last minute, at the start
};

[[nodiscard]] environment find_environment();

}  // namespace hf::bench
