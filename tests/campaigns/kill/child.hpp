// tests/campaigns/kill/child.hpp: the process of a session, for its parent.
#pragma once

#include "journal.hpp"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace hf::kill_test {

void sleep_until_ns(u64 deadline);

/// From here on SIGINT and SIGTERM are only recorded.
void catch_interrupts();
[[nodiscard]] bool interrupted();

class child {
   public:
    /// for opening, closing and observing; after that the child hangs
    static constexpr u32 patience_s = 30;
    static constexpr u64 nap_ns = 50'000;

    /// Calls `run` in a new process, which exits with its result, and ends with its parent.
    void start(const std::function<int()>& run);
    [[nodiscard]] bool has_ended();
    void wait_for_end();
    /// Sends SIGKILL if the process runs.
    void kill();

    enum class outcome { reached, ended, hangs };
    /// Waits until the session is in phase `least`. A session that hangs is killed.
    [[nodiscard]] outcome wait_for(const std::atomic<phase>& now, phase least, u32 seconds);

    /// For an ended session: whether it was killed, by its parent or by itself at a persist point.
    [[nodiscard]] bool was_killed(const session_state& session) const;
    [[nodiscard]] bool ended_well() const;
    /// "status 3 while opening", for a session that failed.
    [[nodiscard]] std::string end(const session_state& session) const;

   private:
    pid_t pid_ = -1;
    std::optional<int> status_;
    bool killed_ = false;
};

}  // namespace hf::kill_test
