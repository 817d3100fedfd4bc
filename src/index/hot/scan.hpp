// hot/scan.hpp: a part of hot.hpp: entries in order, upwards and downwards.
//
// A scan keeps the nodes on its way, and where each goes on: upwards the next entry's number,
// downwards how many entries are left. It collects up to 128 records and reads none of these
// before, so that all of them are loaded at once; and it begins to load the next nodes early.
//
// What changes beside a scan it finds or does not. What is there all the time it finds once: an
// entry's keys are the same as long as its node lives (I1, I2), whatever stands below it.
#pragma once

#include "index/common/scan.hpp"
#include "index/hot/hot.hpp"

#include <limits>

namespace hf {

template <class D, class Keys>
struct hot<D, Keys>::scan_state {
    static constexpr u32 most_collected = 128;
    /// Neighbouring words of one node, in the order of the scan: those from the end of the run
    /// before it to `end`.
    struct run {
        const published* first;
        const node_lock* lock;
        u32 end;
    };
    way nodes;
    bool exclusive = false;     ///< the bound itself is left out
    bool is_in_bounds = false;  ///< what comes now; what comes first may be on the other side
    u64 wanted = 0;
    u32 count = 0;
    u32 runs_count = 0;
    std::array<u64, most_collected> words;
    std::array<run, most_collected> runs;

