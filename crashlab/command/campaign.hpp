// command/campaign.hpp: rounds over targets, until the budget or the rounds are used up.
#pragma once

#include "crashlab/laboratory.hpp"
#include "crashlab/targets/target.hpp"

#include <string>
#include <vector>

namespace hf::lab {

struct campaign_options {
    std::vector<const target_description*> targets;
    double budget_seconds = 0;  ///< 0: rounds alone decide
    u64 rounds = 0;             ///< of each target; 0: the budget alone decides
    u64 seed = 1;
    persistence mode = persistence::pcso;
    u64 schedules = 0;  ///< of a target with threads, a round, besides the one that is explored
    std::string trace;  ///< of a release build, for the first round; empty: the lab's own
    bool live = false;  ///< counters on a terminal
};

/// One target's part.
struct target_result {
    const target_description* target = nullptr;
    counts counted;
    double seconds = 0;
    u64 rounds = 0;
    std::optional<finding> found;
    u64 seed_of_finding = 0;
    std::string point_of_finding;
};

/// The first finding of a target ends that target; others go on, unless the lab was damaged.
[[nodiscard]] std::vector<target_result> run_campaign(laboratory& lab, const campaign_options& o);

/// What is explored in one round: more in each further one.
[[nodiscard]] limits limits_of_round(u64 round) noexcept;

/// For number so-and-so of many schedules: what its threads read, and a crash; of every other one
/// a crash behind the end of an operation, where a read that was too early shows.
[[nodiscard]] limits limits_of_schedule(u64 number) noexcept;
/// The seed of a round's schedule.
[[nodiscard]] u64 seed_of_schedule(u64 seed, u64 number) noexcept;

}  // namespace hf::lab
