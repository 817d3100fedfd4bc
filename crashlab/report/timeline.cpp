#include "crashlab/report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace hf::lab {
namespace {

/// Maximum number of lines drawn for a stage.
constexpr std::size_t most_lines = 8;

void apply(line_content& c, const line_state::entry& e) {
    __builtin_memcpy(c.bytes.data() + e.at, &e.value, e.size);
}

line_content with(const line_state& l, const std::vector<bool>& taken) {
    line_content c = l.floor();
    for (std::size_t i = 0; i < taken.size(); ++i) {
        if (taken[i]) apply(c, l.entries()[i]);
    }
    return c;
}

/// The combinations that line_state::versions() enumerates after a prefix, in the same order.
std::vector<u64> masks_of(std::size_t free) {
    constexpr std::size_t most_free = 5;
    std::vector<u64> masks{0};
    if (free <= most_free) {
        for (u64 m = 1; m < (u64{1} << free); ++m) masks.push_back(m);
        return masks;
    }
    masks.push_back(~u64{0});
    for (u64 i = 0; i < std::min<std::size_t>(free, 63); ++i) {
        masks.push_back(u64{1} << i);
        masks.push_back(~(u64{1} << i));
    }
    return masks;
}

u64 distance(u64 a, u64 b) { return a < b ? b - a : a - b; }

u64 distance(u64 line, const std::set<u64>& named) {
    u64 least = ~u64{0};
    for (const u64 n : named) least = std::min(least, distance(line, n));
    return least;
}

bool is_line(const choice& c) { return is_line_choice(c.what); }

/// False if all stores in flight write what was there before.
bool may_differ(u64 number, const line_state& l) {
    bool complete = true;
    return !l.is_sure() && l.versions(number, complete).size() > 1;
}

std::set<u64> lines_of(const crash_model& m, const stage& s) {
    std::set<u64> named;
    for (const choice& c : s.contents) {
        if (is_line(c) && c.chosen != 0) named.insert(c.what);
    }
    std::vector<u64> others;
    for (const auto& [number, l] : m.lines()) {
        if (!named.contains(number) && may_differ(number, l)) others.push_back(number);
    }
    std::sort(others.begin(), others.end(), [&](u64 a, u64 b) {
        const u64 near_a = distance(a, named);
        const u64 near_b = distance(b, named);
        return near_a != near_b ? near_a < near_b : a < b;
    });
    std::set<u64> all = named;
    for (const u64 o : others) {
        if (all.size() < most_lines) all.insert(o);
    }
    return all;
}

u32 chosen_for(const stage& s, u64 what) {
    for (const choice& c : s.contents) {
        if (c.what == what) return c.chosen;
    }
    return 0;
}

std::string words_about_file(const crash_model& m, const stage& s, unsigned file) {
    const std::string which = file == 0 ? "" : fmt::format(" {}", file_paths[file]);
    const file_fact& length = m.length(file);
    const file_fact& name = m.name(file);
    std::string words;
    if (length.sure != length.now) {
        const bool is_new = chosen_for(s, length_of_file(file)) != 0;
        words =
            fmt::format("the file{} has {} bytes ({})", which, is_new ? length.now : length.sure,
                        is_new ? "the new length" : "the new length was lost");
    }
    if (name.sure != name.now) {
        words += words.empty() ? "" : "; ";
        words += chosen_for(s, name_of_file(file)) != 0
                     ? fmt::format("its name{} reached the directory", which)
                     : fmt::format("its name{} was lost", which);
    }
    return words;
}

std::string words_about_files(const crash_model& m, const stage& s) {
    std::string words;
    for (unsigned f = 0; f < most_files; ++f) {
        const std::string more = words_about_file(m, s, f);
        words += words.empty() || more.empty() ? more : "; " + more;
    }
    return words;
}

class stage_drawer {
   public:
    stage_drawer(const told_stage& told, const source_places& places, const target* who,
                 bool only_operations)
        : told_(told),
          places_(places),
          who_(who),
          only_operations_(only_operations),
          model_(told.before) {}