    [[nodiscard]] u64 room() const noexcept {
        return std::min<u64>(most_collected, wanted) - count;
    }
    void begin_run(const published& slot, const node_lock& lock) noexcept {
        runs[runs_count++] = {&slot, &lock, count};
    }
    void collect(u64 word) noexcept {
        words[count++] = word;
        runs[runs_count - 1].end = count;
    }
    void clear() noexcept { count = runs_count = 0; }
};

/// The way to the first entry in bounds.
template <class D, class Keys>
template <bool Up>
void hot<D, Keys>::seek(operation& op, key bound, scan_state& s) const {
    using namespace hot_detail;
    const u64 word = descend(op, bound, s.nodes);
    if (word == 0) return;
    const key there = key_in(word);
    if (s.nodes.empty()) {
        const int order = path::compare(there, bound);
        const bool is_in = order == 0 ? !s.exclusive : (order > 0) == Up;
        if (is_in && slot_word::what_of(word) == what::record) {
            s.begin_run(root_->word, root_->lock);
            s.collect(word);
        }
        return;
    }
    const u32 bit = path::first_difference(there, bound);
    const bool is_there = bit == path::bits;
    if (!is_there) s.nodes.cut(level_of(s.nodes, bit) + 1);
    for (u32 i = 0; Up && i + 1 < s.nodes.size(); ++i) ++s.nodes[i].index;
    level& last = s.nodes.back();
    if (is_there) {
        if (s.exclusive == Up) ++last.index;
        return;
    }
    draft d;  // NOLINT(cppcoreguidelines-pro-type-member-init): load() fills it
    if (!d.has_room_for(last.n, last.word)) {
        op.fail(last.n, "a node's mask does not suit its entries");
    }
    d.load(last.n, last.word);
    const auto [from, to] = d.sharing(last.index, d.rank_of(bit));
    last.index = path::bit(bound, bit) ? to + 1 : from;
}

/// Collects the next records of one node; false: there are none left.
template <class D, class Keys>
template <bool Up>
bool hot<D, Keys>::collect_next(operation& op, scan_state& s) const {
    using namespace hot_detail;
    if (s.nodes.empty()) return false;
    if (s.nodes.size() > 8 * (most_key_bytes + 1)) {
        op.fail(s.nodes.back().n, "nodes lead round in a circle");
    }
    level& top = s.nodes.back();
    node* n = top.n;
    const u64 word = top.word;
    const published* words = n->words(word);
    const u32 end = Up ? slot_word::count_of(word) : 0;
    u64 child = 0;
    u64 room = s.room();
    u32 i = Up ? std::min<u32>(top.index, end) : top.index;  // of a damaged word it may be beyond
    bool is_in_run = false;
    for (; i != end && room != 0 && child == 0; i = Up ? i + 1 : i - 1) {
        const published& slot = words[Up ? i : i - 1];
        const u64 w = slot.load();
        if (slot_word::what_of(w) == what::record) {
            __builtin_prefetch(record_of(w));
            if (!is_in_run) s.begin_run(slot, n->lock);
            is_in_run = true;
            s.collect(w);
            --room;
            continue;
        }
        is_in_run = false;
        if (slot_word::is_node(w)) child = w;
    }
    top.index = i;
    if (node::is_unsure(n->lock.load())) [[unlikely]] {
        op.written(n, size_of(word));
    }
    if (child != 0) {
        op.took_step();
        // Of the next few nodes a scan will need as many as it wants records.
        constexpr u32 ahead = 3;
        for (u32 j = 0; j < ahead && i != end && room > u64{8} * j; ++j, i = Up ? i + 1 : i - 1) {
            begin_loading(words[Up ? i : i - 1].load());
        }
        s.nodes.push({node_of(child), child, Up ? 0 : slot_word::count_of(child)});
    } else if (i == end) {
        s.nodes.pop();
    }
    return true;
}

/// The numbers of a run have been read: are they durable? The lock is that under which they change
/// as long as their slots lead to them.
template <class D, class Keys>
template <bool Up, class Run>
void hot<D, Keys>::saw_run(operation& op, const scan_state& s, u32 begin,
                           const Run& r) const noexcept {
    const bool is_unsure = node::is_unsure(r.lock->load());
    const auto slot = [&](u32 i) { return (Up ? r.first + i : r.first - i)->load(); };
    u64 moved = 0;
    for (u32 i = begin; i < r.end; ++i) moved |= slot(i - begin) ^ s.words[i];
    if (!is_unsure && moved == 0) [[likely]] {
        return;
    }
    for (u32 i = begin; i < r.end; ++i) {
        if (is_unsure || slot(i - begin) != s.words[i]) op.written_line(record_of(s.words[i]));
    }
}

/// The first of what has been collected that is in bounds. seek() went by the record that a word
/// led to; when the word was loaded again, it may have led to a new node, which has keys on the
/// bound's other side, too.
template <class D, class Keys>
template <bool Up>
u32 hot<D, Keys>::first_in_bounds(scan_state& s, key bound) const {
    u32 first = 0;
    for (; !s.is_in_bounds && first < s.count; ++first) {
        const int order = path::compare(key_in(s.words[first]), bound);
        s.is_in_bounds = order == 0 ? !s.exclusive : (order > 0) == Up;
        if (s.is_in_bounds) break;
    }
    return first;
}

/// Reads and visits what has been collected; how many there were in bounds.
template <class D, class Keys>
template <bool Up, class Visit>
u64 hot<D, Keys>::visit_collected(operation& op, scan_state& s, key bound, Visit&& visit) const {
    std::array<value, scan_state::most_collected> values;  // NOLINT(*-member-init): by count
    for (u32 i = 0; i < s.count; ++i) {
        values[i] = Keys::value_if_sound(*record_of(s.words[i]));
    }
    if constexpr (Keys::inline_values) {
        u32 begin = 0;
        for (u32 i = 0; i < s.runs_count; begin = s.runs[i++].end) {
            saw_run<Up>(op, s, begin, s.runs[i]);
        }
    }
    op.observed();
    const u32 first = first_in_bounds<Up>(s, bound);
    for (u32 i = first; i < s.count; ++i) visit(key_in(s.words[i]), values[i]);
    const u32 visited = s.count - first;
    s.clear();
    return visited;
}

/// A long scan is several operations: memory that is unlinked meanwhile need not wait for its end.
template <class D, class Keys>
template <bool Up, class Visit>
u64 hot<D, Keys>::scan_from(eager_space& space, const key* bound, u64 most, Visit&& visit) const {
    constexpr u64 an_operation = 4096;
    using kept_key = std::conditional_t<std::is_same_v<key, std::string_view>, std::string, key>;
    kept_key from(*bound);
    u64 visited = 0;
    scan_state s;
    for (bool more = true; more && visited < most;) {
        operation op(space);
        const u64 begin = visited;
        const u64 end = visited + std::min(most - visited, an_operation);
        s.nodes.clear();
        s.wanted = end - visited;
        s.is_in_bounds = false;
        key last{};
        seek<Up>(op, from, s);
        while (visited < end && (more || s.count != 0)) {
            while (more && s.room() != 0) more = collect_next<Up>(op, s);
            const u64 more_of_them =
                visit_collected<Up>(op, s, from, [&](const key& k, const value& v) {
                    last = k;
                    visit(k, v);
                });
            if (more_of_them != 0) op.arrived();
            visited += more_of_them;
            s.wanted = end - visited;
        }
        if (visited != begin) check_came_on<Up>(op, root_, key(from), last, s.exclusive);
        from = kept_key(last);
        s.exclusive = true;
    }
    return visited;
}

template <class D, class Keys>
template <class Visit>
void hot<D, Keys>::for_each(eager_space& space, Visit&& visit) const {
    const key lowest{};
    scan_from<true>(space, &lowest, std::numeric_limits<u64>::max(), visit);
}

}  // namespace hf
