#include "crashlab/targets/section/graph/section_graph_cases.hpp"

#include "crashlab/litmus/allowed_states.hpp"
#include "crashlab/targets/section/graph/graph_machines.hpp"
#include "crashlab/targets/section/graph/graph_prefix_case.hpp"

#include <array>
#include <memory>
#include <set>
#include <string>

namespace hf::lab {
namespace {

using graph::access;
using litmus::action;
using litmus::step;
using litmus::values;

using opening = std::unique_ptr<graph_machine> (*)();

constexpr u64 stable_marks = 5000;  ///< operations from here on: "the first n steps are stable"
constexpr u64 numbers_of_a_run = 10'000;
constexpr unsigned max_threads = graph_threads;

/// A program, how far it came, and what its variables held before it.
class program_session {
   public:
    explicit program_session(opening how) : opening_(how) {}
    void open() { machine_ = opening_(); }
    /// Each lane has its log then, and the root is stable.
    void attach() {
        for (unsigned t = 0; t < max_threads; ++t) machine_->wait_stable(t);
    }
    void crash() {
        if (machine_ == nullptr) return;
        machine_->crash();
        machine_.reset();
    }
    [[nodiscard]] program_session next() const {
        program_session s(opening_);
        s.at_first_ = at_first_;
        s.steps_ = steps_;
        s.base_ = base_;
        s.is_recovered_ = is_recovered_;
        s.allowed_at_first_ = allowed_at_first_;
        return s;
    }

    void run(const std::vector<step>& steps, splitmix64* stepping) {
        steps_ = steps;
        held_ = {};
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            begin_operation(base_ + i);
            take(steps_[i]);
            end_operation(base_ + i);
            if (stepping != nullptr && (*stepping)() % 3 == 0) machine_->step();
            if (held_ == std::array<unsigned, max_threads>{} && i % 2 == 1) wait_stable(i + 1);
        }
    }
    /// Judges what recovery left, and goes on from there with no program. A recovery that was
    /// itself cut short has promised nothing: then the states are allowed that were before it.
    void adopt(const promised& all) {
        if (is_recovered_ && !all.has_returned(base_ - 1)) {
            judge(allowed_at_first_, "of an earlier crash");
        } else {
            allowed_at_first_ = states_allowed_by(all);
            judge(allowed_at_first_, litmus::to_string(steps_, steps_.size()));
        }
        machine_->audit();
        at_first_ = state();
        steps_.clear();
        is_recovered_ = true;
        base_ += numbers_of_a_run;
        begin_operation(base_ - 1);
        end_operation(base_ - 1);
    }

    [[nodiscard]] std::set<values> states_allowed_by(const promised& all) const {
        std::size_t begun = 0;
        litmus::circumstances with{at_first_, 0};
        for (std::size_t i = 0; i < steps_.size() && all.has_begun(base_ + i); ++i) begun = i + 1;
        for (std::size_t n = 0; n <= begun; ++n) {
            if (all.has_returned(base_ + stable_marks + n)) with.stable = n;
        }
        auto allowed = litmus::allowed_states(steps_, begun, with);
        // The last step may not have happened.
        if (begun > with.stable) allowed.merge(litmus::allowed_states(steps_, begun - 1, with));
        return allowed;
    }
    void judge(const std::set<values>& allowed, const std::string& steps) const {
        const values found = state();
        if (allowed.contains(found)) return;
        throw violation("the variables hold " + text(found) + ", which no consistent cut has," +
                        steps);
    }
    void check(unsigned variable) const {
        if (state()[variable] == at_first_[variable]) return;
        throw violation("variable " + std::to_string(variable) + " has changed after recovery");
    }
    [[nodiscard]] values state() const {
        values v;
        for (unsigned i = 0; i < litmus::max_variables; ++i) v[i] = machine_->variable(i);
        return v;
    }

   private:
    static std::string text(const values& v) {
        std::string s;
        for (const u64 one : v) s += (s.empty() ? "" : ", ") + std::to_string(one);
        return s;
    }
    void lock(const step& s, access how) {
        if (held_[s.thread]++ == 0) machine_->begin(s.thread);
        machine_->acquired(s.thread, &locks_[s.object], how);
    }
    void unlock(const step& s, access how) {
        machine_->releasing(s.thread, &locks_[s.object], how);
        if (--held_[s.thread] == 0) machine_->end(s.thread);
    }
    void take(const step& s) {
        switch (s.what) {
            case action::lock:
                return lock(s, access::exclusive);
            case action::unlock:
                return unlock(s, access::exclusive);
            case action::read_lock:
                return lock(s, access::shared);
            case action::read_unlock:
                return unlock(s, access::shared);
            case action::post:
                return machine_->releasing(s.thread, &semaphores_[s.object], access::shared);
            case action::wait:
                return machine_->acquired(s.thread, &semaphores_[s.object], access::exclusive);
            case action::store:
                return machine_->store(s.thread, s.object, s.value);
        }
    }
    void wait_stable(std::size_t steps) {
        begin_operation(base_ + stable_marks + steps);
        for (unsigned t = 0; t < max_threads; ++t) {
            machine_->wait_stable(t);
        }
        end_operation(base_ + stable_marks + steps);
    }

