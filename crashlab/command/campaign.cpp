#include "crashlab/command/campaign.hpp"

#include "base/clock.hpp"
#include "crashlab/explore/guard.hpp"
#include "crashlab/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace hf::lab {
namespace {

double seconds_since(u64 start) { return static_cast<double>(now_ns() - start) * 1e-9; }

void show(const target_result& r, double seconds) {
    fmt::print(
        stderr,
        "\r\033[K{:<18} {:>8.0f} s  {:>5} rounds  {:>12} states  {:>11} images  {:>9.0f} states/s",
        r.target->name, seconds, r.rounds, r.counted.states, r.counted.images.size(),
        r.seconds > 0 ? static_cast<double>(r.counted.states) / r.seconds : 0.0);
    std::fflush(stderr);
}

/// One round of one target, within so many seconds (0: no limit).
void run_round(laboratory& lab, const campaign_options& o, u64 round, double most,
               target_result& r) {
    const u64 start = now_ns();
    const u64 seed = o.seed + round;
    const auto out_of_time = [&] { return most > 0 && seconds_since(start) > most; };
    r.found =
        lab.round(*r.target, limits_of_round(round), r.counted, seed, o.mode, out_of_time, o.trace);
    r.seed_of_finding = seed;
    if (r.found && r.target->disk == nullptr)
        r.point_of_finding = point_of(*r.found, lab.recorded().trace);
    r.seconds += seconds_since(start);
    ++r.rounds;
}

}  // namespace

limits limits_of_round(u64 round) noexcept {
    limits l;
    const u64 factor = std::min<u64>(round + 1, 8);
    l.openings = 8 * factor;
    l.states = 200 * factor;
    l.random_states = 20 * factor;
    l.whole = static_cast<u32>(4 + 2 * round);
    l.nested = 1;
    l.depth = 2;
    l.nested_points = static_cast<u32>(2 + std::min<u64>(round, 6));
    return l;
}

std::vector<target_result> run_campaign(laboratory& lab, const campaign_options& o) {
    std::vector<target_result> results;
    for (const target_description* t : o.targets) results.emplace_back().target = t;
    const u64 start = now_ns();
    bool is_over = false;
    for (u64 round = 0; !is_over && (o.rounds == 0 || round < o.rounds); ++round) {
        is_over = true;
        std::size_t left = results.size();
        for (target_result& r : results) {
            // The first round may take its share of all the time, so that each target has its turn.
            const double rest = o.budget_seconds - seconds_since(start);
            const double most =
                o.budget_seconds == 0 ? 0 : std::max(rest / static_cast<double>(left), 0.01);
            --left;
            if (r.found || (o.budget_seconds != 0 && rest <= 0 && round > 0)) continue;
            run_round(lab, o, round, most, r);
            if (o.live) show(r, seconds_since(start));
            if (was_cut_short()) return results;
            is_over = false;
        }
    }
    return results;
}

}  // namespace hf::lab
