#include "crashlab/lint/lint.hpp"

#include "crashlab/model/crash_model.hpp"
#include "crashlab/trace/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace hf::lab {
namespace {

/// A line, and the persist layer's requests for it.
struct watched_line {
    line_state state{line_content{}};
    u64 flushed = 0;  ///< number of stores captured by a flush
    u32 noted_epoch = 0;
    u64 stored_pc = 0;  ///< of the newest store
};

struct capture {
    u64 line;
    u64 stores;
};

class linter {
   public:
    linter(const std::vector<event>& trace, const source_places& places, const lint_rules& rules)
        : trace_(trace), places_(places), rules_(rules) {}

    std::vector<lint_finding> run() {
        for (now_ = 0; now_ < trace_.size(); ++now_) take(trace_[now_]);
        std::vector<lint_finding> all;
        for (auto& [key, f] : found_) all.push_back(f);
        return all;
    }

   private:
    void take(const event& e) {
        switch (e.kind) {
            case event_kind::store:
                return store(e);
            case event_kind::flush:
                return flush(e);
            case event_kind::fence:
                return fence(e);
            case event_kind::noted:
                return note(e);
            case event_kind::sync:
                return sync(e);
            case event_kind::load:
                return load(e);
            case event_kind::begin:
                operations_[e.thread] = {true, {}};
                return;
            case event_kind::end:
                return returned(e);
            case event_kind::release:
                return released(e);
            case event_kind::announced:
                return announced(e);
            case event_kind::point:
                return point(e);
            default:
                return;
        }
    }

    void store(const event& e) {
        if (is_volatile(e.pc)) {
            if (e.how == store_kind::release) released(e);
        } else {
            published(e);
            if (is_judged(e)) operations_[e.thread].stores.push_back(now_);
        }
        const u64 number = e.where / line_size;
        watched_line& l = lines_[number];
        const bool streamed = e.how == store_kind::stream;
        for (const auto& earlier : l.state.entries()) {
            if (e.how == store_kind::file || earlier.how == store_kind::file) continue;
            if ((earlier.how == store_kind::stream) == streamed) continue;
            report(rule::mixed_streaming, e.pc);
            break;
        }
        l.state.add(e, now_);
        l.stored_pc = e.pc;
        if (is_record(e.pc)) newest_record_ = now_;
        const capture c{number, l.state.stores_seen()};
        if (streamed) captured_[e.thread].push_back(c);
        if (e.how == store_kind::file) written_.push_back(c);
    }

    void flush(const event& e) {
        const u64 number = e.where / line_size;
        watched_line& l = lines_[number];
        const u64 seen = l.state.stores_seen();
        auto& mine = captured_[e.thread];
        // Another thread's flush does not help: this thread's fence waits only for its own.
        const bool again = std::any_of(mine.begin(), mine.end(), [&](const capture& c) {
            return c.line == number && c.stores == seen;
        });
        if (l.state.entries().empty() || again) {
            report(rule::flush_of_clean_line, e.pc, l.stored_pc);
        }
        l.flushed = seen;
        mine.push_back({number, seen});
    }

    void fence(const event& e) {
        if (captured_[e.thread].empty()) report(rule::empty_fence, e.pc);
        acted(raise(captured_[e.thread]), e);
    }

    void sync(const event& e) {
        std::vector<capture> mine;
        std::erase_if(written_, [&](const capture& c) {
            if (file_of_line(c.line) != e.where) return false;
            mine.push_back(c);
            return true;
        });
        acted(raise(mine), e);
    }

    /// The first store of the thread's operation that is not durable, except to this line.
    std::optional<u32> first_unsure(u8 thread, u64 but_line) {
        auto& mine = operations_[thread].stores;
        std::erase_if(mine, [&](u32 store) { return !is_unsure(store); });
        for (const u32 store : mine) {
            if (trace_[store].where / line_size != but_line) return store;
        }
        return std::nullopt;
    }

    bool is_judged(const event& e) const {
        return rules_.durable == promise::at_once && operations_[e.thread].is_running;
    }

    void published(const event& e) {
        if (!is_judged(e) || e.how != store_kind::release) return;
        if (const auto s = first_unsure(e.thread, e.where / line_size)) {
            report(rule::published_early, e.pc, trace_[*s].pc);
        }
    }

