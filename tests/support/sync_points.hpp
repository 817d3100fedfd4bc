// tests/support/sync_points.hpp: deterministic interleavings of threads.
//
// Purpose. A thread that reaches a persist point (persist/persist_point.hpp) is stopped there until
// the test releases it, so that an event between two lines of code does not depend on timing.
//
//      sync_points points;
//      points.hold("masstree U1");
//      std::thread a([&] { ... });        // reaches the point, and stops
//      points.await("masstree U1");
//      ...                                // the other thread's work
//      points.release("masstree U1");
//
// A point is identified by a prefix of its name. Only the first thread that reaches it is stopped.
// Needs HF_PERSIST_POINTS: `sync_points::exist` is false without it.
#pragma once

#include "persist/persist_point.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace hf::test {

class sync_points {
   public:
#ifdef HF_PERSIST_POINTS
    static constexpr bool exist = true;
#else
    static constexpr bool exist = false;
#endif

    sync_points() {
        current() = this;
        old_ = set_persist_point_hook(&reached);
    }
    sync_points(const sync_points&) = delete;
    sync_points& operator=(const sync_points&) = delete;
    ~sync_points() {
        release_all();
        set_persist_point_hook(old_);
        current() = nullptr;
    }

    /// The next thread that reaches the point stops.
    void hold(const std::string& point) {
        const std::lock_guard guard(mutex_);
        points_[point] = state::awaited;
    }
    /// Waits until a thread is stopped there.
    void await(const std::string& point) {
        std::unique_lock lock(mutex_);
        const bool came = changed_.wait_for(lock, std::chrono::seconds(60),
                                            [&] { return points_[point] == state::held; });
        if (!came) ADD_FAILURE() << "nobody has come to " << point;
    }
    [[nodiscard]] bool is_held(const std::string& point) {
        const std::lock_guard guard(mutex_);
        return points_[point] == state::held;
    }
    void release(const std::string& point) {
        {
            const std::lock_guard guard(mutex_);
            points_[point] = state::gone;
        }
        changed_.notify_all();
    }

   private:
    enum class state { gone, awaited, held };

    static std::atomic<sync_points*>& current() {
        static std::atomic<sync_points*> one{nullptr};
        return one;
    }
    static void reached(const char* name) {
        if (sync_points* const here = current().load()) here->come(name);
    }
    void come(std::string_view name) {
        std::unique_lock lock(mutex_);
        for (auto& [point, what] : points_) {
            if (what != state::awaited || !name.starts_with(point)) continue;
            what = state::held;
            changed_.notify_all();
            changed_.wait(lock, [&w = what] { return w != state::held; });
            return;
        }
    }
    void release_all() {
        {
            const std::lock_guard guard(mutex_);
            for (auto& [point, what] : points_) what = state::gone;
        }
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, state> points_;
    persist_point_hook old_ = nullptr;
};

}  // namespace hf::test
