#include "heap_campaign.hpp"

#include "base/check.hpp"
#include "base/clock.hpp"
#include "dying.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>

namespace hf::kill_test {

namespace fs = std::filesystem;

namespace {

constexpr u32 quick_crashes = 60;

unsigned long long number(u64 n) { return n; }

}  // namespace

heap_campaign::heap_campaign(campaign_options options) : options_(std::move(options)) {
    options_.writers = std::min(options_.writers, most_writers);
    home_ = options_.directory / ("hf_kill." + std::to_string(getpid()));
    fs::create_directories(home_);
    void* const shared = mmap(nullptr, sizeof(heap_journal), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    HF_CHECK(shared != MAP_FAILED, "cannot map the journal");
    journal_ = ::new (shared) heap_journal;
}

heap_campaign::~heap_campaign() {
    std::error_code ignored;
    const bool evidence = counted_.bad_cycles != 0 && !options_.discard;
    if (!options_.keep && !evidence) fs::remove_all(home_, ignored);
    (void)munmap(journal_, sizeof(heap_journal));
}

bool heap_campaign::run() {
    report_begin();
    for (cycle_ = options_.first_cycle; done_ < options_.cycles && !interrupted(); ++cycle_) {
        random_ = xoshiro256ss(mixed(options_.seed, cycle_));
        if (models_.empty() || cycle_ % options_.cycles_per_region == 0) begin_heap();
        run_cycle();
        ++done_;
        if (!wrongs_.empty()) {
            report_violations();
            models_.clear();  // the next cycle begins with a new heap
            if (counted_.bad_cycles >= options_.give_up_after) break;
        }
        report_progress();
    }
    report_end();
    return counted_.violations == 0;
}

void heap_campaign::begin_heap() {
    std::error_code ignored;
    if (!options_.keep && !place_.empty() && !kept_) fs::remove_all(place_, ignored);
    kept_ = false;
    place_ = home_ / ("cycle" + std::to_string(cycle_));
    fs::create_directories(place_);
    seed_ = random_();
    const auto all = all_engines();
    engine_ = options_.engine.value_or(all[cycle_ / options_.cycles_per_region % all.size()]);
    sessions_ = 0;
    models_.assign(options_.writers, {});
    for (u32 w = 0; w < most_writers; ++w) {
        journal_->returned[w] = 0;
        journal_->settled[w] = 0;
    }
}

heap_plan heap_campaign::next_plan() {
    heap_plan plan;
    plan.file = place_ / "heap.hf";
    plan.number = sessions_;
    plan.seed = seed_;
    plan.writers = options_.writers;
    plan.options.engine = static_cast<nv::engine>(engine_);
    plan.options.region.initial_size = u64{2} << 20;
    plan.options.region.max_size = u64{512} << 20;
    plan.options.region.flush =
        random_.below(2) == 0 ? flush_policy::automatic : flush_policy::always;
    const auto span = options_.longest_epoch - options_.shortest_epoch;
    plan.options.epoch =
        options_.shortest_epoch +
        std::chrono::microseconds(random_.below(static_cast<u64>(span.count()) + 1));
    plan.stops_at_points = has_persist_points() && random_.below(2) == 0;
    return plan;
}

void heap_campaign::run_cycle() {
    wrongs_.clear();
    if (options_.storm_every != 0 && random_.below(options_.storm_every) == 0) storm();
    while (wrongs_.empty() && random_.below(2) == 0) {
        heap_plan plan = next_plan();
        u64 after_us = random_.below(static_cast<u64>(1.3 * usual_opening_us_) + 200);
        if (has_persist_points() && random_.below(2) == 0) {
            plan.stops_at_points = true;
            plan.die_at_point = 1 + static_cast<u32>(random_.below(40));
            after_us += 50'000;
        }
        run_session(plan, ending::while_opening, after_us);
    }
    if (!wrongs_.empty()) return;
    heap_plan plan = next_plan();
    plan.judges = random_.below(3) != 0;
    const u64 drawn = random_.below(100);
    const ending how = drawn < 80 ? ending::at_work : drawn < 90 ? ending::closed : ending::closing;
    if (has_persist_points() && random_.below(3) == 0) {
        plan.stops_at_points = true;
        plan.die_at_point = 1 + static_cast<u32>(random_.below(3'000));
    }
    const u64 mean_us = static_cast<u64>(options_.seconds_per_cycle * 1e6);
    run_session(plan, how,
                random_.below(5) == 0 ? random_.below(5'000) : random_.below(2 * mean_us + 1));
}

/// Dead objects accumulate, and sessions that destroy them are interrupted by the next crash.
void heap_campaign::storm() {
    for (u32 i = 0; i < quick_crashes && wrongs_.empty(); ++i) {
        run_session(next_plan(), ending::at_work, random_.below(2'000));
    }
}

void heap_campaign::run_session(const heap_plan& plan, ending how, u64 after_us) {
    journal_->session.clear();
    journal_->judged = false;
    ++sessions_;
    child_.start([&] { return work_on_heap(plan, *journal_, models_); });
    if (how == ending::while_opening) {
        sleep_until_ns(now_ns() + after_us * 1000);
        child_.kill();
        return end_session(false);
    }
    // Judging takes time, above all with a sanitizer.
    const auto reached =
        child_.wait_for(journal_->session.now, phase::working, 4 * child::patience_s);
    if (reached == child::outcome::hangs) blame("it hangs");
    if (reached == child::outcome::reached) sleep_until_ns(now_ns() + after_us * 1000);
    const bool orderly = reached == child::outcome::reached && how != ending::at_work;
    const bool closed = orderly && end_in_order(how);
    if (!closed) child_.kill();
    end_session(closed);
}

/// False: it is to be killed while it closes.
bool heap_campaign::end_in_order(ending how) {
    journal_->session.shall_close = true;
    if (how == ending::closing) {
        (void)child_.wait_for(journal_->session.now, phase::closing, child::patience_s);
        sleep_until_ns(now_ns() + random_.below(300) * 1000);
        return false;
    }
    const auto reached = child_.wait_for(journal_->session.now, phase::closed, child::patience_s);
    if (reached == child::outcome::hangs) blame("it hangs");
    child_.wait_for_end();
    return true;
}

void heap_campaign::end_session(bool orderly) {
    const session_state& session = journal_->session;
    const phase last = session.now;
    if (session.opened_in_ns != 0) {
        usual_opening_us_ +=
            0.2 * (static_cast<double>(session.opened_in_ns) / 1000 - usual_opening_us_);
        counted_.most_log_records =
            std::max<u64>(counted_.most_log_records, session.log_entries_applied);
    }
    if (child_.was_killed(session)) {
        ++counted_.kills;
        counted_.opening += last == phase::opening ? 1 : 0;
        counted_.looking += last == phase::observing ? 1 : 0;
        counted_.closing += last == phase::closing ? 1 : 0;
        if (session.stopped_itself) ++counted_.points[session.persist_point];
    } else if (child_.ended_well() && last == phase::closed) {
        counted_.closes += orderly ? 1 : 0;
    } else {
        blame("session " + std::to_string(sessions_ - 1) + " ended with " + child_.end(session));
    }
    complaints& heard = journal_->wrongs;
    for (u32 i = 0; i < std::min(heard.count(), complaints::kept); ++i) blame(heard.text(i));
    heard.clear();
    if (journal_->judged) settle();
}

/// Advances the models to the state that the session has verified.
void heap_campaign::settle() {
    ++counted_.looks;
    counted_.most_objects = std::max<u64>(counted_.most_objects, journal_->objects);
    for (u32 w = 0; w < options_.writers; ++w) {
        desk_model& model = models_[w];
        counted_.strokes += journal_->settled[w] - model.done;
        while (model.done < journal_->settled[w]) {
            model.run(stroke_of(seed_, w, model.done + 1));
        }
    }
}

void heap_campaign::report_begin() const {
    catch_interrupts();
    std::printf(
        "kill-test: seed %llu, %llu cycles, %u writers, transaction, epochs of %lld to "
        "%lld us, in %s\n",
        number(options_.seed), number(options_.cycles), options_.writers,
        static_cast<long long>(options_.shortest_epoch.count()),
        static_cast<long long>(options_.longest_epoch.count()), home_.c_str());
    std::fflush(stdout);
}

void heap_campaign::report_violations() {
    counted_.violations += wrongs_.size();
    ++counted_.bad_cycles;
    kept_ = true;
    std::printf("VIOLATION in cycle %llu, engine %s:\n", number(cycle_),
                std::string(to_string(engine_)).c_str());
    for (const std::string& text : wrongs_) std::printf("    %s\n", text.c_str());
    const u64 first = cycle_ - cycle_ % options_.cycles_per_region;
    std::printf("  heap kept: %s\n", place_.c_str());
    std::printf(
        "  replay: hf_kill_test --discipline transaction --seed %llu --from %llu --cycles %llu "
        "--threads %u --cycles-per-region %llu --storm-every %llu --seconds-per-cycle %g --epoch "
        "%lldus..%lldus%s\n",
        number(options_.seed), number(first), number(cycle_ - first + 1), options_.writers,
        number(options_.cycles_per_region), number(options_.storm_every),
        options_.seconds_per_cycle, static_cast<long long>(options_.shortest_epoch.count()),
        static_cast<long long>(options_.longest_epoch.count()),
        options_.engine ? (" --engine " + std::string(to_string(engine_))).c_str() : "");
    std::fflush(stdout);
}

void heap_campaign::report_progress() const {
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    if (done_ % (terminal ? 1 : 50) != 0 && done_ != options_.cycles) return;
    std::printf(
        "%scycle %6llu  kills %6llu  (%llu in recovery, %llu closing)  transactions "
        "%10llu%s",
        terminal ? "\r" : "  ", number(cycle_), number(counted_.kills), number(counted_.opening),
        number(counted_.closing), number(counted_.strokes),
        terminal && done_ != options_.cycles ? "" : "\n");
    std::fflush(stdout);
}

void heap_campaign::report_end() const {
    std::printf(
        "looks at all that was there: %llu, at most %llu objects; at most %llu log records "
        "applied; %llu sessions closed in order\n",
        number(counted_.looks), number(counted_.most_objects), number(counted_.most_log_records),
        number(counted_.closes));
    for (const auto& [point, times] : counted_.points) {
        std::printf("  %4llu kills at %s\n", number(times), point.c_str());
    }
    if (interrupted()) std::printf("interrupted\n");
    std::printf(
        "kill-test: %llu cycles, %llu kills (%llu in recovery), %llu transactions checked, "
        "%llu violations\n",
        number(done_), number(counted_.kills), number(counted_.opening + counted_.looking),
        number(counted_.strokes), number(counted_.violations));
    std::fflush(stdout);
}

}  // namespace hf::kill_test
