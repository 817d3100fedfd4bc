// art/scan.hpp: part of art.hpp: scans in both directions.
//
// A node's entries have positions: 0 is the key that ends there, 1 + byte that of a slot. A scan
// keeps a stack of the nodes on its path, each with the position where it continues. It collects
// references to up to 128 records, from as many nodes as necessary, before it reads any of them: so
// all of them, and the next nodes, are prefetched in parallel. These cache misses dominate a scan.
//
// A scan may or may not see concurrent changes. It visits each entry that exists during the whole
// scan exactly once: a node's replacement has the same positions (I1), and an old node does not
// change any more (I5).
#pragma once

#include "index/art/art.hpp"
#include "index/art/in_order.hpp"
#include "index/common/scan.hpp"

#include <limits>

namespace hf {

namespace art_detail {

/// Prefetches all lines of a node.
[[gnu::always_inline]] inline void load_node(const node* n, what kind) noexcept {
    const auto* line = reinterpret_cast<const char*>(n);
    const u64 bytes = std::min<u64>(size_of(kind), sizeof(node48));
    for (u64 i = 0; i < bytes; i += line_size) __builtin_prefetch(line + i);
}

}  // namespace art_detail

template <class D, class Keys>
struct art<D, Keys>::scan_state {
    static constexpr u32 none = ~u32{0};
    static constexpr u32 most_collected = 128;
    struct level {
        node* n;
        what kind;
        u32 next;       ///< position; above 256: none left
        u32 ahead = 0;  ///< an N256: its nodes are prefetched up to this position
    };
    /// Collected records of one node: those from the end of the previous run to `end`.
    struct run {
        node* n;
        what kind;
        u32 end;
    };
    std::vector<level> way;
    bool exclusive = false;      ///< excludes the bound itself
    bool may_be_beyond = false;  ///< the first collected record may be out of bounds
    u64 wanted = 0;
    u32 count = 0;
    u32 runs_count = 0;
    std::array<u64, most_collected> words;
    std::array<const published*, most_collected> slots;
    std::array<run, most_collected> runs;

