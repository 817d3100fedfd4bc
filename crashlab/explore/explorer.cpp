#include "crashlab/explore/explorer.hpp"

#include "base/check.hpp"
#include "crashlab/explore/guard.hpp"
#include "crashlab/runtime/file.hpp"

#include <algorithm>

namespace hf::lab {
namespace {

/// One run on an image; the destructor undoes its changes.
class run_scope {
   public:
    run_scope(image& i, choices& how, recorder* behind = nullptr) : image_(i), behind_(behind) {
        the_file.exploring = &i;
        image_.begin(how, behind);
        if (behind_ != nullptr) {
            behind_->start_behind(the_file.memory, [&i](u64 at, u64 n) { i.touch(at, n); });
        }
    }
    run_scope(const run_scope&) = delete;
    run_scope& operator=(const run_scope&) = delete;
    ~run_scope() {
        if (behind_ != nullptr) behind_->stop();
        image_.end();
        the_file.exploring = nullptr;
    }

   private:
    image& image_;
    recorder* behind_;
};

}  // namespace

// The set of possible images only grows between two fences, so the point before a fence covers all
// points since the last one. A persist point is always a crash point. An announcement or a system
// call changes what is allowed or possible without a store. If caches survive (eADR), every store
// is a crash point.
std::vector<u32> crash_points_of(const std::vector<event>& trace, persistence mode) {
    std::vector<u32> found;
    bool changed = true;
    for (u32 i = 0; i < trace.size(); ++i) {
        switch (trace[i].kind) {
            case event_kind::store:
                if (mode == persistence::eadr) found.push_back(i);
                changed = true;
                break;
            case event_kind::fence:
            case event_kind::sync:
            case event_kind::sync_name:
                if (changed) found.push_back(i);
                changed = false;
                break;
            case event_kind::announced:
            case event_kind::length:
            case event_kind::link:
            case event_kind::end:
                found.push_back(i);
                changed = true;
                break;
            case event_kind::point:
                found.push_back(i);
                break;
            case event_kind::flush:
            case event_kind::noted:
            case event_kind::begin:
            case event_kind::load:
            case event_kind::acquire:
            case event_kind::release:
            case event_kind::killed:
                break;
        }
    }
    found.push_back(static_cast<u32>(trace.size()));
    return found;
}

namespace {

u64 taken(const choices& how, u64 what, const file_fact& f) {
    for (const choice& c : how.steps()) {
        if (c.what == what) return c.chosen == 0 ? f.sure : f.now;
    }
    return f.sure;
}

}  // namespace

crash_model settled(const crash_model& m, const choices& how) {
    crash_model next = m;
    next.forget_volatile();
    for (const choice& c : how.steps()) {
        if (!is_line_choice(c.what)) continue;
        bool complete = true;
        const auto all = m.find(c.what)->versions(c.what, complete);
        next.settle(c.what, all.at(c.chosen));
    }
    for (unsigned f = 0; f < most_files; ++f) {
        const u64 length = taken(how, length_of_file(f), m.length(f));
        next.settle_file(f, length, taken(how, name_of_file(f), m.name(f)) != 0);
    }
    return next;
}

finding explorer::found(std::string what, const choices& how, probe asked,
                        unsigned question) const {
    return {std::move(what), {{at_event_, how.steps()}}, asked, question};
}

void explorer::count_state() {
    ++counts_.states;
    counts_.images.insert(image_.digest());
}

std::optional<finding> explorer::explore(const std::vector<event>& trace, const crash_model& before,
                                         victim& who) {
    ++counts_.traces;
    image_.on_endless = stop_endless;
    return explore_trace(trace, 0, before, who, 0);
}

namespace {

/// The points before which an operation has ended since the previous point.
std::vector<u32> points_behind_ends(const std::vector<u32>& points,
                                    const std::vector<event>& trace) {
    std::vector<u32> found;
    u32 from = 0;
    for (const u32 p : points) {
        const bool is_one = std::any_of(trace.begin() + from, trace.begin() + p,
                                        [](const event& e) { return e.kind == event_kind::end; });
        if (is_one) found.push_back(p);
        from = p;
    }
    return found;
}

}  // namespace

// Selects points evenly, with a different offset each time.
std::vector<u32> explorer::some_of(const std::vector<u32>& points, u32 most) {
    std::vector<u32> some;
    const std::size_t step = points.size() / most + 1;
    for (std::size_t i = (seed_ + draws_++) % step; i < points.size(); i += step) {
        some.push_back(points[i]);
    }
    return some;
}

std::optional<finding> explorer::explore_trace(const std::vector<event>& trace, u32 from,
                                               crash_model m, victim& who, unsigned depth) {
    counts_.events += trace.size() - from;
    auto points = crash_points_of(trace, m.mode());
    std::erase_if(points, [&](u32 p) { return p < from; });
    if (depth == 0 && limits_.behind_ends) points = points_behind_ends(points, trace);
    const u32 most = depth > 0 ? limits_.nested_points : limits_.points;
    if ((depth > 0 || most != 0) && points.size() > most) points = some_of(points, most);
    u32 next = from;
    for (const u32 point : points) {
        const bool is_named = point < trace.size() && trace[point].kind == event_kind::point;
        // When time is up, the workload's own persist points are still explored briefly.
        const bool hurry = must_stop();
        if (hurry && (depth > 0 || !is_named)) continue;
        for (; next < point; ++next) m.advance(trace[next]);
        at_event_ = point;
        if (is_named) counts_.points.insert(trace[point].value);
        ++counts_.crash_points;
        if (auto f = explore_point(m, who, depth, hurry)) return f;
        if (hurry || !is_kill_point(depth)) continue;
        if (auto f = explore_killed(trace, m, who, depth)) return f;
    }
    return std::nullopt;
}

bool explorer::is_kill_point(unsigned depth) {
    if (limits_.kills == 0 || depth >= limits_.depth) return false;
    return (seed_ + draws_++) % limits_.kills == 0;
}

std::optional<finding> explorer::explore_point(const crash_model& m, victim& who, unsigned depth,
                                               bool hurry) {
    image_.load(m);
    if (hurry) return explore_whole(m, who, limits_.depth);
    sampled_ = false;
    auto f = explore_lazily(m, who);
    if (sampled_ || image_.incomplete()) ++counts_.incomplete;
    return f || limits_.behind_ends ? f : explore_whole(m, who, depth);
}

std::optional<finding> explorer::explore_lazily(const crash_model& m, victim& who) {
    choices how(policy::all);
    bool more = true;
    u64 openings = 0;
    for (; more && openings < limits_.openings && !must_stop(); ++openings) {
        if (auto f = open_once(m, who, how)) return f;
        more = how.next(0);
    }
    if (!more) return std::nullopt;
    sampled_ = true;
    for (u64 i = 0; i < limits_.openings && !must_stop(); ++i) {
        choices drawn(policy::random, seed_ + ++draws_);
        if (auto f = open_once(m, who, drawn)) return f;
    }
    return std::nullopt;
}

std::optional<finding> explorer::open_once(const crash_model& m, victim& who, choices& how) {
    const run_scope scope(image_, how);
    std::unique_ptr<survivor> s;
    ++counts_.openings;
    if (auto wrong = guarded([&] { s = who.recover_after(m.promises()); })) {
        return found(*wrong, how, probe::recovery);
    }
    count_state();
    const u32 keep = how.depth();
    for (unsigned q = 0; q < s->questions() && !must_stop(); ++q) {
        how.cut(keep);
        if (auto f = ask(*s, q, how)) return f;
    }
    how.cut(keep);
    return std::nullopt;
}

std::optional<finding> explorer::ask(survivor& s, unsigned number, choices& how) {
    const u32 keep = how.depth();
    const auto once = [&](choices& by) -> std::optional<finding> {
        const auto before = image_.mark();
        const auto wrong = guarded([&] { s.ask(number); });
        count_state();
        std::optional<finding> f;
        if (wrong) f = found(*wrong, by, probe::question, number);
        image_.rollback(before);
        if (!wrong) s.forget();
        return f;
    };
    for (u64 i = 0; i < limits_.states; ++i) {
        if (auto f = once(how)) return f;
        if (!how.next(keep)) return std::nullopt;
    }
    sampled_ = true;
    how.cut(keep);
    how.set_policy(policy::random);
    for (u64 i = 0; i < limits_.random_states; ++i) {
        if (auto f = once(how)) return f;
        how.cut(keep);
    }
    how.set_policy(policy::all);
    return std::nullopt;
}

std::optional<finding> explorer::explore_whole(const crash_model& m, victim& who, unsigned depth) {
    const bool may_nest = depth < limits_.depth;
    u32 questions = 0;
    for (const policy p : {policy::newest, policy::oldest}) {
        choices how(p);
        if (auto f = run_whole(m, who, how, may_nest && p == policy::newest, depth)) return f;
        questions = how.depth();
    }
    for (u32 i = 0; i < limits_.whole && questions > 0 && !must_stop(); ++i) {
        choices one(policy::one_differs, seed_ + ++draws_);
        one.set_different(static_cast<u32>(draws_ * 7919 % questions), i % 3 != 2);
        if (auto f = run_whole(m, who, one, false, depth)) return f;
        choices any(policy::random, seed_ + ++draws_);
        if (auto f = run_whole(m, who, any, may_nest && i < limits_.nested, depth)) return f;
    }
    return std::nullopt;
}

std::optional<finding> explorer::run_whole(const crash_model& m, victim& who, choices& how,
                                           bool nest, unsigned depth) {
    recorder nested;
    std::unique_ptr<survivor> s;
    {
        const run_scope scope(image_, how, nest ? &nested : nullptr);
        ++counts_.openings;
        if (auto wrong = guarded([&] { s = who.recover_after(m.promises()); })) {
            return found(*wrong, how, probe::recovery);
        }
        if (auto wrong = guarded([&] { s->inspect(); })) {
            return found(*wrong, how, probe::inspection);
        }
        count_state();
        if (auto wrong = guarded([&] { s->work_on(); })) return found(*wrong, how, probe::work);
        s->crash();
    }
    if (!nest) return std::nullopt;
    const u32 outer = at_event_;
    auto f = explore_nested(m, std::move(s), nested.take(), how, depth);
    at_event_ = outer;
    if (f) f->stages.insert(f->stages.begin(), stage{outer, how.steps()});
    image_.load(m);
    return f;
}

std::optional<finding> explorer::explore_nested(const crash_model& m, std::unique_ptr<survivor> who,
                                                const std::vector<event>& trace, const choices& how,
                                                unsigned depth) {
    ++counts_.nested_traces;
    return explore_trace(trace, 0, settled(m, how), *who, depth + 1);
}

namespace {

/// Joins the first process's events up to its death at event `at` and the next one's.
std::vector<event> joined(const std::vector<event>& first, u32 at, std::vector<event> next) {
    std::vector<event> all(first.begin(), first.begin() + at);
    all.push_back({.kind = event_kind::killed});
    all.insert(all.end(), next.begin(), next.end());
    return all;
}

/// This order finds most: an inspection first would make what it reads durable.
std::optional<std::string> live_on(std::unique_ptr<survivor>& s, victim& who, const promised& all) {
    return guarded([&] {
        s = who.recover_after(all);
        s->work_on();
        s->crash();
    });
}

}  // namespace

std::optional<finding> explorer::explore_killed(const std::vector<event>& trace,
                                                const crash_model& m, victim& who, unsigned depth) {
    recorder behind;
    std::unique_ptr<survivor> s;
    const crash_model seen = m.as_seen();
    image_.load(seen);
    const stage dead{at_event_, {}, true};
    {
        choices how(policy::newest);
        const run_scope scope(image_, how, &behind);
        ++counts_.openings;
        if (auto wrong = live_on(s, who, m.promises())) return finding{*wrong, {dead}, probe::work};
        count_state();
    }
    ++counts_.nested_traces;
    ++counts_.kills;
    const auto all = joined(trace, dead.event, behind.take());
    crash_model next = m;
    next.advance(all[dead.event]);
    auto f = explore_trace(all, dead.event + 1, std::move(next), *s, depth + 1);
    at_event_ = dead.event;
    if (f) f->stages.insert(f->stages.begin(), dead);
    image_.load(m);
    return f;
}

std::optional<std::string> explorer::replay(const std::vector<event>& trace,
                                            const crash_model& before, victim& who,
                                            const finding& f, const stage_listener& listener) {
    image_.on_endless = stop_endless;
    std::vector<event> events = trace;
    crash_model start = before;  // at the beginning of the trace
    crash_model m = before;      // after its first `done` events
    u32 done = 0;
    victim* current = &who;
    std::unique_ptr<survivor> s;
    for (std::size_t i = 0; i < f.stages.size(); ++i) {
        const bool last = i + 1 == f.stages.size();
        const stage& crash = f.stages[i];
        if (listener) listener(events, start);
        for (; done < crash.event && done < events.size(); ++done) m.advance(events[done]);
        const crash_model seen = crash.killed ? m.as_seen() : m;
        image_.load(seen);
        choices how = crash.killed ? choices(policy::newest) : choices(crash.contents);
        recorder nested;
        std::unique_ptr<survivor> next;
        {
            const run_scope scope(image_, how, last ? nullptr : &nested);
            const auto wrong = crash.killed ? live_on(next, *current, m.promises()) : guarded([&] {
                next = current->recover_after(m.promises());
                if (last && f.asked == probe::question) next->ask(f.question);
                if (!last || f.asked >= probe::inspection) next->inspect();
                if (!last || f.asked == probe::work) next->work_on();
                if (!last) next->crash();
            });
            if (wrong || last) return wrong;
        }
        if (crash.killed) {
            events = joined(events, done, nested.take());
            m.advance(events[done++]);
        } else {
            events = nested.take();
            m = settled(m, how);
            start = m;
            done = 0;
        }
        s = std::move(next);
        current = s.get();
    }
    return std::nullopt;
}

}  // namespace hf::lab