    opening opening_;
    std::unique_ptr<graph_machine> machine_;
    values at_first_{};
    std::set<values> allowed_at_first_;  ///< that this session's recovery may have left
    bool is_recovered_ = false;          ///< it began with a recovery
    std::vector<step> steps_;
    u64 base_ = 2;
    std::array<unsigned, max_threads> held_{};
    std::array<char, litmus::max_objects> locks_{};
    std::array<char, litmus::max_objects> semaphores_{};
};

class program_survivor final : public survivor {
   public:
    program_survivor(program_session s, const promised& all) : session_(std::move(s)) {
        session_.open();
        session_.adopt(all);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<program_survivor>(session_.next(), all);
    }
    [[nodiscard]] unsigned questions() const override { return litmus::max_variables; }
    void ask(unsigned number) override { session_.check(number); }
    void inspect() override {
        for (unsigned i = 0; i < litmus::max_variables; ++i) session_.check(i);
    }
    void work_on() override {
        static const std::vector<step> more{{0, action::lock, 0},       {0, action::store, 0, 901},
                                            {1, action::lock, 1},       {1, action::store, 1, 902},
                                            {0, action::unlock, 0},     {1, action::lock, 0},
                                            {1, action::store, 0, 903}, {1, action::unlock, 0},
                                            {1, action::unlock, 1},     {0, action::store, 2, 904}};
        session_.run(more, nullptr);
        if (session_.state()[0] != 903) throw violation("a store after recovery was lost");
    }

   private:
    program_session session_;
};

struct program_case {
    std::string_view name;
    std::string_view what;
    std::vector<step> steps;  ///< none: random ones, of the seed
    opening how = open_graph_library;
    void (*before)() = nullptr;  ///< makes the file; then run() opens it
};

class program_target final : public target {
   public:
    program_target(const program_case& c, u64 seed) : case_(c), random_(seed), session_(c.how) {}
    void prepare() override {
        if (case_.before != nullptr) return case_.before();
        session_.open();
        session_.attach();
    }
    void run() override {
        if (case_.before != nullptr) session_.open();
        session_.run(steps(), &random_);
    }
    void crash() override { session_.crash(); }
    std::unique_ptr<survivor> recover_after(const promised& all) override {
        return std::make_unique<program_survivor>(session_.next(), all);
    }

   private:
    [[nodiscard]] std::vector<step> steps() {
        if (!case_.steps.empty()) return case_.steps;
        xoshiro256ss drawn(random_());
        return litmus::random_program({max_threads, 2, litmus::max_variables, 14}, drawn);
    }

    const program_case& case_;
    splitmix64 random_;
    program_session session_;
};

const std::vector<program_case>& cases() {
    using enum action;
    static const std::vector<program_case> all{
        {"section_graph.figure_2",
         "figure 2 of the paper: an inner section of a running one is read",
         {{1, lock, 0},
          {1, lock, 1},
          {1, store, 1, 1},
          {1, unlock, 1},
          {0, lock, 1},
          {0, store, 0, 1},
          {0, unlock, 1},
          {1, store, 1, 2},
          {1, unlock, 0}}},
        {"section_graph.figure_3",
         "figure 3 of the paper: order through sections without stores",
         {{2, lock, 3},
          {2, lock, 2},
          {2, store, 2, 1},
          {2, unlock, 2},
          {1, lock, 2},
          {1, store, 3, 1},
          {1, unlock, 2},
          {1, store, 0, 1},
          {1, lock, 0},
          {1, unlock, 0},
          {0, lock, 0},
          {0, unlock, 0},
          {0, store, 1, 1},
          {2, unlock, 3}}},
        {"section_graph.outside",
         "stores outside of sections, with and without an undo entry",
         {{0, store, 0, 1},
          {0, lock, 0},
          {0, store, 1, 2},
          {0, unlock, 0},
          {0, store, 0, 3},
          {0, post, 0},
          {1, wait, 0},
          {1, lock, 1},
          {1, store, 2, 4},
          {1, unlock, 1},
          {0, store, 0, 5},
          {0, post, 1},
          {2, wait, 1},
          {2, store, 3, 6}}},
        {"section_graph.random", "random race-free programs of three threads", {}},
        {"section_graph.runtime",
         "the same in a group of regions, as the section runtime opens it",
         {},
         open_graph_group},
        {"section_graph.mode_switch",
         "a group that epoch mode has closed is opened in graph mode",
         {{0, lock, 0}, {0, store, 0, 1}, {0, unlock, 0}, {1, lock, 0}, {1, store, 1, 2}},
         open_graph_group,
         make_closed_epoch_group},
    };
    return all;
}

}  // namespace

const std::vector<target_description>& section_graph_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        for (const program_case& c : cases()) {
            found.push_back(
                {c.name,
                 "section/graph",
                 c.what,
                 [&c](u64 seed) { return std::make_unique<program_target>(c, seed); },
                 {"section_graph G1: undo entry durable before the store",
                  "section_graph G2: a section's stores durable before its end entry",
                  "section_graph G3: entries of a cut durable before the heads",
                  "section_graph G4: heads durable before their space is used again",
                  "section_graph G5: restored bytes durable before the session's number",
                  "section_graph G6: session number durable before its first log"}});
        }
        for (target_description& d : found) {
            if (d.name == "section_graph.mode_switch") {
                d.points = {
                    "section T3: the mode is durable before the session begins",
                    "section_graph G8: logs of a clean file are empty before it counts as open"};
            }
            if (d.name != "section_graph.outside") continue;
            d.points.push_back(
                "section_graph G7: a store without an entry durable before the next");
        }
        found.push_back(graph_prefix_case());
        return found;
    }();
    return all;
}

}  // namespace hf::lab
