// bench/compare/targets.hpp: compares the results with the targets for the medium `file`.
#pragma once

#include "bench/compare/report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace hf::bench {

struct target {
    std::string what;
    double measured = 0;
    double wanted = 0;
    bool at_least = true;  ///< otherwise: below

    [[nodiscard]] bool met() const noexcept {
        return at_least ? measured >= wanted : measured < wanted;
    }
};

/// The targets that the measured cells can decide.
[[nodiscard]] std::vector<target> targets_of(const comparison_results& r);

/// Prints a table. Sets "targets" and "targets met" (all are met, and there is one) in the JSON.
void report_targets(const std::vector<target>& all, std::ostream& out, nlohmann::json& json);

}  // namespace hf::bench
