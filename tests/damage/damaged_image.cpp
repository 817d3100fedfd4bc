#include "damage/damaged_image.hpp"

#include <holdfast/eager.hpp>

#include "base/random.hpp"

namespace hf::damage_test {

namespace {

void add_epoch_targets(std::vector<target>& all, image_file& file, u64 seed) {
    const auto add = [&](u64 n, bool crashes, u64 names, unsigned steps, unsigned share) {
        target& t = all.emplace_back();
        t.v = make_victim(file,
                          {.seed = seed + n, .crashes = crashes, .names = names, .steps = steps});
        file.write(t.v);
        t.where = find_places(file.path(), t.v.used);
        t.share = share;
    };
    // Small regions are as good as large ones, and quicker; but interior nodes take some.
    add(1, false, 500, 1000, 7);
    add(2, true, 500, 1000, 7);
    add(3, true, 60, 300, 4);
    add(4, false, 4000, 6000, 1);
    add(5, true, 4000, 6000, 1);
}

void add_eager_targets(std::vector<target>& all, image_file& file, u64 seed,
                       const std::string& only) {
    u64 n = 6;
    for (const std::string& index : eager_index_names()) {
        for (const bool crashes : {false, true}) {
            ++n;
            if (only != "eager" && only != index) continue;
            target& t = all.emplace_back();
            t.v = make_victim(file, {.seed = seed + n,
                                     .crashes = crashes,
                                     .names = 500,
                                     .steps = 1000,
                                     .index = index});
            t.where = find_eager_places(t.v.image);
            t.share = 1;
        }
    }
}

}  // namespace

std::vector<target> make_targets(image_file& file, u64 seed, const std::string& regions) {
    std::vector<target> all;
    if (regions == "all" || regions == "epochs") add_epoch_targets(all, file, seed);
    if (regions != "epochs") {
        add_eager_targets(all, file, seed, regions == "all" ? "eager" : regions);
    }
    require(!all.empty(), "there are no such regions");
    return all;
}

namespace {

const target& choose_target(const std::vector<target>& all, xoshiro256ss& r) {
    u64 sum = 0;
    for (const target& t : all) sum += t.share;
    u64 left = r.below(sum);
    for (const target& t : all) {
        if (left < t.share) return t;
        left -= t.share;
    }
    return all.back();
}

part choose_part(const places& where, xoshiro256ss& r) {
    if (!where[static_cast<unsigned>(part::eager_words)].empty()) return part::eager_words;
    constexpr auto of_epochs = static_cast<unsigned>(part::eager_words);
    for (;;) {
        // Some have bytes that are looked at in one way only.
        const auto p = static_cast<part>(r.below(of_epochs));
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
    std::string text = (v->index.empty() ? name_of(hit) : v->index) + std::string(": ");
    for (const edit& e : edits) {
        if (&e != edits.data()) text += "; ";
        text += damage_test::describe(e, v->used);
    }
    return text;
}

}  // namespace hf::damage_test
