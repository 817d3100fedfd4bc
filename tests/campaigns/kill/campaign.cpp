#include "campaign.hpp"

#include "dying.hpp"
#include "index/masstree/inlined/log.hpp"
#include "persist/detect.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace hf::kill_test {

namespace fs = std::filesystem;

namespace {

constexpr u32 records_per_writer = 400'000;

}  // namespace

campaign::campaign(campaign_options options) : options_(std::move(options)) {
    home_ = options_.directory / ("hf_kill." + std::to_string(getpid()));
    fs::create_directories(home_);
}

campaign::~campaign() {
    std::error_code ignored;
    const bool evidence = counted_.bad_cycles != 0 && !options_.discard;
    if (!options_.keep && !evidence) fs::remove_all(home_, ignored);
}

bool campaign::run() {
    report_begin();
    for (cycle_ = options_.first_cycle; done_ < options_.cycles && !interrupted(); ++cycle_) {
        random_ = xoshiro256ss(mixed(options_.seed, cycle_));
        if (journal_ == nullptr || cycle_ % options_.cycles_per_region == 0) begin_region();
        run_cycle();
        ++done_;
        if (!wrongs_.empty()) {
            report_violations();
            journal_.reset();  // the next cycle begins with a new region
            if (counted_.bad_cycles >= options_.give_up_after) break;
        }
        report_progress();
    }
    report_end();
    return counted_.violations == 0;
}

void campaign::begin_region() {
    std::error_code ignored;
    if (!options_.keep && !place_.empty() && !kept_) fs::remove_all(place_, ignored);
    kept_ = false;
    place_ = home_ / ("cycle" + std::to_string(cycle_));
    fs::create_directories(place_);
    const u64 seed = random_();
    keys_ = std::make_unique<key_set>(seed, options_.keys, options_.writers);
    values_ = value_maker(seed);
    journal_ = std::make_unique<journal>(options_.writers, keys_->size(), records_per_writer);
    sessions_.clear();
    was_open_ = false;

    map_options_ = {};
    map_options_.kind = options_.kind;
    const u64 turn = cycle_ / options_.cycles_per_region;
    map_options_.small_values_in_leaves = has_small_values(turn);
    if (is_eager()) {
        map_options_.index = options_.indexes[turn % options_.indexes.size()];
    }
    if (!is_eager() || is_on_disk()) choose_epochs();
    map_options_.region.initial_size = u64{16} << 20 << random_.below(3);
}

/// The seed decides the kind of the first region.
bool campaign::has_small_values(u64 turn) const {
    return !is_eager() && options_.small_values.value_or((turn + options_.seed) % 2 == 0);
}

void campaign::choose_epochs() {
    // Epoch numbers at which a field wraps around: in leaves of both kinds, in compact cells, at a
    // due refresh.
    constexpr u64 ends[] = {0,
                            0,
                            u64{1} << 16,
                            u64{1} << masstree_detail::inlined::epoch_bits,
                            u64{1} << 32,
                            u64{1} << 33,
                            u64{1} << 36};
    const u64 end = ends[random_.below(std::size(ends))];
    map_options_.region.first_epoch = end == 0 ? 1 : end - 1 - random_.below(100);
}

void campaign::run_cycle() {
    wrongs_.clear();
    if (options_.storm_every != 0 && random_.below(options_.storm_every) == 0) storm();
    for (u64 n = 1 + (random_.below(4) == 0 ? random_.below(3) : 0); n > 0; --n) {
        interrupt_openings();
        work_for_a_while();
        if (!wrongs_.empty()) return;
    }
    interrupt_openings();
    if (wrongs_.empty() && was_open_ && random_.below(2) == 0) audit_region();
    if (wrongs_.empty()) look_and_judge();
}

session_plan campaign::next_plan() {
    session_plan plan;
    plan.region = place_ / "region.hf";
    plan.number = static_cast<u32>(sessions_.size());
    plan.seed = random_();
    plan.options = map_options_;
    const auto span = options_.longest_epoch - options_.shortest_epoch;
    plan.options.epoch =
        options_.shortest_epoch +
        std::chrono::microseconds(random_.below(static_cast<u64>(span.count()) + 1));
    plan.options.region.flush =
        random_.below(2) == 0 ? flush_policy::automatic : flush_policy::always;
    plan.stops_at_points = has_persist_points() && random_.below(2) == 0;
    return plan;
}

