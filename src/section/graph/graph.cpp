#include "section/graph/graph.hpp"

#include "base/check.hpp"
#include "base/clock.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>

namespace hf::graph {
namespace {

/// A gap is closed after this many stores or entries, so that its thread's stores become stable,
/// and its lane's log does not fill.
constexpr u64 max_gap_stores = 64;
/// Entries that a section's end and its dependences may take after its last store.
constexpr u64 reserved_entries = 2 * max_lanes;
/// Beyond this many, entries of locks that need no dependence any more are looked for.
constexpr std::size_t max_idle_locks = 4096;

/// Adds the lines of [offset, offset + n), except for those that were added lately.
void note_lines(std::vector<u64>& lines, u64 offset, u64 n) {
    constexpr std::size_t lately = 8;
    for (u64 l = offset / line_size; l <= (offset + n - 1) / line_size; ++l) {
        const auto from = lines.end() - static_cast<std::ptrdiff_t>(std::min(lately, lines.size()));
        if (std::find(from, lines.end(), l) == lines.end()) lines.push_back(l);
    }
}

/// G7: whether the lines are one, and [offset, offset + n) lies in it. Of two the one with the
/// younger store might reach the medium alone.
bool lies_in_their_line(const std::vector<u64>& lines, u64 offset, u64 n) {
    return lines.size() == 1 && lines[0] == offset / line_size &&
           lines[0] == (offset + n - 1) / line_size;
}

}  // namespace

// ------------------------------------------------------------------------------- opening, closing

result<std::unique_ptr<graph_mode>> graph_mode::open(region& r, const graph_options& options) {
    if (r.med().is_atomic()) {
        return failure({errc::medium, "open the region in graph mode", r.path().string(),
                        "its image is journalled: stores reach the medium with an epoch, and no "
                        "log entry can be made durable before them",
                        "use the epoch mode, or a shared image on tmpfs or persistent memory"});
    }
    auto recovered = recover(r);
    if (!recovered) return tl::unexpected(recovered.error());
    std::unique_ptr<graph_mode> made(new graph_mode(r, options));
    made->recovered_ = *recovered;
    auto control = made->log_segment(control_owner);
    if (!control) return tl::unexpected(control.error());
    made->start_session(control->offset, recovered->session + 1);
    if (options.period.count() != 0) {
        graph_mode* const g = made.get();
        g->manager_.start([g]() -> std::chrono::nanoseconds {
            static_cast<void>(g->step());
            return g->options_.period;
        });
    }
    return made;
}

void graph_mode::start_session(u64 control, u64 number) {
    session_ = number;
    auto& word = *region_.at<u64>(control);
    ordered_store(word, pack_checked(number, region_seed(region_)));
    region_.med().persist(&word, sizeof word);
    HF_PERSIST_POINT("section_graph G6: session number durable before its first log");
}

graph_mode::~graph_mode() {
    manager_.stop();
    for (const auto& l : owned_lanes_) {
        if (l == nullptr) continue;
        close_gap(*l);
        HF_CHECK(!l->is_open, "graph mode is closed while a section is open");
        write_back(*l);
    }
    static_cast<void>(step());
}

result<segment> graph_mode::log_segment(u16 owner) {
    for (const segment& s : region_.segments()) {
        if (s.kind == segment_kind::section_log && s.owner == owner) return s;
    }
    const u64 bytes = owner == control_owner ? 1 : std::max<u64>(options_.log_bytes, 1);
    return region_.grow(segment_kind::section_log,
                        (bytes + layout::page_size - 1) / layout::page_size, owner);
}

result<lane_state*> graph_mode::attach(u32 index) {
    HF_CHECK(index < max_lanes, "a lane beyond the last one");
    if (lane_state* l = lanes_[index].load(std::memory_order_acquire)) return l;
    const std::lock_guard guard(lanes_mutex_);
    if (owned_lanes_[index] != nullptr) return owned_lanes_[index].get();
    auto space = log_segment(owner_of(index));
    if (!space) return tl::unexpected(space.error());
    const log_identity of{region_seed(region_), session_, index};
    owned_lanes_[index] = std::make_unique<lane_state>(index, region_, *space, of);
    lanes_[index].store(owned_lanes_[index].get(), std::memory_order_release);
    return owned_lanes_[index].get();
}

// ---------------------------------------------------------------------------------- a section

void graph_mode::begin(lane_state& l) {
    close_gap(l);
    HF_CHECK(!l.is_open, "an outermost section begins inside of a section");
    open_section(l, false);
}

bool graph_mode::try_begin(lane_state& l) {
    close_gap(l);
    if (!has_room(l)) return false;
    begin(l);
    return true;
}

void graph_mode::open_section(lane_state& l, bool gap) {
    wait_for_room(l);
    l.is_open = true;
    l.is_gap = gap;
    l.gap_stores = 0;
    l.logged.clear();
    l.log.append({.kind = entry_kind::begin, .clock = l.clock, .a = ++l.number});
    l.acquired.swap(l.depends_on);
    l.depends_on.clear();
    depend_on(l, l.acquired);
}

void graph_mode::end(lane_state& l) {
    HF_CHECK(l.is_open && !l.is_gap, "a section ends that has not begun");
    close_section(l);
}

void graph_mode::close_section(lane_state& l) {
    write_back(l);
    HF_PERSIST_POINT("section_graph G2: a section's stores durable before its end entry");
    l.log.append({.kind = entry_kind::end, .clock = l.clock, .a = l.number});
    l.is_open = false;
    l.is_gap = false;
    l.sections.add_one();
    const std::lock_guard guard(l.mutex);
    l.closed.push_back({l.log.next(), static_cast<u32>(l.depends_on.size())});
    l.closed_depends_on.insert(l.closed_depends_on.end(), l.depends_on.begin(), l.depends_on.end());
    l.depends_on.clear();
}

void graph_mode::write_back(lane_state& l) const {
    if (l.lines.empty()) return;
    region_.med().flush_lines(region_.base(), l.lines.data(), l.lines.size());
    region_.med().fence();
    l.lines.clear();
}

void graph_mode::acquired(lane_state& l, const void* object, access how) {
    l.acquired.clear();
    l.clock = std::max(l.clock, locks_.acquire(object, how, l.acquired)) + 1;
    depend_on(l, l.acquired);
}

void graph_mode::releasing(lane_state& l, const void* object, access how) {
    close_gap(l);
    // Outside of sections: a thread that acquires the object depends on all that this
    // one has acquired, and on stores that needed no entry and are not durable yet. A section
    // without stores carries both.
    if (!l.is_open && (!l.depends_on.empty() || !l.lines.empty())) {
        open_section(l, true);
        close_section(l);
    }
    locks_.release(object, how, {l.index, l.number}, l.clock);
}

bool graph_mode::is_kept(const section_id& id) const noexcept {
    const lane_state* other = lanes_[id.lane].load(std::memory_order_acquire);
    return other != nullptr && id.number <= other->kept.load(std::memory_order_acquire);
}

/// Outside of a section they are kept for the next one.
void graph_mode::depend_on(lane_state& l, const std::vector<section_id>& others) {
    for (const section_id& id : others) {
        if (id.lane == l.index || id.number <= l.newest_dependence[id.lane] || is_kept(id)) {
            continue;
        }
        const auto same = std::find_if(l.depends_on.begin(), l.depends_on.end(),
                                       [&](const section_id& s) { return s.lane == id.lane; });
        if (same != l.depends_on.end() && same->number >= id.number) continue;
        if (same != l.depends_on.end()) {
            same->number = id.number;
        } else {
            l.depends_on.push_back(id);
        }
        if (!l.is_open) continue;
        l.newest_dependence[id.lane] = id.number;
        if (l.log.used() + 1 >= l.log.capacity()) fatal("a section is longer than its lane's log");
        l.log.append({.kind = entry_kind::depends, .clock = l.clock, .a = id.lane, .b = id.number});
    }
}

// ------------------------------------------------------------------------------------- stores

void graph_mode::before_store(lane_state& l, const void* p, u64 n) {
    if (n == 0) return;
    const u64 offset = region_.offset_of(p);
    HF_CHECK(offset >= layout::page_size && offset + n <= region_.size(),
             "a store is announced that does not lie in the region");
    if (!l.is_open) {
        if (options_.elide_outside && l.depends_on.empty() &&
            l.kept.load(std::memory_order_acquire) >= l.number) {
            l.elided.add_one();
            if (!lies_in_their_line(l.lines, offset, n)) write_back(l);
            HF_PERSIST_POINT("section_graph G7: a store without an entry durable before the next");
            note_lines(l.lines, offset, n);
            return;
        }
        open_section(l, true);
    } else if (l.is_gap && l.gap_stores >= max_gap_stores) {
        close_section(l);
        open_section(l, true);
    }
    const u64 before = l.log.next();
    log_store(l, offset, n);
    l.gap_stores += std::max<u64>(l.log.next() - before, 1);
}

void graph_mode::log_store(lane_state& l, u64 offset, u64 n) {
    bool logged = false;
    for (u64 at = offset; at < offset + n;) {
        const u64 size = std::min(offset + n - at, 8 - at % 8);
        const auto mask = static_cast<u8>(((1U << size) - 1) << (at % 8));
        if (!l.logged.covers(at / 8, mask)) {
            if (l.log.used() + reserved_entries >= l.log.capacity()) {
                fatal(
                    "a section is longer than its lane's log; open the region with more log_bytes");
            }
            log_entry e{.kind = entry_kind::store,
                        .size = static_cast<u8>(size),
                        .clock = l.clock,
                        .a = at};
            std::memcpy(&e.b, region_.at<std::byte>(at), size);
            l.log.append(e);
            logged = true;
        }
        at += size;
    }
    // Bytes that were logged before are in the list already, unless it was written back since: it
    // is emptied only where a section ends.
    if (!logged) return;
    l.log.persist();
    HF_PERSIST_POINT("section_graph G1: undo entry durable before the store");
    note_lines(l.lines, offset, n);
}

// ------------------------------------------------------------------------------------- the manager

void graph_mode::wait_for_room(lane_state& l) {
    if (has_room(l)) return;
    waits_.fetch_add(1, std::memory_order_relaxed);
    const u64 begin = now_ns();
    const auto limit = static_cast<u64>(std::chrono::nanoseconds(options_.patience).count());
    while (!has_room(l)) {
        if (step()) continue;
        if (now_ns() - begin > limit) {
            fatal(
                "a section log stays full: a section that others depend on does not end; "
                "raise log_bytes, or look for a section that waits for ever");
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

u64 graph_mode::settle(lane_state& l) {
    HF_CHECK(!l.is_open || l.is_gap, "a thread waits for stability inside of a section");
    close_gap(l);
    write_back(l);  // stores that needed no entry
    return l.number;
}

bool graph_mode::are_all_kept() const {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const auto& slot) {
        lane_state* const l = slot.load(std::memory_order_acquire);
        if (l == nullptr) return true;
        const std::lock_guard guard(l->mutex);
        return l->closed.empty();
    });
}

result<void> graph_mode::wait_stable(lane_state& l, std::chrono::milliseconds limit) {
    const u64 newest = settle(l);
    const u64 begin = now_ns();
    while (l.kept.load(std::memory_order_acquire) < newest) {
        if (step()) continue;
        if (now_ns() - begin > static_cast<u64>(std::chrono::nanoseconds(limit).count())) {
            return failure({errc::busy, "wait until sections are stable", region_.path().string(),
                            "a section that they depend on has not ended within " +
                                std::to_string(limit.count()) + " ms",
                            "end that section, or wait longer"});
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return {};
}

lane_history graph_mode::history_of(lane_state& l) const {
    lane_history h;
    const std::lock_guard guard(l.mutex);
    h.kept = l.kept.load(std::memory_order_relaxed);
    h.sections.reserve(l.closed.size());
    auto from = l.closed_depends_on.begin();
    for (const closed_section& c : l.closed) {
        const auto to = from + c.depends_on;
        h.sections.push_back({true, {from, to}});
        from = to;
    }
    return h;
}

bool graph_mode::step() {
    const std::lock_guard guard(step_mutex_);
    std::vector<lane_history> histories(max_lanes);
    std::vector<u64> written(max_lanes);
    for (u32 i = 0; i < max_lanes; ++i) {
        lane_state* l = lanes_[i].load(std::memory_order_acquire);
        if (l == nullptr) continue;
        histories[i] = history_of(*l);
        written[i] = l->log.next();
    }
    const std::vector<u64> cut = largest_consistent_cut(histories);
    bool grows = false;
    for (u32 i = 0; i < max_lanes; ++i) grows |= cut[i] > histories[i].kept;
    if (grows) keep(cut, written);
    return grows;
}

void graph_mode::keep(const std::vector<u64>& cut, const std::vector<u64>& written) {
    const auto each = [&](const auto& work) {
        for (u32 i = 0; i < max_lanes; ++i) {
            lane_state* l = lanes_[i].load(std::memory_order_acquire);
            if (l != nullptr && cut[i] > l->kept.load(std::memory_order_relaxed)) work(*l, i);
        }
    };
    each([&](lane_state& l, u32 i) { l.log.flush_written(written[i]); });
    region_.med().fence();
    HF_PERSIST_POINT("section_graph G3: entries of a cut durable before the heads");
    std::vector<u64> ends(max_lanes);
    each([&](lane_state& l, u32 i) {
        l.log.set_durable(written[i]);
        const std::lock_guard guard(l.mutex);
        const u64 count = cut[i] - l.kept.load(std::memory_order_relaxed);
        ends[i] = l.closed[count - 1].end;
        const auto last = l.closed.begin() + static_cast<std::ptrdiff_t>(count);
        const auto dependences = std::accumulate(
            l.closed.begin(), last, std::ptrdiff_t{0},
            [](std::ptrdiff_t sum, const closed_section& c) { return sum + c.depends_on; });
        l.closed.erase(l.closed.begin(), last);
        l.closed_depends_on.erase(l.closed_depends_on.begin(),
                                  l.closed_depends_on.begin() + dependences);
        l.log.drop_until(cut[i], ends[i]);
    });
    region_.med().fence();
    HF_PERSIST_POINT("section_graph G4: heads durable before their space is used again");
    each([&](lane_state& l, u32 i) {
        l.log.reuse_until(ends[i]);
        l.kept.store(cut[i], std::memory_order_release);
    });
    if (locks_.size() > max_idle_locks) {
        locks_.drop_stable([this](const section_id& id) { return is_kept(id); });
    }
}

graph_statistics graph_mode::stats() const {
    graph_statistics s;
    s.waits = waits_.load(std::memory_order_relaxed);
    for (const auto& slot : lanes_) {
        const lane_state* l = slot.load(std::memory_order_acquire);
        if (l == nullptr) continue;
        s.sections += l->sections.get();
        s.elided_stores += l->elided.get();
        s.kept += l->kept.load(std::memory_order_relaxed);
        s.entries += l->log.next();
    }
    return s;
}

}  // namespace hf::graph
