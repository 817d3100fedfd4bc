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

/// The time limit of one target in one round; 0: unlimited.
class allowance {
   public:
    explicit allowance(double seconds) : seconds_(seconds) {}
    [[nodiscard]] double used() const { return seconds_since(start_); }
    [[nodiscard]] bool is_over() const { return seconds_ > 0 && used() > seconds_; }
    /// Whether this share of the limit is used up.
    [[nodiscard]] bool is_over_share(double share) const {
        return seconds_ > 0 && used() > seconds_ * share;
    }

   private:
    u64 start_ = now_ns();
    double seconds_;
};

void explore_one(laboratory& lab, const campaign_options& o, u64 seed, const limits& most,
                 const std::function<bool()>& out_of_time, target_result& r) {
    r.found = lab.round(*r.target, most, r.counted, seed, o.mode, out_of_time, o.trace);
    r.seed_of_finding = seed;
    if (r.found && r.target->disk == nullptr) {
        r.point_of_finding = point_of(*r.found, lab.recorded().trace);
    }
}

/// One round of one target, within `most` seconds (0: no limit).
void run_round(laboratory& lab, const campaign_options& o, u64 round, double most,
               target_result& r) {
    const allowance time(most);
    const u64 seed = o.seed + round;
    const bool has_schedules = r.target->has_threads && o.schedules != 0 && o.trace.empty();
    const double share = has_schedules ? 0.6 : 1;
    explore_one(lab, o, seed, limits_of_round(round), [&] { return time.is_over_share(share); }, r);
    for (u64 s = 0; has_schedules && s < o.schedules && !r.found && !time.is_over(); ++s) {
        explore_one(
            lab, o, seed_of_schedule(seed, s), limits_of_schedule(s),
            [&] { return time.is_over(); }, r);
    }
    r.seconds += time.used();
    ++r.rounds;
}

/// Required, and reached by no target.
std::vector<std::string> missed_points(const std::vector<target_result>& results) {
    campaign_report all;
    for (const target_result& r : results) {
        all.targets.push_back(target_summary_of(*r.target, r.counted, r.rounds, r.seconds));
    }
    return all.totals().points_missed;
}

bool has_to_reach(const target_result& r, const std::vector<std::string>& points) {
    const auto& own = r.target->points;
    return std::ranges::any_of(
        own, [&](std::string_view p) { return std::ranges::find(points, p) != points.end(); });
}

/// A share of the budget may be too short for the persist points of a target, on a slow machine.
/// The targets that have to reach a missed one get whole rounds then.
void reach_points(laboratory& lab, const campaign_options& o, std::vector<target_result>& results) {
    constexpr u64 whole_rounds = 3;
    for (target_result& r : results) {
        for (u64 i = 0; i < whole_rounds && !r.found; ++i) {
            if (!has_to_reach(r, missed_points(results))) break;
            run_round(lab, o, i, 0, r);
            if (o.live) show(r, r.seconds);
            if (was_cut_short()) return;
        }
    }
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

limits limits_of_schedule(u64 number) noexcept {
    limits l;
    l.openings = 1;
    l.states = 1;
    l.random_states = 0;
    l.whole = 0;
    l.nested = 0;
    l.depth = 0;
    l.behind_ends = number % 2 == 0;
    l.points = l.behind_ends ? 4 : 1;
    return l;
}

// Far from the seeds of the rounds.
u64 seed_of_schedule(u64 seed, u64 number) noexcept { return seed * 1'000'003 + number + 1; }

std::vector<target_result> run_campaign(laboratory& lab, const campaign_options& o) {
    std::vector<target_result> results;
    for (const target_description* t : o.targets) results.emplace_back().target = t;
    const u64 start = now_ns();
    bool is_over = false;
    for (u64 round = 0; !is_over && (o.rounds == 0 || round < o.rounds); ++round) {
        is_over = true;
        std::size_t left = results.size();
        for (target_result& r : results) {
            // In the first round each target gets an equal share of the remaining time.
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
    if (o.budget_seconds != 0 && o.trace.empty()) reach_points(lab, o, results);
    return results;
}

}  // namespace hf::lab
