// The part of the campaign that deals with processes.
#include "base/check.hpp"
#include "base/clock.hpp"
#include "campaign.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace hf::kill_test {

namespace {

constexpr u64 nap_ns = 50'000;
constexpr u32 patience_s = 30;  ///< of an opening, a close, a look at everything: then it hangs

}  // namespace

pid_t campaign::start(const session_plan& plan, role part) {
    session_state& session = journal_->session();
    session.now = phase::starting;
    session.shall_close = false;
    session.background_pass = false;
    session.opened_in_ns = 0;
    session.log_entries_applied = 0;
    session.failed_epochs = 0;
    session.stopped_itself = false;
    session.audited = false;
    std::fill_n(session.persist_point, sizeof(session.persist_point), '\0');
    for (u32 w = 0; w < journal_->writers(); ++w) journal_->writer(w).told = 0;
    sessions_.emplace_back();
    status_.reset();
    killed_ = false;
    ++counted_.sessions;

    const pid_t parent = getpid();
    const pid_t pid = fork();
    HF_CHECK(pid >= 0, "cannot fork");
    if (pid > 0) return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    switch (part) {
        case role::writers:
            _exit(work(plan, *journal_, *keys_, values_));
        case role::observer:
            _exit(look(plan, *journal_, *keys_));
        case role::auditor:
            _exit(audit(plan, *journal_));
    }
    _exit(2);
}

void campaign::run_session(const session_plan& plan, const ending& end) {
    using kind = ending::kind;
    session_plan timed = plan;
    timed.started_at_ns = now_ns();
    pid_ = start(timed, role::writers);
    if (end.how == kind::killed_after_start) {
        sleep_until_ns(timed.started_at_ns + end.after_us * 1000);
        kill_session();
        return end_session(false);
    }
    bool alive = wait_for(phase::working, patience_s);
    if (end.how == kind::killed_after_epoch) {
        wait_for_epoch();
        kill_session();
        return end_session(false);
    }
    if (alive) sleep_until_ns(now_ns() + end.after_us * 1000);
    if (end.how == kind::killed_after_opening) {
        kill_session();
        return end_session(false);
    }
    journal_->session().shall_close = true;
    if (end.how == kind::killed_closing && alive && wait_for(phase::closing, patience_s)) {
        sleep_until_ns(now_ns() + random_.below(300) * 1000);
        kill_session();
        return end_session(false);
    }
    alive = alive && wait_for(phase::closed, patience_s);
    if (alive) wait_for_end();
    end_session(true);
}

bool campaign::run_observer(const session_plan& plan, std::optional<u64> kill_after_us) {
    session_plan timed = plan;
    timed.started_at_ns = now_ns();
    const bool inspects = plan.options.region.mode == open_mode::inspect;
    pid_ = start(timed, role::observer);
    if (kill_after_us) {
        sleep_until_ns(timed.started_at_ns + *kill_after_us * 1000);
        kill_session();
        end_session(false);
        const phase last = journal_->session().now;
        return last == phase::observed;
    }
    const bool seen = wait_for(inspects ? phase::closed : phase::observed, 2 * patience_s);
    const bool orderly = inspects || random_.below(3) == 0;
    if (orderly) {
        journal_->session().shall_close = true;
        if (seen && wait_for(phase::closed, patience_s)) wait_for_end();
    } else {
        kill_session();
    }
    end_session(orderly);
    // An inspection changes nothing: as a session of the region it never was.
    if (inspects) sessions_.pop_back();
    return seen;
}

void campaign::audit_region() {
    pid_ = start(next_plan(), role::auditor);
    if (wait_for(phase::closed, patience_s)) wait_for_end();
    end_session(true);
    sessions_.pop_back();  // it changed nothing
    ++counted_.audits;
}

void campaign::wait_for_epoch() {
    u64 first = 0;
    for (u64 waited = 0; waited < 20'000 && !has_ended(); ++waited) {
        const u64 now = told();
        if (first == 0) first = now;
        if (now > first) return;
        sleep_until_ns(now_ns() + nap_ns);
    }
}

/// The newest epoch that the session's map has called durable.
u64 campaign::told() const noexcept {
    u64 newest = 0;
    for (u32 w = 0; w < journal_->writers(); ++w) {
        newest = std::max<u64>(newest, journal_->writer(w).told);
    }
    return newest;
}

void campaign::wait_for_end() {
    while (!has_ended()) sleep_until_ns(now_ns() + nap_ns);
}

bool campaign::has_ended() {
    if (status_) return true;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    return status_.has_value();
}

/// Naps are counted, not time: on a machine that was suspended, nobody hangs.
bool campaign::wait_for(phase least, u32 seconds) {
    u64 naps = u64{seconds} * 1'000'000'000 / nap_ns;
    while (journal_->session().now.load() < least) {
        if (has_ended()) return journal_->session().now.load() >= least;
        if (naps-- == 0) {
            blame("session " + std::to_string(sessions_.size() - 1) + " hangs while " +
                  std::string(to_string(journal_->session().now)));
            kill_session();
            return false;
        }
        sleep_until_ns(now_ns() + nap_ns);
    }
    return true;
}

void campaign::sleep_until_ns(u64 deadline) {
    const timespec t{static_cast<std::time_t>(deadline / 1'000'000'000),
                     static_cast<long>(deadline % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
    }
}

void campaign::kill_session() {
    if (has_ended()) return;
    (void)kill(pid_, SIGKILL);
    killed_ = true;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = status;
}

/// Takes stock of a session whose process is gone.
void campaign::end_session(bool orderly) {
    session_state& session = journal_->session();
    past_session& past = sessions_.back();
    const std::string name = "session " + std::to_string(sessions_.size() - 1);
    past.told = told();
    const phase last = session.now;
    if (last > phase::opening && session.opened_in_ns != 0) {
        was_open_ = true;
        const double took_us = static_cast<double>(session.opened_in_ns) / 1000;
        usual_opening_us_ += 0.2 * (took_us - usual_opening_us_);
        counted_.openings_ns.push_back(session.opened_in_ns);
        counted_.most_log_entries =
            std::max<u64>(counted_.most_log_entries, session.log_entries_applied);
        counted_.most_failed_epochs =
            std::max<u64>(counted_.most_failed_epochs, session.failed_epochs);
    }
    past.closed = last == phase::closed;
    counted_.swept_audits += session.audited ? 1 : 0;

    const bool by_kill = WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL;
    if (by_kill && (killed_ || session.stopped_itself)) {
        ++counted_.kills;
        counted_.opening += last == phase::opening ? 1 : 0;
        counted_.closing += last == phase::closing ? 1 : 0;
        counted_.passing += last > phase::opening && session.background_pass ? 1 : 0;
        if (session.stopped_itself) ++counted_.points[session.persist_point];
    } else if (WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0 && past.closed) {
        counted_.closes += orderly ? 1 : 0;
    } else if (WIFEXITED(*status_)) {
        blame(name + " ended with status " + std::to_string(WEXITSTATUS(*status_)) + " while " +
              std::string(to_string(last)));
    } else {
        blame(name + " was ended by signal " + std::to_string(WTERMSIG(*status_)) + " while " +
              std::string(to_string(last)));
    }
    complaints& heard = journal_->wrongs();
    for (u32 i = 0; i < std::min(heard.count(), complaints::kept); ++i) blame(heard.text(i));
    if (heard.count() > complaints::kept) {
        blame("and " + std::to_string(heard.count() - complaints::kept) + " complaints more");
    }
    heard.clear();
}

void campaign::blame(std::string text) { wrongs_.push_back(std::move(text)); }

}  // namespace hf::kill_test
