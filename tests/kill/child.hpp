// tests/kill/child.hpp: the process of a session, as its parent sees it.
#pragma once

#include "journal.hpp"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace hf::kill_test {

void sleep_until_ns(u64 deadline);

/// SIGINT and SIGTERM are noted from here on, and end nothing by themselves.
void catch_interrupts();
[[nodiscard]] bool interrupted();

class child {
   public:
    static constexpr u32 patience_s = 30;  ///< of an opening, a close, a look: then it hangs
    static constexpr u64 nap_ns = 50'000;

    /// `run` in a new process, which ends with what it returns, and with its parent.
    void start(const std::function<int()>& run);
    [[nodiscard]] bool has_ended();
    void wait_for_end();
    /// By SIGKILL, if it is there yet.
    void kill();

    enum class outcome { reached, ended, hangs };
    /// Until the session is in phase `least`. One that hangs is killed.
    [[nodiscard]] outcome wait_for(const std::atomic<phase>& now, phase least, u32 seconds);

    /// Of one that has ended: whether a kill did that, its parent's or its own at a persist point.
    [[nodiscard]] bool was_killed(const session_state& session) const;
    [[nodiscard]] bool ended_well() const;
    /// "status 3 while opening", of one that ended otherwise.
    [[nodiscard]] std::string end(const session_state& session) const;

   private:
    pid_t pid_ = -1;
    std::optional<int> status_;
    bool killed_ = false;
};

}  // namespace hf::kill_test
