#include "child.hpp"

#include "base/check.hpp"
#include "base/clock.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace hf::kill_test {

namespace {

volatile std::sig_atomic_t interrupts = 0;

void count_interrupt(int) { interrupts = interrupts + 1; }

}  // namespace

void sleep_until_ns(u64 deadline) {
    const timespec t{static_cast<std::time_t>(deadline / 1'000'000'000),
                     static_cast<long>(deadline % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
    }
}

void catch_interrupts() {
    struct sigaction action{};
    action.sa_handler = count_interrupt;
    (void)sigaction(SIGINT, &action, nullptr);
    (void)sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return interrupts != 0; }

void child::start(const std::function<int()>& run) {
    status_.reset();
    killed_ = false;
    const pid_t parent = getpid();
    pid_ = fork();
    HF_CHECK(pid_ >= 0, "cannot fork");
    if (pid_ > 0) return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    _exit(run());
}

bool child::has_ended() {
    if (status_) return true;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    return status_.has_value();
}

void child::wait_for_end() {
    while (!has_ended()) sleep_until_ns(now_ns() + nap_ns);
}

void child::kill() {
    if (has_ended()) return;
    (void)::kill(pid_, SIGKILL);
    killed_ = true;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = status;
}

/// Counts naps instead of time, so that a suspended machine does not look like a hang.
child::outcome child::wait_for(const std::atomic<phase>& now, phase least, u32 seconds) {
    u64 naps = u64{seconds} * 1'000'000'000 / nap_ns;
    while (now.load() < least) {
        if (has_ended()) return now.load() >= least ? outcome::reached : outcome::ended;
        if (naps-- == 0) {
            kill();
            return outcome::hangs;
        }
        sleep_until_ns(now_ns() + nap_ns);
    }
    return outcome::reached;
}

bool child::was_killed(const session_state& session) const {
    return WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL &&
           (killed_ || session.stopped_itself);
}

bool child::ended_well() const { return WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0; }

std::string child::end(const session_state& session) const {
    const std::string how = WIFEXITED(*status_) ? "status " + std::to_string(WEXITSTATUS(*status_))
                                                : "signal " + std::to_string(WTERMSIG(*status_));
    return how + " while " + std::string(to_string(session.now));
}

}  // namespace hf::kill_test
