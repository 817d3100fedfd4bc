// report/summary.hpp: the results of a campaign, for a terminal, a machine and a reader.
//
// Purpose. Fill a `campaign_report` target by target with target_summary_of(). The page
// has a matrix: the crashes of each mechanism (target, by room) at each persist point, with
// the outcome. A required point that was not reached is an outcome, too.
#pragma once

#include "crashlab/explore/explorer.hpp"
#include "crashlab/targets/target.hpp"

#include <string>
#include <vector>

namespace hf::lab {

struct campaign_environment {
    std::string compiler;
    std::string processor;
    std::string build;  ///< build type
    std::string seed;
    std::string budget;
    std::string model;
    std::string date;
};

/// Compiler, processor, build and date of this program and machine; the campaign adds the rest.
[[nodiscard]] campaign_environment this_environment();

struct summary_finding {
    std::string what;
    std::string replay;  ///< a command
    std::string point;   ///< persist point at which the crash happened; "" if at none
};

struct target_summary {
    std::string name;
    std::string room;
    std::string what;
    u64 rounds = 0;
    u64 traces = 0;
    u64 events = 0;
    u64 crash_points = 0;
    u64 openings = 0;
    u64 states = 0;
    u64 images = 0;  ///< distinct ones
    u64 nested_traces = 0;
    u64 incomplete = 0;
    double seconds = 0;
    std::vector<std::string> reached;      ///< persist points
    std::vector<std::string> not_reached;  ///< required ones
    std::vector<summary_finding> findings;

    [[nodiscard]] double states_per_second() const noexcept {
        return seconds > 0 ? static_cast<double>(states) / seconds : 0;
    }
};

struct campaign_totals {
    u64 events = 0;
    u64 crash_points = 0;
    u64 openings = 0;
    u64 states = 0;
    u64 images = 0;
    u64 nested_traces = 0;
    double seconds = 0;
    u64 findings = 0;
    u64 points_reached = 0;  ///< distinct ones
    /// Required by a target and reached by none.
    std::vector<std::string> points_missed;
};

struct campaign_report {
    campaign_environment environment;
    std::vector<target_summary> targets;

    [[nodiscard]] campaign_totals totals() const;
};

/// Without findings; add those with their replay line.
[[nodiscard]] target_summary target_summary_of(const target_description& d, const counts& c,
                                               u64 rounds, double seconds);

/// The persist point just after the first crash of a finding; "" if there is none.
[[nodiscard]] std::string point_of(const finding& f, const std::vector<event>& trace);

[[nodiscard]] std::string to_json(const campaign_report& r);
/// A complete HTML page.
[[nodiscard]] std::string to_html(const campaign_report& r);
[[nodiscard]] std::string to_text(const campaign_report& r);

}  // namespace hf::lab
