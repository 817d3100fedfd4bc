// tests/campaigns/kill/campaign.hpp: starts, kills and judges sessions repeatedly.
//
// A region is used for some cycles. One cycle is
//
//   1 to 3 times  { some sessions killed during recovery; a session that writes, killed or closed }
//   some sessions killed during recovery, or while they are observed
//   an audit of heap and tree; an observer, and the judge
//
// So there are crashes in recovery, several in a row, in the background pass, during creation and
// growth of the file, and while the map closes; and there are writes after a recovery whose result
// only these writes have accessed. Observers use a private copy (open_mode::inspect) or open the
// map as a user does, at random.
#pragma once

#include "base/random.hpp"
#include "child.hpp"
#include "journal.hpp"
#include "judge.hpp"
#include "keys.hpp"
#include "session.hpp"
#include "transaction/engine_kind.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hf::kill_test {

/// The random choices of a cycle.
[[nodiscard]] inline u64 mixed(u64 seed, u64 number) {
    return splitmix64(splitmix64(seed)() + number)();
}

struct campaign_options {
    u64 cycles = 200;
    u64 first_cycle = 0;
    u64 cycles_per_region = 20;
    u64 seed = 0;
    u32 writers = 4;
    u32 keys = 16'000;
    double seconds_per_cycle = 0.15;  ///< mean duration of a session's writes
    std::chrono::microseconds shortest_epoch = std::chrono::milliseconds(1);
    std::chrono::microseconds longest_epoch = std::chrono::milliseconds(20);
    u64 storm_every = 50;  ///< cycles between storms, on average; 0: none
    std::filesystem::path directory;
    discipline kind = discipline::incll;
    std::vector<std::string> indexes;   ///< eager indexes: one for each region, in turn
    std::optional<engine_kind> engine;  ///< heaps; nullopt: each in turn
    std::optional<bool> small_values;   ///< incll: inlined values; nullopt: in every other region
    bool keep = false;
    bool discard = false;
    u64 give_up_after = 5;  ///< cycles with violations
};

class campaign {
   public:
    explicit campaign(campaign_options options);
    ~campaign();
    campaign(const campaign&) = delete;
    campaign& operator=(const campaign&) = delete;

    /// True: no violation.
    [[nodiscard]] bool run();

   private:
    /// How a session ends.
    struct ending {
        enum class kind {
            killed_after_start,
            killed_after_opening,
            killed_after_epoch,  ///< as soon as it has completed an epoch
            closed,
            killed_closing
        };
        kind how = kind::killed_after_start;
        u64 after_us = 0;
    };

    enum class role { writers, observer, auditor };

    [[nodiscard]] bool is_eager() const { return options_.kind == discipline::eager; }
    [[nodiscard]] bool is_on_disk() const;
    void begin_region();
    void choose_epochs();
    [[nodiscard]] bool has_small_values(u64 turn) const;
    void run_cycle();
    void work_for_a_while();
    void interrupt_openings();
    void storm();
    void look_and_judge();
    void hold_court();
    [[nodiscard]] u64 epochs_at_risk() const;
    void audit_region();

    [[nodiscard]] session_plan next_plan();
    void run_session(const session_plan& plan, const ending& end);
    /// True: the observer finished.
    [[nodiscard]] bool run_observer(const session_plan& plan, std::optional<u64> kill_after_us);
    void start(const session_plan& plan, role part);
    /// Waits until the session has reached `least`. False: it has ended, or it hung and was killed.
    [[nodiscard]] bool wait_for(phase least, u32 seconds);
    void wait_for_epoch();
    [[nodiscard]] u64 told() const noexcept;
    void end_session(bool orderly);
    void blame(std::string text);

    [[nodiscard]] std::string choice_of_region() const;
    void report_begin() const;
    void report_violations();
    void report_progress();
    void report_end() const;

    campaign_options options_;
    std::filesystem::path home_;  ///< directory of all regions
    xoshiro256ss random_;
    u64 cycle_ = 0;
    u64 done_ = 0;

    // The current region.
    std::filesystem::path place_;
    std::unique_ptr<key_set> keys_;
    value_maker values_{0};
    std::unique_ptr<journal> journal_;
    std::vector<past_session> sessions_;
    map_options map_options_;
    bool was_open_ = false;
    bool kept_ = false;  ///< the region's files are kept as evidence

    child child_;  ///< the current session

    std::vector<std::string> wrongs_;  ///< of this cycle
    double usual_opening_us_ = 4000;

    struct {
        u64 sessions = 0, kills = 0, opening = 0, passing = 0, closing = 0, closes = 0;
        u64 writes = 0, lost = 0, unsettled = 0, kept_in_flight = 0, most_lost = 0;
        u64 violations = 0, bad_cycles = 0, audits = 0;
        u64 swept_audits = 0;
        u64 most_log_entries = 0, most_failed_epochs = 0;
        std::vector<u64> openings_ns;
        std::map<std::string, u64> points;
    } counted_;
};

}  // namespace hf::kill_test