    [[nodiscard]] u64 room() const noexcept {
        return std::min<u64>(most_collected, wanted) - count;
    }
    void add(u64 word, const published& slot) noexcept {
        words[count] = word;
        slots[count++] = &slot;
    }
    /// Ends a run: the records added since the last one are from this node. Returns whether there
    /// are any.
    bool end_run(node* n, what kind) noexcept {
        if (count == (runs_count == 0 ? 0 : runs[runs_count - 1].end)) return false;
        runs[runs_count++] = {n, kind, count};
        return true;
    }
    void clear() noexcept { count = runs_count = 0; }
    /// Prefetches the next few nodes below an N256.
    template <bool Up>
    void look_ahead(level& l, const std::byte* base) const noexcept {
        constexpr u32 entries_of_a_node = 12;
        constexpr u32 most_nodes = 5;
        if (l.kind != what::n256) return;
        auto& n = *static_cast<art_detail::node256*>(l.n);
        u32 nodes = std::min(most_nodes, static_cast<u32>(room()) / entries_of_a_node);
        u32 at = l.next;
        for (; nodes > 0 && at - 1 < 256; at = Up ? at + 1 : at - 1) {
            const u64 w = n.slots[at - 1].load();
            if (!art_detail::slot_word::is_node(w)) continue;
            --nodes;
            if (l.ahead != 0 && (Up ? at <= l.ahead : at >= l.ahead)) continue;
            l.ahead = at;
            art_detail::load_node(
                object_at<node>(
                    base, region::near_offset(art_detail::slot_word::offset_of(w), alignof(node))),
                art_detail::slot_word::what_of(w));
        }
    }
};

/// Descends to the first entry in bounds.
template <class D, class Keys>
template <bool Up>
void art<D, Keys>::seek(operation& op, key bound, scan_state& s) const {
    using namespace art_detail;
    node* n = root_;
    auto kind = what::n256;
    for (u32 depth = 0;;) {
        const bool hints = node::has_hints(n->lock.load(), op.generation());
        const prefix p = prefix_of(n);
        // comparison of the node's keys with the bound; 0: the bound shares the node's path
        int order = 0;
        if (p.fits(depth) && p.length <= prefix::stored_bytes) {
            const u32 here = std::min(p.length, path::length(bound) - depth);
            const u64 mine = p.bytes >> (8 * (p.length - here));
            const u64 theirs = path::chunk(bound, depth, here);
            order = mine < theirs ? -1 : mine > theirs || here < p.length ? 1 : 0;
        } else if (const record* below = any_record(n, kind); below != nullptr) {
            const key other = Keys::key_of(*below);
            const u32 apart = path::first_difference(other, bound);
            if (apart < p.level) {
                if (apart == path::length(other)) op.fail(n, "a key is shorter than its way");
                order =
                    apart == path::length(bound) || path::at(other, apart) > path::at(bound, apart)
                        ? 1
                        : -1;
            }
        }
        if (order != 0) {
            if ((order > 0) == Up) s.way.push_back({n, kind, Up ? 0U : 256U});
            return;
        }
        op.took_step();
        if (path::length(bound) < p.level) op.fail(n, "a node's path is not that of its keys");
        if (path::length(bound) == p.level) {
            // The bound itself is the node's first key.
            u32 next = 0;
            if (s.exclusive) next = Up ? 1 : scan_state::none;
            s.way.push_back({n, kind, next});
            return;
        }
        const u8 byte = path::at(bound, p.level);
        const found_word slot = find(n, kind, byte, hints);
        note_slot(op, n, kind, slot.at);
        s.way.push_back({n, kind, Up ? byte + 2U : u32{byte}});
        if (slot.word == 0) return;
        if (!slot_word::is_node(slot.word)) {
            // Not compared with the bound yet: that would wait for the record's cache miss.
            s.may_be_beyond = true;
            collect(s, slot.word, *slot.at);
            s.end_run(n, kind);
            return;
        }
        n = node_of(slot.word);
        kind = slot_word::what_of(slot.word);
        load_node(n, kind);
        s.template look_ahead<Up>(s.way.back(), base_);
        depth = p.level + 1;
    }
}

template <class D, class Keys>
void art<D, Keys>::collect(scan_state& s, u64 word, const published& slot) const noexcept {
    __builtin_prefetch(record_of(word));
    s.add(word, slot);
}

/// Collects all records of an N4 that contains only records, if there is room. Most nodes below
/// another are such, and need not be pushed onto the stack.
template <class D, class Keys>
template <bool Up>
bool art<D, Keys>::collect_four(operation& op, scan_state& s, u64 word) const {
    using namespace art_detail;
    if (slot_word::what_of(word) != what::n4) return false;
    auto& n = *static_cast<node4*>(node_of(word));
    const four_in_order<Up> sorted(n);
    const u64 end = n.end.load();
    bool has_node = slot_word::is_node(end);
    for (const u64 w : sorted.words()) has_node |= slot_word::is_node(w);
    if (has_node || s.room() <= n.slots.size()) return false;
    if (Up && end != 0) collect(s, end, n.end);
    sorted.each(Up ? 0 : 256, [&](u64 w, u32 slot, u32 /*position*/) {
        collect(s, w, n.slots[slot]);
        return false;
    });
    if (!Up && end != 0) collect(s, end, n.end);
    if (!s.end_run(&n, what::n4)) note_slot(op, &n, what::n4, nullptr);
    return true;
}

/// Receives a node's entries in order; returns true to stop.
template <class D, class Keys>
template <bool Up>
struct art<D, Keys>::collector {
    const art& tree;
    operation& op;
    scan_state& s;
    node* n;
    what kind;
    u32 had = s.count;
    u32 full = s.count + static_cast<u32>(s.room());
    u32 last = 0;   ///< position of the last entry
    u64 child = 0;  ///< a node to descend into
    bool met_node = false;

