// The campaign's output.
#include "campaign.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace hf::kill_test {

namespace {

double ms(u64 ns) { return static_cast<double>(ns) / 1e6; }

}  // namespace

void campaign::report_begin() const {
    catch_interrupts();
    std::printf(
        "kill-test: seed %llu, %llu cycles, %u writers, %u keys, %s, epochs of %lld to %lld us, in "
        "%s\n",
        static_cast<unsigned long long>(options_.seed),
        static_cast<unsigned long long>(options_.cycles), options_.writers, options_.keys,
        std::string(to_string(options_.kind)).c_str(),
        static_cast<long long>(options_.shortest_epoch.count()),
        static_cast<long long>(options_.longest_epoch.count()), home_.c_str());
    std::fflush(stdout);
}

void campaign::report_violations() {
    counted_.violations += wrongs_.size();
    ++counted_.bad_cycles;
    kept_ = true;
    std::printf("VIOLATION in cycle %llu (epoch numbers from %llu%s):\n",
                static_cast<unsigned long long>(cycle_),
                static_cast<unsigned long long>(map_options_.region.first_epoch),
                map_options_.small_values_in_leaves ? "; small values in leaves" : "");
    constexpr std::size_t most = 12;
    for (std::size_t i = 0; i < std::min(wrongs_.size(), most); ++i) {
        std::printf("    %s\n", wrongs_[i].c_str());
    }
    if (wrongs_.size() > most) std::printf("    ... and %zu more\n", wrongs_.size() - most);
    const u64 first = cycle_ - cycle_ % options_.cycles_per_region;
    std::printf("  region kept: %s\n", place_.c_str());
    std::printf(
        "  replay: hf_kill_test --seed %llu --from %llu --cycles %llu --threads %u --keys %u "
        "--cycles-per-region %llu --storm-every %llu --seconds-per-cycle %g --epoch "
        "%lldus..%lldus%s\n",
        static_cast<unsigned long long>(options_.seed), static_cast<unsigned long long>(first),
        static_cast<unsigned long long>(cycle_ - first + 1), options_.writers, options_.keys,
        static_cast<unsigned long long>(options_.cycles_per_region),
        static_cast<unsigned long long>(options_.storm_every), options_.seconds_per_cycle,
        static_cast<long long>(options_.shortest_epoch.count()),
        static_cast<long long>(options_.longest_epoch.count()), choice_of_region().c_str());
    std::fflush(stdout);
}

/// The arguments that select the region.
std::string campaign::choice_of_region() const {
    if (!is_eager()) {
        if (!options_.small_values) return {};
        return std::string(" --small-values ") + (*options_.small_values ? "always" : "never");
    }
    std::string text = " --discipline eager --index ";
    for (const std::string& one : options_.indexes) {
        if (&one != &options_.indexes.front()) text += ',';
        text += one;
    }
    return text;
}

void campaign::report_progress() {
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    const u64 step = terminal ? 1 : 50;
    if (done_ % step != 0 && done_ != options_.cycles) return;
    std::printf(
        "%scycle %6llu  kills %6llu  (%llu in recovery, %llu in the background pass, %llu "
        "closing)  writes %10llu  lost %8llu%s",
        terminal ? "\r" : "  ", static_cast<unsigned long long>(cycle_),
        static_cast<unsigned long long>(counted_.kills),
        static_cast<unsigned long long>(counted_.opening),
        static_cast<unsigned long long>(counted_.passing),
        static_cast<unsigned long long>(counted_.closing),
        static_cast<unsigned long long>(counted_.writes),
        static_cast<unsigned long long>(counted_.lost),
        terminal && done_ != options_.cycles ? "" : "\n");
    std::fflush(stdout);
}

void campaign::report_end() const {
    std::vector<u64> openings = counted_.openings_ns;
    std::sort(openings.begin(), openings.end());
    if (!openings.empty()) {
        std::printf(
            "openings: %zu that got through, median %.2f ms, longest %.2f ms, at most %llu log "
            "entries applied, at most %llu failed epochs\n",
            openings.size(), ms(openings[openings.size() / 2]), ms(openings.back()),
            static_cast<unsigned long long>(counted_.most_log_entries),
            static_cast<unsigned long long>(counted_.most_failed_epochs));
    }
    std::printf(
        "lost%s: %llu acknowledged writes, at most %llu between two looks; in flight "
        "when "
        "killed: %llu, of which %llu are there\n",
        is_eager() && !is_on_disk() ? "" : " as promised",
        static_cast<unsigned long long>(counted_.lost),
        static_cast<unsigned long long>(counted_.most_lost),
        static_cast<unsigned long long>(counted_.unsettled),
        static_cast<unsigned long long>(counted_.kept_in_flight));
    std::printf("audits of heap and index: %llu; for leaks, after a sweep: %llu\n",
                static_cast<unsigned long long>(counted_.audits),
                static_cast<unsigned long long>(counted_.swept_audits));
    for (const auto& [point, times] : counted_.points) {
        std::printf("  %4llu kills at %s\n", static_cast<unsigned long long>(times), point.c_str());
    }
    if (interrupted()) std::printf("interrupted\n");
    std::printf(
        "kill-test: %llu cycles, %llu kills (%llu in recovery), %llu writes checked, %llu "
        "violations\n",
        static_cast<unsigned long long>(done_), static_cast<unsigned long long>(counted_.kills),
        static_cast<unsigned long long>(counted_.opening + counted_.passing),
        static_cast<unsigned long long>(counted_.writes),
        static_cast<unsigned long long>(counted_.violations));
    std::fflush(stdout);
}

}  // namespace hf::kill_test
