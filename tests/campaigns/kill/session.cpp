#include "session.hpp"

#include <holdfast/map.hpp>

#include "base/clock.hpp"
#include "checkpoint_map/engine.hpp"
#include "dying.hpp"
#include "map/inspect.hpp"
#include "observer.hpp"
#include "writer.hpp"

#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace hf::kill_test {

namespace {

using std::chrono::microseconds;

std::optional<map> open(const session_plan& plan, journal& record) {
    session_state& session = record.session();
    if (plan.stops_at_points) stop_at_points(session, plan.die_at_point);
    session.now = phase::opening;
    auto opened = map::open(plan.region, plan.options);
    if (!opened) {
        record.wrongs().add("session " + std::to_string(plan.number) +
                            " could not open the map: " + opened.error().to_string());
        return std::nullopt;
    }
    const statistics s = opened->stats();
    session.background_pass = s.failed_epochs != 0;
    session.failed_epochs = s.failed_epochs;
    session.log_entries_applied = s.recovered_entries;
    session.opened_in_ns = now_ns() - plan.started_at_ns;
    return std::move(*opened);
}

/// Waits for the parent's request to close; mostly the parent kills this process instead.
void wait_to_close(const map& m, session_state& session) {
    while (!session.shall_close) {
        if (session.background_pass && m.stats().failed_epochs == 0) {
            session.background_pass = false;
        }
        std::this_thread::sleep_for(microseconds(200));
    }
}

/// For an idle eager map: once the sweep has ended, all unreachable memory must be free.
void look_for_leaks(map& m, journal& record, u32 number) {
    if (m.kind() != discipline::eager) return;
    const auto found = map_inspection::audit(m);
    const auto complain = [&](const std::string& text) {
        record.wrongs().add("after the sweep, session " + std::to_string(number) + ": " + text);
    };
    if (!found) return complain(found.error().to_string());
    for (const violation& v : found->violations()) {
        complain("at offset " + std::to_string(v.offset) + ": " + v.text);
    }
    record.session().audited = true;
}

/// Sometimes ends the threads and starts new ones, which reuse their slots in the gate and the
/// allocator.
void work_in_shifts(writer& w, const std::atomic<bool>& stop) {
    constexpr u64 strokes_of_a_shift = 100;
    while (!stop && !w.full()) {
        std::jthread([&] { w.run(stop, strokes_of_a_shift); });
    }
}

int close(map& m, journal& record, u32 number) {
    record.session().now = phase::closing;
    if (const auto closed = m.close(); !closed) {
        record.wrongs().add("session " + std::to_string(number) +
                            " could not close the map: " + closed.error().to_string());
        return 1;
    }
    record.session().now = phase::closed;
    return 0;
}

}  // namespace

int work(const session_plan& plan, journal& record, const key_set& keys,
         const value_maker& values) {
    auto m = open(plan, record);
    if (!m) return 1;
    std::vector<std::unique_ptr<writer>> writers;
    for (u32 i = 0; i < record.writers(); ++i) {
        writers.push_back(std::make_unique<writer>(*m, record, keys, values, i, plan.number,
                                                   plan.seed + i,
                                                   plan.options.small_values_in_leaves));
    }
    std::atomic<bool> stop{false};
    record.session().now = phase::working;
    {
        std::vector<std::jthread> threads;
        for (auto& w : writers) threads.emplace_back([&w, &stop] { work_in_shifts(*w, stop); });
        wait_to_close(*m, record.session());
        stop = true;
    }
    look_for_leaks(*m, record, plan.number);
    return close(*m, record, plan.number);
}

int look(const session_plan& plan, journal& record, const key_set& keys) {
    auto m = open(plan, record);
    if (!m) return 1;
    record.session().now = phase::observing;
    observe(*m, record, keys, plan.seed);
    if (plan.options.region.mode != open_mode::inspect) look_for_leaks(*m, record, plan.number);
    record.session().now = phase::observed;
    if (plan.options.region.mode != open_mode::inspect) wait_to_close(*m, record.session());
    return close(*m, record, plan.number);
}

int audit(const session_plan& plan, journal& record) {
    const auto report = audit_map(plan.region);
    const auto complain = [&](const std::string& text) {
        record.wrongs().add("audit before session " + std::to_string(plan.number) + ": " + text);
    };
    if (!report) {
        complain(report.error().to_string());
    } else {
        for (const violation& v : report->violations()) {
            complain("at offset " + std::to_string(v.offset) + ": " + v.text);
        }
    }
    record.session().now = phase::closed;
    return 0;
}

}  // namespace hf::kill_test
