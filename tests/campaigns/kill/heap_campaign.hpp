// tests/campaigns/kill/heap_campaign.hpp: the campaign for heaps of objects (discipline
// transaction).
//
// A heap is used for some cycles. One cycle is
//
//   some sessions killed during recovery
//   a session whose threads run transactions, killed or closed; two of three first compare the
//   heap with the models and call check(): no transaction that atomic() had returned from is lost,
//   none is half done, nothing has leaked, no weak pointer leads to a destroyed object
//
// All engines in turn, or one; sometimes a storm of quick crashes. Threads share accounts, and have
// desks of their own (heap_world.hpp).
#pragma once

#include "base/random.hpp"
#include "campaign.hpp"
#include "child.hpp"
#include "heap_session.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hf::kill_test {

class heap_campaign {
   public:
    /// Uses cycles, seed, writers, times, directory and keep of the options.
    explicit heap_campaign(campaign_options options);
    ~heap_campaign();
    heap_campaign(const heap_campaign&) = delete;
    heap_campaign& operator=(const heap_campaign&) = delete;

    /// True: no violation.
    [[nodiscard]] bool run();

   private:
    enum class ending { while_opening, at_work, closed, closing };

    void begin_heap();
    void run_cycle();
    void storm();
    [[nodiscard]] heap_plan next_plan();
    void run_session(const heap_plan& plan, ending how, u64 after_us);
    [[nodiscard]] bool end_in_order(ending how);
    void end_session(bool orderly);
    void settle();
    void blame(std::string text) { wrongs_.push_back(std::move(text)); }
    void report_begin() const;
    void report_violations();
    void report_progress() const;
    void report_end() const;

    campaign_options options_;
    std::filesystem::path home_;
    xoshiro256ss random_;
    u64 cycle_ = 0;
    u64 done_ = 0;
    heap_journal* journal_;

    // The current heap.
    std::filesystem::path place_;
    engine_kind engine_ = engine_kind::redo;
    u64 seed_ = 0;
    u64 sessions_ = 0;
    std::vector<desk_model> models_;
    bool kept_ = false;

    child child_;
    std::vector<std::string> wrongs_;  ///< of this cycle
    double usual_opening_us_ = 3'000;

    struct {
        u64 kills = 0, opening = 0, looking = 0, closing = 0, closes = 0, looks = 0;
        u64 strokes = 0, most_objects = 0, most_log_records = 0;
        u64 violations = 0, bad_cycles = 0;
        std::map<std::string, u64> points;
    } counted_;
};

}  // namespace hf::kill_test
