// command/campaign.hpp: rounds over targets, until the budget or the rounds are used up.
#pragma once

#include "crashlab/laboratory.hpp"
#include "crashlab/targets/target.hpp"

#include <string>
#include <vector>

namespace hf::lab {

struct campaign_options {
    std::vector<const target_description*> targets;
    /// 0: only `rounds` limits the campaign. Rounds for missed persist points come on top.
    double budget_seconds = 0;
    u64 rounds = 0;  ///< of each target; 0: only the budget limits the campaign
    u64 seed = 1;
    persistence mode = persistence::pcso;
    u64 schedules = 0;  ///< additional schedules in each round of a target with threads
    std::string trace;  ///< a release build's trace, for the first round; empty: the lab's own
    bool live = false;  ///< show counters on a terminal
};

/// The result for one target.
struct target_result {
    const target_description* target = nullptr;
    counts counted;
    double seconds = 0;
    u64 rounds = 0;
    std::optional<finding> found;
    u64 seed_of_finding = 0;
    std::string point_of_finding;
};

/// A finding ends the exploration of its target; others continue, unless the lab was damaged.
[[nodiscard]] std::vector<target_result> run_campaign(laboratory& lab, const campaign_options& o);

/// The limits for one round; they grow from round to round.
[[nodiscard]] limits limits_of_round(u64 round) noexcept;

/// The limits for additional schedule `number`: check the reads of its threads, and one crash. In
/// every other schedule the crash comes after the end of an operation, where a premature read
/// shows.
[[nodiscard]] limits limits_of_schedule(u64 number) noexcept;
/// The seed of a round's schedule.
[[nodiscard]] u64 seed_of_schedule(u64 seed, u64 number) noexcept;

}  // namespace hf::lab
