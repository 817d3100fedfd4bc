// art/scan.hpp: a part of art.hpp: entries in order, upwards and downwards.
//
// A node's entries have positions: 0 is the key that ends there, 1 + byte that of a slot. A scan
// keeps the nodes on its way with the position where each goes on, and looks at one node's records
// at a time: all of them begin to be loaded before the first is read.
//
// What changes beside a scan it finds or does not. What is there all the time it finds once: the
// positions below a node that was replaced are those of its replacement (I1), and an old node does
// not change any more (I5).
#pragma once

#include "index/art/art.hpp"

#include <limits>

namespace hf {

namespace art_detail {

struct entry {
    u64 word;
    u32 position;
};

/// Records of one node, in order, and the first node behind them.
struct entries {
    static constexpr u32 most = 64;
    std::array<entry, most> all;  // NOLINT(cppcoreguidelines-pro-type-member-init): by count
    u32 count = 0;

    /// Whether there is no need for more.
    bool put(u64 word, u32 position) noexcept {
        all[count++] = {word, position};
        return count == most || slot_word::is_node(word);
    }
};

/// The entries of a node from a position on.
template <bool Up>
inline void gather(node256& n, u32 from, u32 most, entries& out) noexcept {
    for (u32 i = from; Up ? i <= 256 : i <= from; Up ? ++i : --i) {
        const u64 w = i == 0 ? n.end.load() : n.slots[i - 1].load();
        if (w != 0 && (out.put(w, i) || out.count >= most)) return;
        if (!Up && i == 0) return;
    }
}
template <bool Up, class N>
inline void gather(N& n, u32 from, u32 most, entries& out) noexcept {
    std::array<u64, 256> words;  // NOLINT(cppcoreguidelines-pro-type-member-init): by the bits
    std::array<u64, 4> bits{};
    for (const published& s : n.slots) {
        const u64 w = s.load();
        if (w == 0) continue;
        const u8 byte = slot_word::byte_of(w);
        words[byte] = w;
        bits[byte / 64] |= u64{1} << (byte % 64);
    }
    const auto put_end = [&] {
        const u64 w = n.end.load();
        return w != 0 && (out.put(w, 0) || out.count >= most);
    };
    if constexpr (Up) {
        if (from == 0 && put_end()) return;
        const u32 first = from == 0 ? 0 : from - 1;
        for (u32 i = first / 64; i < 4; ++i) {
            u64 left = bits[i];
            if (i == first / 64) left &= ~u64{0} << (first % 64);
            for (; left != 0; left &= left - 1) {
                const u32 byte = i * 64 + static_cast<u32>(std::countr_zero(left));
                if (out.put(words[byte], byte + 1) || out.count >= most) return;
            }
        }
    } else {
        for (u32 i = from == 0 ? 0 : (from - 1) / 64 + 1; i-- > 0;) {
            u64 left = bits[i];
            if (i == (from - 1) / 64) left &= ~u64{0} >> (63 - (from - 1) % 64);
            while (left != 0) {
                const u32 bit = 63 - static_cast<u32>(std::countl_zero(left));
                left &= ~(u64{1} << bit);
                const u32 byte = i * 64 + bit;
                if (out.put(words[byte], byte + 1) || out.count >= most) return;
            }
        }
        put_end();
    }
}

}  // namespace art_detail

template <class D, class Keys>
struct art<D, Keys>::scan_state {
    static constexpr u32 whole_end = 257;
    struct level {
        node* n;
        what kind;
        u32 next;  ///< position; Up: whole_end is behind the last, down: `none` before the first
        u64 alone = 0;  ///< this record of it first, whatever has become of its slot
    };
    static constexpr u32 none = ~u32{0};
    std::vector<level> way;
    bool exclusive = false;  ///< the bound itself is left out
};

/// The way to the first entry in bounds.
template <class D, class Keys>
template <bool Up>
void art<D, Keys>::seek(operation& op, key bound, scan_state& s) const {
    using namespace art_detail;
    node* n = root_;
    auto kind = what::n256;
    for (u32 depth = 0;;) {
        const bool hints = node::has_hints(n->lock.load(), op.generation());
        const prefix p = prefix_of(n);
        int order = 0;  // of the node's keys, against the bound; 0: it shares the node's path
        if (p.fits(depth) && p.length <= prefix::stored_bytes) {
            const u32 here = std::min(p.length, path::length(bound) - depth);
            const u64 mine = p.bytes >> (8 * (p.length - here));
            const u64 theirs = path::chunk(bound, depth, here);
            order = mine < theirs ? -1 : mine > theirs || here < p.length ? 1 : 0;
        } else if (const record* below = any_record(n, kind); below != nullptr) {
            const key other = Keys::key_of(*below);
            const u32 apart = path::first_difference(other, bound);
            if (apart < p.level) {
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
        if (path::length(bound) == p.level) {
            // The bound itself is the node's first key.
            u32 next = 0;
            if (s.exclusive) next = Up ? 1 : scan_state::none;
            s.way.push_back({n, kind, next});
            return;
        }
        const u8 byte = path::at(bound, p.level);
        const found_word slot = find(n, kind, byte, hints);
        saw_slot(op, n, kind, slot.at);
        s.way.push_back({n, kind, Up ? byte + 2U : u32{byte}});
        if (slot.word == 0) return;
        if (!slot_word::is_node(slot.word)) {
            const int c = path::compare(key_in(slot.word), bound);
            if (Up ? c > 0 : c < 0) s.way.back().alone = slot.word;
            if (c == 0 && !s.exclusive) s.way.back().alone = slot.word;
            return;
        }
        n = node_of(slot.word);
        kind = slot_word::what_of(slot.word);
        depth = p.level + 1;
    }
}

/// Visits the next records, those of one node at most; false: there are none left.
template <class D, class Keys>
template <bool Up, class Visit>
bool art<D, Keys>::visit_next(operation& op, scan_state& s, u64 most, Visit&& visit) const {
    using namespace art_detail;
    if (s.way.empty()) return false;
    auto& top = s.way.back();
    entries found;
    if (top.alone != 0) {
        found.put(std::exchange(top.alone, 0), top.next);
    } else if (top.next <= 256) {
        const auto limit = static_cast<u32>(std::min<u64>(most, entries::most));
        visit_node(top.n, top.kind, [&](auto& n) { gather<Up>(n, top.next, limit, found); });
        const u32 last = found.count == 0 ? 0 : found.all[found.count - 1].position;
        if (found.count == 0 || (!Up && last == 0)) {
            top.next = scan_state::none;
        } else {
            top.next = Up ? last + 1 : last - 1;
        }
    }
    node* const n = top.n;
    const auto kind = top.kind;
    if (found.count == 0) {
        saw_slot(op, n, kind, nullptr);
        s.way.pop_back();
        return true;
    }
    if (const u64 last = found.all[found.count - 1].word; slot_word::is_node(last)) {
        node* child = node_of(last);
        const auto child_kind = slot_word::what_of(last);
        for (u64 i = 0; i < size_of(child_kind) && i < sizeof(node48); i += line_size) {
            __builtin_prefetch(reinterpret_cast<const char*>(child) + i);
        }
        s.way.push_back({child, child_kind, Up ? 0U : 256U});
        --found.count;
        if (kind == what::n256) {
            // The one behind it is met soon.
            entries after;
            const auto& above = s.way[s.way.size() - 2];
            if (above.next <= 256) gather<Up>(static_cast<node256&>(*n), above.next, 1, after);
            if (after.count != 0 && slot_word::is_node(after.all[0].word)) {
                const auto* next = reinterpret_cast<const char*>(node_of(after.all[0].word));
                const u64 size = size_of(slot_word::what_of(after.all[0].word));
                for (u64 i = 0; i < size && i < sizeof(node48); i += line_size) {
                    __builtin_prefetch(next + i);
                }
            }
        }
    }
    for (u32 i = 0; i < found.count; ++i) __builtin_prefetch(record_of(found.all[i].word));
    std::array<value, entries::most> values;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    for (u32 i = 0; i < found.count; ++i) {
        values[i] = Keys::value_of(*record_of(found.all[i].word));
    }
    if (node::is_unsure(n->lock.load(), op.generation())) [[unlikely]] {
        op.written(n, size_of(kind));
        if constexpr (Keys::inline_values) {
            for (u32 i = 0; i < found.count; ++i) op.written_line(record_of(found.all[i].word));
        }
    }
    if (found.count != 0) op.observed();
    for (u32 i = 0; i < found.count; ++i) visit(key_in(found.all[i].word), values[i]);
    return true;
}

/// A long scan is several operations: memory that is unlinked meanwhile need not wait for its end.
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
        s.way.clear();
        seek<Up>(op, from, s);
        const u64 end = visited + std::min(most - visited, an_operation);
        while (more && visited < end) {
            more = visit_next<Up>(op, s, end - visited, [&](const key& k, const value& v) {
                ++visited;
                if (visited == end && visited < most) from = kept_key(k);
                visit(k, v);
            });
        }
        op.observed();
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