void campaign::work_for_a_while() {
    session_plan plan = next_plan();
    ending end;
    const u64 drawn = random_.below(100);
    end.how = drawn < 80   ? ending::kind::killed_after_opening
              : drawn < 90 ? ending::kind::closed
                           : ending::kind::killed_closing;
    const u64 mean_us = static_cast<u64>(options_.seconds_per_cycle * 1e6);
    end.after_us = random_.below(2 * mean_us + 1);
    // A short session ends while the background pass works.
    if (random_.below(5) == 0) end.after_us = random_.below(5000);
    if (has_persist_points() && random_.below(3) == 0) {
        plan.stops_at_points = true;
        plan.die_at_point = 1 + static_cast<u32>(random_.below(3000));
    }
    run_session(plan, end);
}

/// A sequence of quick crashes. For an eager map they come during the sweep; otherwise each comes
/// as soon as one epoch has completed, so that in a large region more epochs fail than the
/// superblock has room for.
void campaign::storm() {
    constexpr u32 crashes = 250;
    for (u32 i = 0; i < crashes && wrongs_.empty(); ++i) {
        session_plan plan = next_plan();
        plan.options.epoch = options_.shortest_epoch;
        ending end;
        end.how =
            is_eager() ? ending::kind::killed_after_opening : ending::kind::killed_after_epoch;
        end.after_us = random_.below(2000);
        run_session(plan, end);
    }
}

/// With probability one half, kills the session during recovery, possibly several times.
void campaign::interrupt_openings() {
    while (wrongs_.empty() && random_.below(2) == 0) {
        session_plan plan = next_plan();
        ending end;
        end.after_us = random_.below(static_cast<u64>(1.3 * usual_opening_us_) + 200);
        if (has_persist_points() && random_.below(2) == 0) {
            plan.stops_at_points = true;
            plan.die_at_point = 1 + static_cast<u32>(random_.below(40));
            end.after_us += 50'000;
        }
        run_session(plan, end);
    }
}

void campaign::look_and_judge() {
    for (;;) {
        session_plan plan = next_plan();
        const bool inspects = was_open_ && random_.below(2) == 0;
        if (inspects) plan.options.region.mode = open_mode::inspect;
        std::optional<u64> kill_after_us;
        if (!inspects) {
            // The observer's open() changes the file; a copy of the original is kept for the
            // analysis.
            std::error_code ignored;
            for (const char* const part : {"", ".journal"}) {
                fs::copy_file(plan.region.string() + part, (place_ / "crashed.hf").string() + part,
                              fs::copy_options::overwrite_existing, ignored);
            }
            if (random_.below(4) == 0) kill_after_us = random_.below(30'000);
        }
        const bool seen = run_observer(plan, kill_after_us);
        if (!wrongs_.empty()) return;
        if (seen) return hold_court();
    }
}

bool campaign::is_on_disk() const {
    const int fd = ::open(home_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::string type = file_system_name(fd);
    ::close(fd);
    return type != "tmpfs";
}

/// The number of epochs that a crash may lose on the medium of the regions.
u64 campaign::epochs_at_risk() const { return is_on_disk() ? 3 : 1; }

void campaign::hold_court() {
    const u32 keys = keys_->size();
    case_file all{journal_->known(),
                  journal_->observed(),
                  histories(*journal_),
                  sessions_,
                  [this](u32 key) { return printable((*keys_)[key]); },
                  epochs_at_risk()};
    std::vector<key_state> settled(keys);
    verdict v = judge(all, values_, settled.data());
    for (std::string& text : v.violations) blame(std::move(text));
    std::copy(settled.begin(), settled.end(), journal_->known());
    for (u32 w = 0; w < journal_->writers(); ++w) journal_->writer(w).records = 0;
    counted_.writes += v.writes;
    counted_.lost += v.lost;
    counted_.most_lost = std::max(counted_.most_lost, v.lost);
    counted_.unsettled += v.unsettled;
    counted_.kept_in_flight += v.kept_in_flight;
    // No write of these sessions is left to judge, but later epochs must have greater numbers.
    for (const auto& of_key : all.history) {
        for (const past_write& w : of_key) {
            if (w.ticket != in_flight) {
                sessions_[w.session].told = std::max(sessions_[w.session].told, w.ticket);
            }
        }
    }
}

}  // namespace hf::kill_test
