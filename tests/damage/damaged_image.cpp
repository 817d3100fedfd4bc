#include "damage/damaged_image.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <iterator>

namespace hf::damage_test {

std::vector<target> make_targets(image_file& file, u64 seed) {
    std::vector<target> all;
    const auto add = [&](u64 n, bool crashes, u64 names, unsigned steps) {
        target& t = all.emplace_back();
        t.v = make_victim(file,
                          {.seed = seed + n, .crashes = crashes, .names = names, .steps = steps});
        file.write(t.v);
        t.where = find_places(file.path(), t.v.used);
    };
    add(1, false, 500, 1000);
    add(2, true, 500, 1000);
    add(3, true, 60, 300);
    add(4, false, 4000, 6000);
    add(5, true, 4000, 6000);
    return all;
}

namespace {

/// Small regions are as good as large ones, and quicker; but interior nodes take some.
const target& choose_target(const std::vector<target>& all, xoshiro256ss& r) {
    static constexpr unsigned shares[] = {7, 14, 18, 19, 20};  // of 20, added up
    const auto drawn = r.below(20);
    return all[static_cast<std::size_t>(std::ranges::upper_bound(shares, drawn) -
                                        std::begin(shares))];
}

part choose_part(const places& where, xoshiro256ss& r) {
    for (;;) {
        // Some have bytes that are looked at in one way only.
        const auto p = static_cast<part>(r.below(parts));
        const bool is_simple = p <= part::segment_entry;
        if (is_simple && r.below(4) != 0) continue;
        if (!where[static_cast<unsigned>(p)].empty()) return p;
    }
}

const place& choose_object(const places& where, part p, xoshiro256ss& r) {
    const auto& all = where[static_cast<unsigned>(p)];
    return all[r.below(all.size())];
}

u64 choose_place(const places& where, part p, xoshiro256ss& r) {
    const place& one = choose_object(where, p, r);
    return one.offset + r.below(one.size);
}

bool is_node(part p) { return p >= part::root_leaf && p <= part::interior; }

/// Those that take the library long to notice, or little to do, are rare.
edit_kind choose_kind(part p, xoshiro256ss& r) {
    if (r.below(3) != 0) return edit_kind::bit;
    const auto kind = static_cast<edit_kind>(r.below(edit_kinds));
    const bool is_rare = kind == edit_kind::end || (kind == edit_kind::held && is_node(p));
    const bool is_none = kind == edit_kind::held && !is_node(p);
    return is_none || (is_rare && r.below(4) != 0) ? edit_kind::any_word : kind;
}

}  // namespace

damaged_image draw(const std::vector<target>& targets, u64 seed, u64 number) {
    xoshiro256ss r(seed ^ number * 0x9e3779b97f4a7c15);
    const target& t = choose_target(targets, r);
    damaged_image made;
    made.v = &t.v;
    made.hit = choose_part(t.where, r);
    const u64 edits = r.below(3) != 0 ? 1 : 1 + r.below(4);
    for (u64 i = 0; i < edits; ++i) {
        const part p = i == 0 || r.below(2) != 0 ? made.hit : choose_part(t.where, r);
        const edit_kind kind = choose_kind(p, r);
        const bool needs_other = kind == edit_kind::other_line || kind == edit_kind::other_block ||
                                 kind == edit_kind::swapped_page;
        // Another of the same kind is what is believed most easily.
        const u64 value = needs_other ? choose_place(t.where, p, r) : r();
        const u64 at = kind == edit_kind::held ? choose_object(t.where, p, r).offset
                                               : choose_place(t.where, p, r);
        made.edits.push_back({at, kind, static_cast<u32>(value)});
    }
    made.seed = r();
    return made;
}

std::string damaged_image::describe() const {
    std::string text = std::string(name_of(hit)) + ": ";
    for (const edit& e : edits) {
        if (&e != edits.data()) text += "; ";
        text += damage_test::describe(e, v->used);
    }
    return text;
}

}  // namespace hf::damage_test
