// bench/compare/targets.hpp: what the medium `file` is to reach, held against what was measured.
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
    bool at_least = true;  ///< otherwise below

    [[nodiscard]] bool met() const noexcept {
        return at_least ? measured >= wanted : measured < wanted;
    }
};

/// Those that the cells say something about.
[[nodiscard]] std::vector<target> targets_of(const comparison_results& r);

/// A table; "targets" and "targets met" of the JSON: whether there is one, and all are met.
void report_targets(const std::vector<target>& all, std::ostream& out, nlohmann::json& json);

}  // namespace hf::bench
