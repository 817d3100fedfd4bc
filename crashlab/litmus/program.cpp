#include "crashlab/litmus/program.hpp"

#include "crashlab/litmus/vector_clock.hpp"

#include <array>
#include <optional>

namespace hf::litmus {
namespace {

/// The locks and the clocks, while a program is being made.
class machine {
   public:
    /// nullopt: the thread cannot take this step now, or it would be a data race.
    [[nodiscard]] std::optional<step> try_step(unsigned thread, action what, unsigned object) {
        vector_clock& now = clocks_[thread];
        ++now[thread];
        lock& l = locks_[object];
        bool possible = true;
        switch (what) {
            case action::lock:
                possible = l.writer == no_thread && l.readers == 0;
                if (possible) {
                    l.writer = thread;
                    join(now, l.written);
                    join(now, l.read);
                }
                break;
            case action::read_lock:
                possible = l.writer == no_thread && (l.readers >> thread & 1U) == 0;
                if (possible) {
                    l.readers |= 1U << thread;
                    join(now, l.written);
                }
                break;
            case action::unlock:
                possible = l.writer == thread;
                if (possible) {
                    l.writer = no_thread;
                    join(l.written, now);
                }
                break;
            case action::read_unlock:
                possible = (l.readers >> thread & 1U) != 0;
                if (possible) {
                    l.readers &= ~(1U << thread);
                    join(l.read, now);
                }
                break;
            case action::post:
                ++l.posts;
                join(l.posted, now);
                break;
            case action::wait:
                possible = l.posts != 0;
                if (possible) {
                    --l.posts;
                    join(now, l.posted);
                }
                break;
            case action::store: {
                last_store& last = stores_[object];
                possible = last.step <= now[last.thread];
                if (possible) last = {thread, now[thread]};
                break;
            }
        }
        if (!possible) return std::nullopt;
        return step{thread, what, object, 0};
    }

   private:
    static constexpr unsigned no_thread = ~0U;
    struct lock {
        unsigned writer = no_thread;
        unsigned readers = 0;
        unsigned posts = 0;
        vector_clock written{};
        vector_clock read{};
        vector_clock posted{};
    };
    struct last_store {
        unsigned thread = 0;
        u64 step = 0;
    };
    std::array<vector_clock, max_threads> clocks_{};
    std::array<lock, max_objects> locks_;
    std::array<last_store, max_variables> stores_{};
};

action draw_action(xoshiro256ss& random) {
    constexpr action drawn[] = {
        action::store,  action::store,     action::lock,        action::lock, action::unlock,
        action::unlock, action::read_lock, action::read_unlock, action::post, action::wait};
    return drawn[random.below(std::size(drawn))];
}

}  // namespace

std::vector<step> random_program(const program_shape& shape, xoshiro256ss& random) {
    std::vector<step> steps;
    machine threads;
    u64 value = 0;
    while (steps.size() < shape.steps) {
        const action what = draw_action(random);
        const auto thread = static_cast<unsigned>(random.below(shape.threads));
        const bool stores = what == action::store;
        const auto object =
            static_cast<unsigned>(random.below(stores ? shape.variables : shape.locks));
        auto next = threads.try_step(thread, what, object);
        if (!next) continue;
        if (stores) next->value = ++value;
        steps.push_back(*next);
    }
    for (unsigned thread = 0; thread < shape.threads; ++thread) {
        for (unsigned object = 0; object < shape.locks; ++object) {
            for (const action what : {action::unlock, action::read_unlock}) {
                if (auto s = threads.try_step(thread, what, object)) steps.push_back(*s);
            }
        }
    }
    return steps;
}

std::string to_string(const std::vector<step>& steps, std::size_t count) {
    constexpr const char* names[] = {"lock", "unlock", "read_lock", "read_unlock",
                                     "post", "wait",   "store"};
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        const step& s = steps[i];
        text += "\n  thread " + std::to_string(s.thread) + " " + names[static_cast<int>(s.what)] +
                " " + std::to_string(s.object);
        if (s.what == action::store) text += " = " + std::to_string(s.value);
    }
    return text;
}

}  // namespace hf::litmus
