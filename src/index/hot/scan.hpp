// hot/scan.hpp: part of hot.hpp: scans in both directions.
//
// A scan keeps a stack of the nodes on its path, each with its position: upwards the index of the
// next entry, downwards the number of entries left. It collects references to up to 128 records
// before it reads any of them, so that all are prefetched in parallel; the next nodes are
// prefetched, too.
//
// A scan may or may not see concurrent changes. It visits each entry that exists during the whole
// scan exactly once: an entry's keys stay the same as long as its node exists (I1, I2), whatever
// the entry points to.
#pragma once

#include "index/common/scan.hpp"
#include "index/hot/hot.hpp"

#include <limits>

namespace hf {

template <class D, class Keys>
struct hot<D, Keys>::scan_state {
    static constexpr u32 most_collected = 128;
    /// Adjacent words of one node, in the order of the scan: those from the end of the previous run
    /// to `end`.
    struct run {
        const published* first;
        const node_lock* lock;
        u32 end;
    };
    way nodes;
    bool exclusive = false;     ///< excludes the bound itself
    bool is_in_bounds = false;  ///< all further records are in bounds; the first ones may not be
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

/// Descends to the first entry in bounds.
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

/// Collects the next records of the topmost node; false: the scan's end.
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
    // in a damaged word the index may be out of range
    u32 i = Up ? std::min<u32>(top.index, end) : top.index;
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
    if (node::may_be_volatile(n->lock.load())) [[unlikely]] {
        op.written(n, size_of(word));
    }
    if (child != 0) {
        op.took_step();
        // Prefetch further children if the scan wants enough records to need them.
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

/// Call after the integer values of a run were read: records the lines that may be volatile. A
/// value changes under the run's lock as long as the slot refers to its record.
template <class D, class Keys>
template <bool Up, class Run>
void hot<D, Keys>::note_run(operation& op, const scan_state& s, u32 begin,
                            const Run& r) const noexcept {
    const bool may_be_volatile = node::may_be_volatile(r.lock->load());
    const auto slot = [&](u32 i) { return (Up ? r.first + i : r.first - i)->load(); };
    u64 moved = 0;
    for (u32 i = begin; i < r.end; ++i) moved |= slot(i - begin) ^ s.words[i];
    if (!may_be_volatile && moved == 0) [[likely]] {
        return;
    }
    for (u32 i = begin; i < r.end; ++i) {
        if (may_be_volatile || slot(i - begin) != s.words[i])
            op.written_line(record_of(s.words[i]));
    }
}

/// The index of the first collected record that is in bounds. seek() compared the record that a
/// word led to; when the word was loaded again, it may have led to a new node, which also has keys
/// out of bounds.
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

/// Reads and visits the collected records. Returns how many were in bounds.
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
            note_run<Up>(op, s, begin, s.runs[i]);
        }
    }
    op.persist_dependencies();
    const u32 first = first_in_bounds<Up>(s, bound);
    for (u32 i = first; i < s.count; ++i) visit(key_in(s.words[i]), values[i]);
    const u32 visited = s.count - first;
    s.clear();
    return visited;
}

/// A long scan consists of several operations, so that memory unlinked meanwhile can be freed.
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