    [[gnu::always_inline]] bool operator()(u64 word, const published& slot, u32 position) {
        last = position;
        if (!art_detail::slot_word::is_node(word)) [[likely]] {
            tree.collect(s, word, slot);
            return s.count == full;
        }
        met_node = true;
        s.end_run(n, kind);
        if (!tree.template collect_four<Up>(op, s, word)) child = word;
        return child != 0 || s.count == full;
    }
    /// For nodes with records, visit_collected() checks the lock.
    void end() {
        s.end_run(n, kind);
        if (met_node || s.count == had) note_slot(op, n, kind, nullptr);
    }
};

/// Collects the next records of the topmost node; false: the scan's end.
template <class D, class Keys>
template <bool Up>
bool art<D, Keys>::collect_next(operation& op, scan_state& s) const {
    using namespace art_detail;
    if (s.way.empty()) return false;
    if (s.way.size() > most_key_bytes + 1) op.fail(s.way.back().n, "nodes lead round in a circle");
    auto& top = s.way.back();
    collector<Up> put{*this, op, s, top.n, top.kind};
    const auto meet = [&](u64 word) { load_node(node_of(word), slot_word::what_of(word)); };
    const bool has_more = top.next <= 256 && visit_node(top.n, top.kind, [&](auto& n) {
                              return each_in_order<Up>(n, top.next, meet, put);
                          });
    put.end();
    if (!has_more) {
        s.way.pop_back();
        return true;
    }
    top.next = Up ? put.last + 1 : put.last == 0 ? scan_state::none : put.last - 1;
    if (put.child != 0) {
        op.took_step();
        node* child = node_of(put.child);
        const auto kind = slot_word::what_of(put.child);
        load_node(child, kind);
        s.template look_ahead<Up>(top, base_);
        s.way.push_back({child, kind, Up ? 0U : 256U});
    }
    return true;
}

/// Call after the records of a run were read: records the lines that may be volatile, of the node
/// and of records with integer values. A value changes under the node's lock as long as the slot
/// refers to its record.
template <class D, class Keys>
template <class Run>
void art<D, Keys>::note_run(operation& op, const scan_state& s, u32 begin,
                            const Run& r) const noexcept {
    const bool may_be_volatile = node::may_be_volatile(r.n->lock.load());
    if (may_be_volatile) [[unlikely]] {
        op.written(r.n, art_detail::size_of(r.kind));
    }
    if constexpr (Keys::inline_values) {
        for (u32 i = begin; i < r.end; ++i) {
            if (may_be_volatile || s.slots[i]->load() != s.words[i]) [[unlikely]] {
                op.written_line(record_of(s.words[i]));
            }
        }
    }
}

/// Reads and visits the collected records. Returns how many were in bounds.
template <class D, class Keys>
template <bool Up, class Visit>
u64 art<D, Keys>::visit_collected(operation& op, scan_state& s, const key& bound,
                                  Visit&& visit) const {
    std::array<value, scan_state::most_collected> values;  // NOLINT(*-member-init): by count
    for (u32 i = 0; i < s.count; ++i) values[i] = Keys::value_if_sound(*record_of(s.words[i]));
    u32 begin = 0;
    for (u32 i = 0; i < s.runs_count; begin = s.runs[i++].end) note_run(op, s, begin, s.runs[i]);
    op.persist_dependencies();
    u32 first = 0;
    if (s.may_be_beyond && s.count != 0) {
        const int c = path::compare(key_in(s.words[0]), bound);
        if ((Up ? c < 0 : c > 0) || (c == 0 && s.exclusive)) first = 1;
        s.may_be_beyond = false;
    }
    for (u32 i = first; i < s.count; ++i) visit(key_in(s.words[i]), values[i]);
    const u32 visited = s.count - first;
    s.clear();
    return visited;
}

/// A long scan consists of several operations, so that memory unlinked meanwhile can be freed.
template <class D, class Keys>
template <bool Up, class Visit>
u64 art<D, Keys>::scan_from(eager_space& space, const key* bound, u64 most, Visit&& visit) const {
    constexpr u64 an_operation = 4096;
    using kept_key = std::conditional_t<std::is_same_v<key, std::string_view>, std::string, key>;
    kept_key from(*bound);
    u64 visited = 0;
    scan_state s;
    s.way.reserve(16);
    for (bool more = true; more && visited < most;) {
        operation op(space);
        const u64 begin = visited;
        const u64 end = visited + std::min(most - visited, an_operation);
        s.way.clear();
        s.wanted = end - visited;
        s.may_be_beyond = false;
        const kept_key here = from;
        key last{};
        seek<Up>(op, here, s);
        while (visited < end && (more || s.count != 0)) {
            while (more && s.room() != 0) more = collect_next<Up>(op, s);
            visited += visit_collected<Up>(op, s, here, [&](const key& k, const value& v) {
                last = k;
                visit(k, v);
            });
            s.wanted = end - visited;
            op.arrived();
        }
        if (visited != begin) check_came_on<Up>(op, root_, key(here), last, s.exclusive);
        from = kept_key(last);
        s.exclusive = true;
    }
    return visited;
}

template <class D, class Keys>
template <class Visit>
void art<D, Keys>::for_each(eager_space& space, Visit&& visit) const {
    const key lowest{};
    scan_from<true>(space, &lowest, std::numeric_limits<u64>::max(), visit);
}

}  // namespace hf