    timeline_stage draw() {
        timeline_stage s;
        s.events = static_cast<u32>(told_.trace.size());
        s.crash = std::min(told_.crash.event, s.events);
        s.killed = told_.crash.killed;
        for (u32 i = 0; i < s.crash; ++i) model_.advance(told_.trace[i]);
        if (!only_operations_ && !s.killed) {
            for (const u64 line : lines_of(model_, told_.crash)) s.held.push_back(hold(line));
        }
        s.file = words_about_files(model_, told_.crash);
        for (u32 i = 0; i < s.crash; ++i) {
            if (is_drawn(told_.trace[i])) s.rows.push_back(row(i));
        }
        trim(s.rows);
        return s;
    }

   private:
    held_line hold(u64 line) {
        held_line h;
        h.line = line;
        const line_state* l = model_.find(line);
        if (l == nullptr) return h;
        bool complete = true;
        const auto all = l->versions(line, complete);
        h.versions = static_cast<u32>(all.size());
        h.chosen = std::min(chosen_for(told_.crash, line), h.versions - 1);
        h.content = all[h.chosen].content;
        const auto arrived = stores_in(*l, h.content);
        h.on_way = static_cast<u32>(arrived.size());
        for (std::size_t i = 0; i < arrived.size(); ++i) {
            if (arrived[i]) ++h.reached;
            // The model's event numbers continue from crash to crash; smaller ones belong to an
            // earlier trace.
            const u32 number = l->entries()[i].event;
            const u32 first = told_.before.events();
            if (number >= first) fates_[number - first] = arrived[i] ? fate::reached : fate::lost;
        }
        drawn_.insert(line);
        return h;
    }

    bool is_drawn(const event& e) const {
        if (only_operations_) return e.kind == event_kind::begin || e.kind == event_kind::end;
        switch (e.kind) {
            case event_kind::store:
            case event_kind::flush:
            case event_kind::load:
                return drawn_.contains(e.where / line_size);
            case event_kind::noted:
                return e.value != 0 && touches(e.where, e.value);
            default:
                return true;
        }
    }

    bool touches(u64 where, u64 size) const {
        const auto first = drawn_.lower_bound(where / line_size);
        return first != drawn_.end() && *first <= (where + size - 1) / line_size;
    }

    timeline_row row(u32 number) const {
        timeline_row r;
        r.what = told_.trace[number];
        r.number = number;
        r.place = places_.text(r.what.pc);
        if (r.what.kind == event_kind::store) {
            const auto unsure = fates_.find(number);
            r.became = unsure == fates_.end() ? fate::sure : unsure->second;
        }
        if (r.what.kind == event_kind::begin || r.what.kind == event_kind::end) {
            r.label = who_ != nullptr ? who_->describe_operation(r.what.value)
                                      : fmt::format("operation {}", r.what.value);
        }
        if (r.what.kind == event_kind::point) {
            const auto& names = recorder::points();
            r.label = r.what.value < names.size() ? names[r.what.value] : "?";
            r.place.clear();
        }
        return r;
    }

    /// Drops fences before the first store, which concern other lines.
    static void trim(std::vector<timeline_row>& rows) {
        const auto first = std::find_if(rows.begin(), rows.end(), [](const timeline_row& r) {
            return r.what.kind == event_kind::store || r.what.kind == event_kind::length ||
                   r.what.kind == event_kind::link || r.what.kind == event_kind::begin;
        });
        rows.erase(rows.begin(), first);
    }

    const told_stage& told_;
    const source_places& places_;
    const target* who_;
    bool only_operations_;
    crash_model model_;
    std::set<u64> drawn_;
    std::map<u32, fate> fates_;
};

std::string words_of_probe(const finding& f) {
    switch (f.asked) {
        case probe::recovery:
            return "recovery";
        case probe::question:
            return fmt::format("question {} after recovery", f.question);
        case probe::inspection:
            return "inspection of everything";
        case probe::work:
            return "further work";
        case probe::run:
            return "what the run itself returned";
    }
    return "";
}

}  // namespace

std::string_view to_string(fate f) noexcept {
    switch (f) {
        case fate::none:
            return "";
        case fate::sure:
            return "sure";
        case fate::reached:
            return "reached";
        case fate::lost:
            return "LOST";
    }
    return "";
}

