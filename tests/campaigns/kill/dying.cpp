#include "dying.hpp"

#include "base/clock.hpp"
#include "base/random.hpp"
#include "persist/persist_point.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace hf::kill_test {

namespace {

session_state* dying = nullptr;
std::atomic<u32> points_left{0};

void at_persist_point(const char* name) {
    if (points_left.load() != 0 && points_left.fetch_sub(1) == 1) {
        std::string_view(name).copy(dying->persist_point, sizeof(dying->persist_point) - 1);
        dying->stopped_itself = true;
        (void)kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    thread_local splitmix64 random(now_ns());
    if (random() % 32 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
    }
}

}  // namespace

bool has_persist_points() noexcept {
#ifdef HF_PERSIST_POINTS
    return true;
#else
    return false;
#endif
}

void stop_at_points(session_state& session, u32 n) {
    dying = &session;
    points_left = n;
    (void)set_persist_point_hook(at_persist_point);
}

}  // namespace hf::kill_test
