#include "damage/damaged_image.hpp"

#include <holdfast/eager.hpp>

#include "base/random.hpp"
#include "damage/eager_trial.hpp"

#include <algorithm>
#include <iterator>

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
    // Small regions are as good as large ones, and faster; only interior nodes require many keys.
    add(1, false, 500, 1000, 7);
    add(2, true, 500, 1000, 7);
    add(3, true, 60, 300, 4);
    add(4, false, 4000, 6000, 1);
    add(5, true, 4000, 6000, 1);
}

/// Checkpointed regions whose trees have inlined values.
void add_inlined_targets(std::vector<target>& all, image_file& file, u64 seed) {
    for (const bool crashes : {false, true}) {
        target& t = all.emplace_back();
        t.v = make_victim(file, {.seed = seed + (crashes ? 31U : 30U),
                                 .crashes = crashes,
                                 .names = 500,
                                 .steps = 1000,
                                 .inlined = true});
        file.write(t.v);
        t.where = find_places(file.path(), t.v.used);
        t.share = 5;
    }
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
            for (const char* keys : {"bytes", "integers"}) {
                target& direct = all.emplace_back();
                direct.v = make_eager_victim(
                    file, {.seed = seed + n, .crashes = crashes, .index = index, .keys = keys});
                direct.where = find_eager_blocks(file.path(), direct.v.image, direct.v.locks);
                direct.share = 2;
            }
        }
    }
}

}  // namespace

std::vector<target> make_targets(image_file& file, u64 seed, const std::string& regions) {
    std::vector<target> all;
    if (regions == "all" || regions == "epochs") add_epoch_targets(all, file, seed);
    if (regions == "all" || regions == "epochs" || regions == "inlined") {
        add_inlined_targets(all, file, seed);
    }
    if (regions != "epochs" && regions != "inlined") {
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
    if (!where[static_cast<unsigned>(part::eager_words)].empty()) {
        return r.below(5) != 0 ? part::eager_words : part::sealed_header;
    }
    constexpr auto of_epochs = static_cast<unsigned>(part::eager_words);
    for (;;) {
        // Some parts are read by one operation only.
        const auto p = static_cast<part>(r.below(of_epochs));
        const bool is_simple = p < part::sealed_header;
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

/// A target for a word of an eager region: another block of the same kind, itself, the block that
/// refers to it, a record, the middle of a block, or nothing.
u64 choose_goal(const places& where, const place& self, xoshiro256ss& r) {
    constexpr u64 few_lines = 4;
    const u64 other = choose_object(where, part::eager_node, r).offset;
    switch (r.below(8)) {
        case 0:
            return self.offset;
        case 1:
            return self.from / 32 * 32;
        case 2:
            if (where[static_cast<unsigned>(part::eager_record)].empty()) return other;
            return choose_object(where, part::eager_record, r).offset;
        case 3:
            return other + 8 * r.below(8 * few_lines);
        case 4:
            return r.below(4) == 0 ? r.below(u64{64} << 20) : 0;
        default:
            return other;
    }
}

edit draw_eager_edit(const target& t, part& hit, xoshiro256ss& r) {
    constexpr u64 first_words = 8;
    constexpr u64 word = 8;
    constexpr part kinds[] = {part::eager_node, part::eager_node, part::eager_node,
                              part::eager_node, part::eager_node, part::eager_record,
                              part::eager_words};
    hit = kinds[r.below(std::size(kinds))];
    const bool has_records = !t.where[static_cast<unsigned>(part::eager_record)].empty();
    if (hit == part::eager_record && !has_records) hit = part::eager_node;
    const place& self = choose_object(t.where, hit, r);
    const u64 words = self.size / word;
    const u64 at = self.offset +
                   word * r.below(r.below(2) == 0 ? std::min(words, first_words) : words) +
                   r.below(word);
    const auto goal = static_cast<u32>(choose_goal(t.where, self, r));
    switch (r.below(10)) {
        case 0:
        case 1:
            return {at, edit_kind::bit, static_cast<u32>(r())};
        case 2:
            return {at, edit_kind::near_word, static_cast<u32>(r())};
        case 3:
            return {at, r.below(2) == 0 ? edit_kind::any_word : edit_kind::zero_word,
                    static_cast<u32>(r())};
        case 4:
            return {at, edit_kind::other_line, goal};
        case 5:
            return {at, r.below(2) == 0 ? edit_kind::leads_high : edit_kind::other_block, goal};
        default:
            return {at, edit_kind::leads, goal};
    }
}

void draw_eager(damaged_image& made, const target& t, xoshiro256ss& r) {
    constexpr u64 most = 12;
    const u64 edits = r.below(2) != 0 ? 1 : 1 + r.below(most);
    for (u64 i = 0; i < edits; ++i) {
        part hit = part::eager_node;
        made.edits.push_back(draw_eager_edit(t, hit, r));
        if (i == 0) made.hit = hit;
    }
    made.seed = r();
}

/// Kinds that take the library long to detect, or that have little effect, are rare.
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
    if (!t.v.keys.empty()) {
        draw_eager(made, t, r);
        return made;
    }
    made.hit = choose_part(t.where, r);
    const u64 edits = r.below(3) != 0 ? 1 : 1 + r.below(4);
    for (u64 i = 0; i < edits; ++i) {
        const part p = i == 0 || r.below(2) != 0 ? made.hit : choose_part(t.where, r);
        const edit_kind kind =
            p == part::sealed_header ? edit_kind::sealed_word : choose_kind(p, r);
        made.is_sealed = made.is_sealed || kind == edit_kind::sealed_word;
        const bool needs_other = kind == edit_kind::other_line || kind == edit_kind::other_block ||
                                 kind == edit_kind::swapped_page;
        // Damage that refers to a place of the same kind is the hardest to detect.
        const u64 value = needs_other ? choose_place(t.where, p, r) : r();
        const u64 at = kind == edit_kind::held ? choose_object(t.where, p, r).offset
                                               : choose_place(t.where, p, r);
        made.edits.push_back({at, kind, static_cast<u32>(value)});
    }
    made.seed = r();
    return made;
}

std::string damaged_image::describe() const {
    std::string text = v->index.empty() ? name_of(hit) : v->index;
    if (!v->keys.empty()) text += "." + v->keys + ", " + name_of(hit);
    text += ": ";
    for (const edit& e : edits) {
        if (&e != edits.data()) text += "; ";
        text += damage_test::describe(e, v->used);
    }
    return text;
}

}  // namespace hf::damage_test
