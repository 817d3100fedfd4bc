// tests/sync_points.hpp: a race, told step by step.
//
// Purpose. A thread that comes to a persist point (persist/persist_point.hpp) is held there until
//  the test lets it go. So "this happens between those two lines" is no matter of luck.
//
//      sync_points points;
//      points.hold("masstree U1");
//      std::thread a([&] { ... });        // comes to the point, and stays
//      points.await("masstree U1");
//      ...                                // what happens meanwhile
//      points.release("masstree U1");
//
// A point is named by the beginning of its name. Only the first thread that comes to it is held.
// Needs HF_PERSIST_POINTS: skip_without_points() says whether there are any.
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

    /// The next thread that comes there stops.
    void hold(const std::string& point) {
        const std::lock_guard guard(mutex_);
        points_[point] = state::awaited;
    }
    /// Until a thread is held there.
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
