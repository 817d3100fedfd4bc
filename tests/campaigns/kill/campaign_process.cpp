// The campaign's functions that handle processes.
#include "base/clock.hpp"
#include "campaign.hpp"

#include <algorithm>

namespace hf::kill_test {

namespace {

constexpr u32 patience_s = child::patience_s;

}  // namespace

void campaign::start(const session_plan& plan, role part) {
    journal_->session().clear();
    for (u32 w = 0; w < journal_->writers(); ++w) journal_->writer(w).told = 0;
    sessions_.emplace_back();
    ++counted_.sessions;
    child_.start([&] {
        switch (part) {
            case role::writers:
                return work(plan, *journal_, *keys_, values_);
            case role::observer:
                return look(plan, *journal_, *keys_);
            case role::auditor:
                return audit(plan, *journal_);
        }
        return 2;
    });
}

void campaign::run_session(const session_plan& plan, const ending& end) {
    using kind = ending::kind;
    session_plan timed = plan;
    timed.started_at_ns = now_ns();
    start(timed, role::writers);
    if (end.how == kind::killed_after_start) {
        sleep_until_ns(timed.started_at_ns + end.after_us * 1000);
        child_.kill();
        return end_session(false);
    }
    bool alive = wait_for(phase::working, patience_s);
    if (end.how == kind::killed_after_epoch) {
        wait_for_epoch();
        child_.kill();
        return end_session(false);
    }
    if (alive) sleep_until_ns(now_ns() + end.after_us * 1000);
    if (end.how == kind::killed_after_opening) {
        child_.kill();
        return end_session(false);
    }
    journal_->session().shall_close = true;
    if (end.how == kind::killed_closing && alive && wait_for(phase::closing, patience_s)) {
        sleep_until_ns(now_ns() + random_.below(300) * 1000);
        child_.kill();
        return end_session(false);
    }
    alive = alive && wait_for(phase::closed, patience_s);
    if (alive) child_.wait_for_end();
    end_session(true);
}

bool campaign::run_observer(const session_plan& plan, std::optional<u64> kill_after_us) {
    session_plan timed = plan;
    timed.started_at_ns = now_ns();
    const bool inspects = plan.options.region.mode == open_mode::inspect;
    start(timed, role::observer);
    if (kill_after_us) {
        sleep_until_ns(timed.started_at_ns + *kill_after_us * 1000);
        child_.kill();
        end_session(false);
        const phase last = journal_->session().now;
        return last == phase::observed;
    }
    const bool seen = wait_for(inspects ? phase::closed : phase::observed, 2 * patience_s);
    const bool orderly = inspects || random_.below(3) == 0;
    if (orderly) {
        journal_->session().shall_close = true;
        if (seen && wait_for(phase::closed, patience_s)) child_.wait_for_end();
    } else {
        child_.kill();
    }
    end_session(orderly);
    // An inspection changes nothing, so it does not count as a session of the region.
    if (inspects) sessions_.pop_back();
    return seen;
}

void campaign::audit_region() {
    start(next_plan(), role::auditor);
    if (wait_for(phase::closed, patience_s)) child_.wait_for_end();
    end_session(true);
    sessions_.pop_back();  // it changed nothing
    ++counted_.audits;
}

void campaign::wait_for_epoch() {
    u64 first = 0;
    for (u64 waited = 0; waited < 20'000 && !child_.has_ended(); ++waited) {
        const u64 now = told();
        if (first == 0) first = now;
        if (now > first) return;
        sleep_until_ns(now_ns() + child::nap_ns);
    }
}

/// The newest epoch that the session's map has reported as durable.
u64 campaign::told() const noexcept {
    u64 newest = 0;
    for (u32 w = 0; w < journal_->writers(); ++w) {
        newest = std::max<u64>(newest, journal_->writer(w).told);
    }
    return newest;
}

bool campaign::wait_for(phase least, u32 seconds) {
    const auto& now = journal_->session().now;
    const child::outcome how = child_.wait_for(now, least, seconds);
    if (how == child::outcome::hangs) {
        blame("session " + std::to_string(sessions_.size() - 1) + " hangs while " +
              std::string(to_string(now)));
    }
    return how == child::outcome::reached;
}

/// Evaluates a session whose process has ended.
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

    if (child_.was_killed(session)) {
        ++counted_.kills;
        counted_.opening += last == phase::opening ? 1 : 0;
        counted_.closing += last == phase::closing ? 1 : 0;
        counted_.passing += last > phase::opening && session.background_pass ? 1 : 0;
        if (session.stopped_itself) ++counted_.points[session.persist_point];
    } else if (child_.ended_well() && past.closed) {
        counted_.closes += orderly ? 1 : 0;
    } else {
        blame(name + " ended with " + child_.end(session));
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