    void released(const event& e) {
        if (!is_judged(e)) return;
        if (const auto s = first_unsure(e.thread, crash_model::no_line)) {
            report(rule::released_early, e.pc, trace_[*s].pc);
        }
    }

    void returned(const event& e) {
        if (is_judged(e)) {
            static_cast<void>(first_unsure(e.thread, crash_model::no_line));
            for (const u32 store : operations_[e.thread].stores) {
                report(rule::returned_early, trace_[store].pc, 0, e.pc);
            }
        }
        operations_[e.thread] = {};
        ended(e);
    }

    made_sure raise(std::vector<capture>& captured) {
        made_sure m;
        for (const capture& c : captured) {
            line_state& l = lines_[c.line].state;
            const u64 gone = l.stores_seen() - l.entries().size();
            for (u64 i = 0; gone + i < c.stores && i < l.entries().size(); ++i) {
                add(m, l.entries()[i].event);
            }
            l.raise_floor(c.stores);
        }
        captured.clear();
        return m;
    }

    void add(made_sure& m, u32 store) {
        const auto raise_to = [&](u32& newest) {
            if (newest == made_sure::none || newest < store) newest = store;
        };
        const event& e = trace_[store];
        if (is_record(e.pc)) raise_to(m.record);
        if (!is_volatile(e.pc) && !rests_on_nothing(e.pc)) raise_to(m.newest[e.thread]);
    }

    bool is_unsure(u32 store) {
        const auto& on_way = lines_[trace_[store].where / line_size].state.entries();
        return !on_way.empty() && on_way.front().event <= store;
    }

    void load(const event& e) {
        const auto store = static_cast<u32>(e.value);
        if (rules_.dirty == reads::acquiring && !e.acquires) return;
        if (!is_volatile(trace_[store].pc)) reads_.note(e.thread, {store, now_});
    }

    void act(unsigned thread, u32 loads_before, u32 stores_before, u64 pc) {
        reads_.act(
            thread, loads_before, stores_before, [&](u32 store) { return is_unsure(store); },
            [&](const dirty_read& r) {
                report(rule::dirty_read, trace_[r.load].pc, trace_[r.store].pc, pc);
            });
    }

    void act_all(u32 stores_before, u64 pc) {
        for (unsigned t = 0; t < max_threads; ++t) act(t, now_, stores_before, pc);
    }

    void acted(const made_sure& m, const event& e) {
        if (rules_.durable == promise::at_once) {
            for (unsigned t = 0; t < max_threads; ++t) {
                if (m.newest[t] != made_sure::none) act(t, m.newest[t], now_, e.pc);
            }
        } else if (m.record != made_sure::none) {
            act_all(m.record, e.pc);
        }
        if (is_lasting_[e.thread]) act(e.thread, now_, now_, e.pc);
        is_lasting_[e.thread] = false;
    }

    void ended(const event& e) {
        if (rules_.durable == promise::at_once) act(e.thread, now_, now_, e.pc);
    }

    void note(const event& e) {
        if (e.value == 0) return;
        const u64 last = (e.where + e.value - 1) / line_size;
        for (u64 l = e.where / line_size; l <= last; ++l) lines_[l].noted_epoch = epoch_;
    }

    void announced(const event& e) {
        if (rules_.durable == promise::at_once) return ended(e);
        act_all(std::min(newest_record_, now_), e.pc);
        judge_all();
        next_epoch();
    }

    void point(const event& e) {
        const auto& names = recorder::points();
        if (e.value >= names.size()) return;
        const std::string_view name = names[e.value];
        if (is_at(name, rules_.opening)) {
            next_epoch();
            reads_.forget();
        }
        if (is_at(name, rules_.lasting)) is_lasting_[e.thread] = true;
        if (is_at(name, rules_.written_back)) {
            judge_all();
            first_ = now_;  // the announcement judges later events
        }
    }

    static bool is_at(std::string_view point, std::string_view wanted) {
        return !wanted.empty() && point.starts_with(wanted);
    }

    void judge_all() {
        for (const auto& [number, l] : lines_) judge(l);
    }

    void next_epoch() {
        ++epoch_;
        first_ = now_;
    }

