#include "crashlab/litmus/allowed_states.hpp"

#include "crashlab/litmus/vector_clock.hpp"

#include <algorithm>

namespace hf::litmus {
namespace {

struct unit {
    vector_clock before{};
    bool finished = false;
};

struct placed_store {
    unsigned thread;
    u64 unit;
    unsigned variable;
    u64 value;
};

class execution {
   public:
    void take(const step& s) {
        thread_state& t = threads_[s.thread];
        switch (s.what) {
            case action::lock:
                acquire(s, exclusive_[s.object], &shared_[s.object]);
                ++t.held;
                break;
            case action::read_lock:
                acquire(s, exclusive_[s.object], nullptr);
                ++t.held;
                break;
            case action::unlock:
                join(exclusive_[s.object], t.clock);
                leave(t);
                break;
            case action::read_unlock:
                join(shared_[s.object], t.clock);
                leave(t);
                break;
            case action::post:
                join(semaphores_[s.object], t.clock);
                break;
            case action::wait:
                observe(s.thread, semaphores_[s.object]);
                break;
            case action::store:
                store(s);
                break;
        }
    }

    /// How many units of each thread have finished.
    [[nodiscard]] vector_clock finished() const {
        vector_clock n{};
        for (unsigned t = 0; t < max_threads; ++t) {
            while (n[t] < threads_[t].units.size() && threads_[t].units[n[t]].finished) ++n[t];
        }
        return n;
    }

    [[nodiscard]] std::set<values> states(const vector_clock& least, const values& at_first) const {
        std::set<values> found;
        vector_clock cut = least;
        for (;;) {
            if (is_allowed(cut)) found.insert(state_of(cut, at_first));
            unsigned t = 0;
            while (t < max_threads && cut[t] == threads_[t].units.size()) {
                cut[t] = least[t];
                ++t;
            }
            if (t == max_threads) return found;
            ++cut[t];
        }
    }

   private:
    struct thread_state {
        unsigned held = 0;
        vector_clock clock{};  ///< with the thread's own newest unit
        std::vector<unit> units;
    };

    void begin_unit(unsigned thread) {
        thread_state& t = threads_[thread];
        t.units.push_back({t.clock, false});
        t.clock[thread] = t.units.size();
    }
    void observe(unsigned thread, const vector_clock& other) {
        thread_state& t = threads_[thread];
        join(t.clock, other);
        if (t.held == 0 || t.units.empty()) return;
        join(t.units.back().before, t.clock);
    }
    void acquire(const step& s, const vector_clock& exclusive, const vector_clock* shared) {
        if (threads_[s.thread].held == 0) begin_unit(s.thread);
        // held is counted after this: the unit must take the dependence all the same.
        thread_state& t = threads_[s.thread];
        join(t.clock, exclusive);
        if (shared != nullptr) join(t.clock, *shared);
        join(t.units.back().before, t.clock);
    }
    static void leave(thread_state& t) {
        if (--t.held == 0) t.units.back().finished = true;
    }
    void store(const step& s) {
        thread_state& t = threads_[s.thread];
        const bool alone = t.held == 0;
        if (alone) begin_unit(s.thread);
        stores_.push_back({s.thread, t.units.size(), s.object, s.value});
        if (alone) t.units.back().finished = true;
    }

    [[nodiscard]] bool is_allowed(const vector_clock& cut) const {
        for (unsigned t = 0; t < max_threads; ++t) {
            for (u64 i = 0; i < cut[t]; ++i) {
                const unit& u = threads_[t].units[i];
                if (!u.finished) return false;
                for (unsigned other = 0; other < max_threads; ++other) {
                    if (other != t && u.before[other] > cut[other]) return false;
                }
            }
        }
        return true;
    }
    [[nodiscard]] values state_of(const vector_clock& cut, values v) const {
        for (const placed_store& s : stores_) {
            if (s.unit <= cut[s.thread]) v[s.variable] = s.value;
        }
        return v;
    }

    std::array<thread_state, max_threads> threads_;
    std::array<vector_clock, max_objects> exclusive_{};
    std::array<vector_clock, max_objects> shared_{};
    std::array<vector_clock, max_objects> semaphores_{};
    std::vector<placed_store> stores_;
};

}  // namespace

std::set<values> allowed_states(const std::vector<step>& steps, std::size_t count,
                                const circumstances& with) {
    execution e;
    vector_clock least{};
    for (std::size_t i = 0; i < count; ++i) {
        if (i == with.stable) least = e.finished();
        e.take(steps[i]);
    }
    if (with.stable == count) least = e.finished();
    return e.states(least, with.at_first);
}

values final_state(const std::vector<step>& steps, std::size_t count) {
    values v{};
    for (std::size_t i = 0; i < count; ++i) {
        if (steps[i].what == action::store) v[steps[i].object] = steps[i].value;
    }
    return v;
}

}  // namespace hf::litmus