std::vector<bool> stores_in(const line_state& line, const line_content& content) {
    const std::size_t count = line.entries().size();
    for (std::size_t prefix = 0; prefix <= count; ++prefix) {
        std::vector<std::size_t> free;
        for (std::size_t i = prefix + 1; i < count; ++i) {
            if (line.entries()[i].needs <= prefix) free.push_back(i);
        }
        for (const u64 mask : masks_of(free.size())) {
            std::vector<bool> taken(count, false);
            std::fill_n(taken.begin(), prefix, true);
            for (std::size_t i = 0; i < free.size(); ++i) {
                if ((mask >> std::min<std::size_t>(i, 63) & 1) != 0) taken[free[i]] = true;
            }
            if (with(line, taken) == content) return taken;
        }
    }
    return std::vector<bool>(count, false);
}

timeline make_timeline(std::string title, const finding& f, const std::vector<told_stage>& stages,
                       const source_places& places, const target* who) {
    timeline t;
    t.title = std::move(title);
    t.what = f.what;
    t.asked = words_of_probe(f);
    // A result returned before any crash does not depend on lines.
    const bool is_of_run = f.asked == probe::run;
    for (const told_stage& s : stages) {
        t.stages.push_back(stage_drawer(s, places, who, is_of_run).draw());
    }
    return t;
}

std::string heading(const timeline& t, std::size_t i) {
    const std::string which = fmt::format("crash {} of {}", i + 1, t.stages.size());
    if (t.stages[i].killed) return which + ": the process is killed, and the machine goes on";
    if (i == 0) return which;
    return which + (t.stages[i - 1].killed ? ", in the process behind the one that was killed"
                                           : ", during the recovery from the one before");
}

namespace detail {

namespace {

/// Appends [from, to), without its middle if it is longer than `most`.
void append(excerpt& e, std::size_t from, std::size_t to, std::size_t most) {
    const bool is_long = to - from > most;
    const std::size_t side = is_long ? most / 2 : to - from;
    for (std::size_t i = from; i < from + side; ++i) e.rows.push_back(i);
    if (!is_long) return;
    e.rows.push_back(excerpt::gap);
    e.gaps.push_back(to - from - 2 * side);
    for (std::size_t i = to - side; i < to; ++i) e.rows.push_back(i);
}

/// Marks stores that were not durable at the crash; if there are many, only the first and last.
std::vector<bool> loud(const std::vector<timeline_row>& rows, std::size_t most) {
    std::vector<std::size_t> unsure;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const fate f = rows[i].became;
        if (f == fate::reached || f == fate::lost) unsure.push_back(i);
    }
    std::vector<bool> keep(rows.size(), false);
    for (std::size_t i = 0; i < unsure.size(); ++i) {
        keep[unsure[i]] = i < most / 2 || i + most / 2 >= unsure.size();
    }
    return keep;
}

}  // namespace

excerpt excerpt_of(const std::vector<timeline_row>& rows, std::size_t most) {
    constexpr std::size_t more = 5;
    const std::vector<bool> keep = loud(rows, more * most);
    excerpt e;
    for (std::size_t from = 0; from < rows.size();) {
        std::size_t to = from;
        while (to < rows.size() && !keep[to]) ++to;
        append(e, from, to, most);
        if (to < rows.size()) e.rows.push_back(to);
        from = to + 1;
    }
    return e;
}

std::string_view to_string(store_kind k) noexcept {
    switch (k) {
        case store_kind::plain:
            return "plain";
        case store_kind::relaxed:
            return "relaxed";
        case store_kind::release:
            return "release";
        case store_kind::piece:
            return "piece";
        case store_kind::stream:
            return "streamed";
        case store_kind::file:
            return "by file";
    }
    return "";
}

std::string words_of(const timeline_row& r) {
    const event& e = r.what;
    switch (e.kind) {
        case event_kind::store:
            return fmt::format("{:0{}x} {}", e.value, 2 * e.size, to_string(e.how));
        case event_kind::noted:
            return fmt::format("{} bytes", e.value);
        case event_kind::begin:
            return r.label;
        case event_kind::end:
            return fmt::format("{}: {}", r.label, e.where);
        case event_kind::announced:
            return fmt::format("epoch {}", e.value);
        case event_kind::point:
            return r.label;
        case event_kind::length:
            return fmt::format("{} bytes", e.value);
        case event_kind::load:
            return fmt::format("of event {}{}", e.value, e.acquires ? ", acquire" : "");
        default:
            return "";
    }
}

}  // namespace detail
}  // namespace hf::lab