    void judge(const watched_line& l) {
        const auto& on_way = l.state.entries();
        const u64 sure = l.state.stores_seen() - on_way.size();
        for (u64 i = 0; i < on_way.size(); ++i) {
            const auto& s = on_way[i];
            if (s.event < first_ || is_volatile(trace_[s.event].pc)) continue;
            const bool heard = l.noted_epoch == epoch_ || l.flushed > sure + i ||
                               s.how == store_kind::stream || s.how == store_kind::file;
            report(heard ? rule::acknowledged_early : rule::unnoted, trace_[s.event].pc);
        }
    }

    bool is_volatile(u64 pc) {
        const auto [known, is_new] = volatile_.try_emplace(pc, false);
        if (is_new) {
            known->second =
                std::any_of(rules_.volatile_places.begin(), rules_.volatile_places.end(),
                            [&](const volatile_place& v) { return is_made_by(v, pc); });
        }
        return known->second;
    }

    bool rests_on_nothing(u64 pc) {
        const auto& files = rules_.rests_on_nothing;
        if (files.empty()) return false;
        const auto [known, is_new] = independent_.try_emplace(pc, false);
        if (is_new) {
            known->second = std::any_of(files.begin(), files.end(), [&](std::string_view file) {
                return is_made_by({file, {}}, pc);
            });
        }
        return known->second;
    }

    bool is_made_by(const volatile_place& v, u64 pc) const {
        bool by_it = false;
        for (const frame& f : places_.frames(pc)) {
            if (!f.file.ends_with(v.file)) continue;
            by_it = true;
            const auto name = short_name(f.function);
            if (std::find(v.durable.begin(), v.durable.end(), name) != v.durable.end()) {
                return false;
            }
        }
        return by_it;
    }

    bool is_record(u64 pc) {
        const auto [known, is_new] = record_.try_emplace(pc, false);
        if (!is_new || rules_.record.file.empty()) return known->second;
        const auto& names = rules_.record.names;
        for (const frame& f : places_.frames(pc)) {
            if (!f.file.ends_with(rules_.record.file)) continue;
            known->second |=
                std::find(names.begin(), names.end(), short_name(f.function)) != names.end();
        }
        return known->second;
    }

    void report(rule broken, u64 pc, u64 stored_pc = 0, u64 acted_pc = 0) {
        const auto& silent = rules_.silent;
        if (std::find(silent.begin(), silent.end(), broken) != silent.end()) return;
        lint_finding f{broken, places_.text(pc), places_.text(stored_pc), places_.text(acted_pc), 0,
                       now_};
        auto key = std::make_tuple(broken, f.place, f.stored_at, f.acted_at);
        ++found_.try_emplace(std::move(key), std::move(f)).first->second.count;
    }

    const std::vector<event>& trace_;
    const source_places& places_;
    const lint_rules& rules_;
    u32 now_ = 0;
    u32 epoch_ = 1;
    u32 first_ = 0;  ///< the first event that has not been judged
    std::map<u64, watched_line> lines_;
    std::array<std::vector<capture>, max_threads> captured_;
    std::vector<capture> written_;  ///< by system calls
    struct operation {
        bool is_running = false;
        std::vector<u32> stores;  ///< stores that may not be durable
    };
    std::array<operation, max_threads> operations_;
    dirty_reads reads_;
    u32 newest_record_ = made_sure::none;
    std::array<bool, max_threads> is_lasting_{};
    std::unordered_map<u64, bool> volatile_;
    std::unordered_map<u64, bool> independent_;
    std::unordered_map<u64, bool> record_;
    std::map<std::tuple<rule, std::string, std::string, std::string>, lint_finding> found_;
};

void sort(std::vector<lint_finding>& all) {
    std::sort(all.begin(), all.end(), [](const lint_finding& a, const lint_finding& b) {
        if (a.broken != b.broken) return a.broken < b.broken;
        if (a.count != b.count) return a.count > b.count;
        return std::tie(a.place, a.stored_at, a.acted_at) <
               std::tie(b.place, b.stored_at, b.acted_at);
    });
}

}  // namespace

std::string_view to_string(severity s) noexcept {
    switch (s) {
        case severity::error:
            return "error";
        case severity::warning:
            return "warning";
        case severity::info:
            return "info";
    }
    return "unknown";
}

std::string_view to_string(rule r) noexcept {
    switch (r) {
        case rule::unnoted:
            return "unnoted";
        case rule::acknowledged_early:
            return "acknowledged_early";
        case rule::returned_early:
            return "returned_early";
        case rule::published_early:
            return "published_early";
        case rule::dirty_read:
            return "dirty_read";
        case rule::released_early:
            return "released_early";
        case rule::flush_of_clean_line:
            return "flush_of_clean_line";
        case rule::empty_fence:
            return "empty_fence";
        case rule::mixed_streaming:
            return "mixed_streaming";
    }
    return "unknown";
}

severity severity_of(rule r) noexcept {
    switch (r) {
        case rule::unnoted:
        case rule::acknowledged_early:
        case rule::returned_early:
        case rule::published_early:
        case rule::dirty_read:
            return severity::error;
        case rule::released_early:
        case rule::flush_of_clean_line:
        case rule::empty_fence:
            return severity::warning;
        case rule::mixed_streaming:
            break;
    }
    return severity::info;
}

std::string_view meaning_of(rule r) noexcept {
    switch (r) {
        case rule::unnoted:
            return "Its epoch ended, but the store was neither noted nor written back: after a "
                   "crash it may be missing.";
        case rule::acknowledged_early:
            return "Its epoch ended while the store was still on its way to the medium.";
        case rule::returned_early:
            return "The operation that made the store returned while it was still on its way to "
                   "the medium.";
        case rule::published_early:
            return "What the operation had stored before, in other lines, was still on its way "
                   "when this store published it: a crash may keep this one and not those.";
        case rule::released_early:
            return "A lock was given back, or a flag set, while a store made before it was still "
                   "on its way: who takes it next must make that durable first.";
        case rule::dirty_read:
            return "What another thread had stored was read and acted upon durably while it was "
                   "still on its way: a crash may keep the act and take the store away.";
        case rule::flush_of_clean_line:
            return "Everything in the line was sure already, or flushed by this thread before: it "
                   "costs time and changes nothing.";
        case rule::empty_fence:
            return "The thread has flushed and streamed nothing since its last fence.";
        case rule::mixed_streaming:
            return "Streamed and cached stores to one line have no order until the next fence.";
    }
    return "";
}

const lint_rules& project_rules() {
    // A lock word has no meaning after a crash, but its user's flags in the same word are durable
    // (sync/version_lock.hpp). A home has none while its line is in the second slot.
    static const lint_rules rules{
        {{"src/sync/version_lock.hpp", {"init", "set_flags", "mark_splitting_with"}},
         {"src/transaction/home_words.hpp", {}}},
        "epoch O1",
        "epoch E1",
        promise::at_epoch_end,
        {"src/region/layout.cpp", {"epoch_record_store"}},
        "store B1"};
    return rules;
}

std::vector<lint_finding> lint(const std::vector<event>& trace, const source_places& places,
                               const lint_rules& rules) {
    auto all = linter(trace, places, rules).run();
    sort(all);
    return all;
}

void merge(std::vector<lint_finding>& into, const std::vector<lint_finding>& more) {
    for (const lint_finding& f : more) {
        const auto same = std::find_if(into.begin(), into.end(), [&](const lint_finding& g) {
            return g.broken == f.broken && g.place == f.place && g.stored_at == f.stored_at &&
                   g.acted_at == f.acted_at;
        });
        if (same == into.end()) {
            into.push_back(f);
        } else {
            same->count += f.count;
        }
    }
    sort(into);
}

bool has_errors(const std::vector<lint_finding>& all) noexcept {
    return std::any_of(all.begin(), all.end(), [](const lint_finding& f) {
        return severity_of(f.broken) == severity::error;
    });
}

std::string to_text(const std::vector<lint_finding>& all, severity least) {
    std::string text;
    rule last{};
    bool any = false;
    for (const lint_finding& f : all) {
        const severity s = severity_of(f.broken);
        if (s > least) continue;
        if (!any || f.broken != last) {
            text += fmt::format("{}: {}: {}\n", to_string(s), to_string(f.broken),
                                meaning_of(f.broken));
        }
        any = true;
        last = f.broken;
        text += fmt::format("  {:>7} x  {}{}{}{}{}\n", f.count, f.place,
                            f.stored_at.empty() ? "" : ", last stored to at ", f.stored_at,
                            f.acted_at.empty() ? "" : ", acted upon at ", f.acted_at);
    }
    return any ? text : "nothing found\n";
}

}  // namespace hf::lab
