#include "crashlab/targets/index/eager_masstree_cases.hpp"

#include "crashlab/targets/eager/eager_cases.hpp"
#include "index/eager_masstree/eager_masstree.hpp"

namespace hf::lab {

// Keys by number; 0 to 199 are in order. As strings each of 0 to 199 has its own slice, except that
// every fourth extends the one before; 200 and up share three slices.
struct mt_numbers {};
struct mt_strings {};

template <>
struct lab_keys<mt_numbers> : lab_keys<integer_keys> {};
template <>
struct lab_keys<mt_strings> : lab_keys<byte_keys> {
    static std::string key(u64 number) {
        const auto two = [](u64 n) { return std::to_string(100 + n); };
        if (number >= 200) return std::string(24, 's') + two(number - 200);
        const u64 first = number - (number % 4 == 3 ? 1 : 0);
        return two(first) + std::string(5, 'k') + (number % 4 == 3 ? "more" : "");
    }
};

namespace {

using mt_number_session = eager_session<eager_masstree<eager_discipline, integer_keys>, mt_numbers>;
using mt_string_session = eager_session<eager_masstree<eager_discipline, byte_keys>, mt_strings>;

template <class S>
void mt_found(S& s, splitmix64&) {
    s.insert(1);
    s.get(1);
    s.insert(0);
}
template <class S>
void mt_insert_some(S& s, splitmix64& r) {
    s.insert(4 + r() % 3);
    s.insert(10 + r() % 3);
    s.get(2);
    s.insert(9);
}
/// 14 keys fill a leaf.
template <class S>
void mt_full_but_for_seven(S& s) {
    come<S, 0, 7>(s);
    come<S, 8, 15>(s);
}
template <class S>
void mt_split(S& s, splitmix64& r) {
    s.insert(7);
    s.insert(15);
    s.get(r() % 16);
    s.remove(r() % 14);
    s.upsert(15);
}
template <class S>
void mt_split_last(S& s, splitmix64& r) {
    come<S, 14, 16>(s);
    s.get(r() % 16);
    s.remove(r() % 14);
    s.upsert(15);
}
/// Keys that each have their own slice, in order.
constexpr u64 mt_part(u64 i) { return i / 3 * 4 + i % 3; }
/// Inserted in descending order, so that each leaf keeps 7 of them.
template <class S, u64 From, u64 To>
void mt_come_down(S& s) {
    for (u64 i = To; i > From; --i) s.insert(mt_part(i - 1));
}
template <class S, u64 From, u64 To>
void mt_go_down(S& s) {
    for (u64 i = To; i > From; --i) s.remove(mt_part(i - 1));
}
/// A parent of 14 children splits, and a root is added above it.
template <class S>
void mt_grow(S& s, splitmix64& r) {
    mt_come_down<S, 1, 10>(s);
    s.get(mt_part(r() % 100));
    s.remove(mt_part(8));
}
/// As mt_grow() at the right end, where the last leaf has 7 keys.
template <class S>
void mt_grow_last(S& s, splitmix64& r) {
    for (u64 i = 105; i < 115; ++i) s.insert(mt_part(i));
    s.get(mt_part(r() % 100));
    s.remove(mt_part(112));
}
template <class S>
void mt_leave_garbage(S& s) {
    come<S, 0, 40>(s);
    for (u64 k = 0; k < 40; k += 3) s.remove(k);
    for (u64 k = 1; k < 40; k += 6) s.upsert(k);
}
template <class S>
void mt_after_opening(S& s, splitmix64& r) {
    s.upsert(r() % 40);
    s.remove(r() % 40);
    for (u64 k = 60; k < 66; ++k) s.upsert(k);
}
template <class S>
void mt_layers(S& s, splitmix64& r) {
    s.insert(201);
    s.insert(202);
    s.get(200 + r() % 3);
    s.remove(200);
    s.upsert(201);
    s.insert(200);
}
/// Both threads insert into the same full leaf.
template <class S, bool Last>
void mt_split_together(S& s, unsigned thread, splitmix64& r) {
    for (unsigned i = 0; i < 3; ++i) {
        s.upsert((Last || i != 0 ? 13 + 2 * i : 7) + thread);
        s.get(r() % 14);
        s.remove(r() % 14);
    }
}
template <class S>
void mt_almost_full(S& s) {
    come<S, 0, 7>(s);
    come<S, 9, 15>(s);
}

// ------------------------------------------------------------------------------------ empty leaves

/// Leaves with parts 0 to 13, 14 to 20 and 21 to 27; only key 20 is left of the second.
template <class S>
void mt_three_leaves(S& s) {
    mt_come_down<S, 0, 28>(s);
    mt_go_down<S, 14, 20>(s);
}
/// The second leaf is unlinked; the first one has no room for new keys of its range.
template <class S>
void mt_unlink(S& s, splitmix64& r) {
    s.remove(mt_part(20));
    s.get(mt_part(13 + r() % 9));
    s.upsert(mt_part(14 + r() % 7));
    s.remove(mt_part(r() % 14));
    s.upsert(mt_part(20));
}
/// The second leaf is unlinked, and its memory becomes the right half of the third.
template <class S>
void mt_unlink_and_use_again(S& s, splitmix64& r) {
    s.remove(mt_part(20));
    s.space().grace().reclaim_all();
    for (u64 i = 28; i < 37; ++i) s.insert(mt_part(i));
    s.get(mt_part(r() % 36));
}
/// The third leaf is unlinked, and then the second.
template <class S>
void mt_unlink_last(S& s, splitmix64& r) {
    s.remove(mt_part(27));
    s.upsert(mt_part(22 + r() % 9));
    s.remove(mt_part(20));
    s.get(mt_part(20 + r() % 9));
}
template <class S>
void mt_three_leaves_of_few(S& s) {
    mt_three_leaves(s);
    mt_go_down<S, 21, 27>(s);
}
/// The second of two parents has the leaves from part 66 on, with 7 keys each.
template <class S>
void mt_only_child(S& s) {
    mt_come_down<S, 0, 115>(s);
    mt_go_down<S, 71, 115>(s);
    mt_go_down<S, 66, 70>(s);
}
template <class S>
void mt_unlink_parent(S& s, splitmix64& r) {
    s.remove(mt_part(70));
    s.get(mt_part(60 + r() % 20));
    s.upsert(mt_part(66 + r() % 20));
}
/// Its first leaf is empty, and so are all others but one.
template <class S>
void mt_two_children(S& s) {
    mt_come_down<S, 0, 115>(s);
    mt_go_down<S, 66, 73>(s);
    mt_go_down<S, 81, 115>(s);
    mt_go_down<S, 73, 80>(s);
}
template <class S>
void mt_unlink_lonely(S& s, splitmix64& r) {
    s.remove(mt_part(80));
    s.get(mt_part(60 + r() % 25));
    s.upsert(mt_part(66 + r() % 20));
}
/// Keys 13 to 25 have a leaf of their own.
template <class S>
void mt_unlink_without_memory(S& s, splitmix64& r) {
    for (u64 k = 13; k < 26; ++k) s.remove(k);
    s.get(10 + r() % 20);
    s.remove(39);
}
/// One thread removes the last key of a leaf while both insert others there.
template <class S>
void mt_unlink_together(S& s, unsigned thread, splitmix64& r) {
    for (unsigned i = 0; i < 3; ++i) {
        const u64 k = mt_part(i == 0 ? 20 : 18 + r() % 4);
        if (i == thread) {
            s.remove(mt_part(20));
        } else if (r() % 2 == 0) {
            s.upsert(k);
        } else {
            get_with_all(s, k, r);
        }
        r() % 3 == 0 ? s.upsert(mt_part(14 + thread)) : s.remove(mt_part(14 + r() % 8));
    }
}

// ----------------------------------------------------------------------------------- after a crash

using node_of_mt = eager_masstree_detail::node;

/// The words of a split that are durable after the crash. All three are in one line, so no persist
/// point separates them.
enum class mt_left : u8 { link_alone, link_and_bound, all };

/// The first node of the highest level.
template <class S>
node_of_mt& mt_top(S& s) {
    const region& file = s.space().file();
    const auto* root = file.at<eager_masstree_detail::root_block>(
        eager_must(file.find_root("index"))->value.load());
    return *file.at<node_of_mt>(root->word.load());
}
/// A process died while it split a leaf of 14 keys, 2 not among them, before it inserted the
/// separator: for key 2 in the middle, or for 15 at its end.
template <class S, mt_left Left, u64 Key = 2>
void mt_died_splitting(S& s) {
    using namespace eager_masstree_detail;
    come<S, 0, 2>(s);
    come<S, 3, 15>(s);
    die_at(s, "masstree M2", [&] {
        typename S::operation op(s.space());
        static_cast<void>(s.index().insert(op, S::names::key(Key), S::names::value(1)));
    });
    s.open();
    const region& file = s.space().file();
    node& n = mt_top(s);
    if (Left != mt_left::all) n.order.fill((n.order.load() & ~u64{15}) | 14);
    if (Left == mt_left::link_alone) n.last.fill(file.at<node>(n.next.load())->last.load());
}
/// Replaces or removes records of the first leaf.
template <class S>
void mt_change_first_leaf(S& s, splitmix64& r) {
    s.upsert(r() % 5);
    s.remove(5);
}
/// Works only in the second leaf: of the first one, only the sweep meets what the dead process
/// left. Reuses what the sweep has freed.
template <class S>
void mt_work_in_second_leaf(S& s) {
    for (u64 i = 0; i < 16; ++i) s.upsert(13 + i % 3);
}

template <class S>
void mt_after_half_split(S& s, splitmix64& r) {
    s.get(r() % 14);
    if (r() % 2 == 0) s.upsert(2);  // the repaired left half has room
    r() % 2 == 0 ? s.upsert(r() % 3) : s.remove(r() % 3);
    s.upsert(11 + r() % 3);
    s.insert(20);
    s.remove(12);
}

/// The right half becomes empty; the left half, which still has the moved pairs, takes over its
/// range.
template <class S>
void mt_empty_right_half(S& s, splitmix64& r) {
    for (u64 k = 8; k < 15; ++k) s.remove(k);
    s.get(8 + r() % 7);
}

enum class mt_unlinked : u8 { unposted, bound_alone, all };
/// A process died while it unlinked the second leaf.
template <class S, mt_unlinked Left>
void mt_died_unlinking(S& s) {
    mt_three_leaves(s);
    const auto first = [&]() -> node_of_mt& {
        const node_of_mt& top = mt_top(s);
        return *s.space().file().template at<node_of_mt>(top.pair_at(top.used(), 0).word.load());
    };
    const u64 second = first().next.load();
    die_at(s, Left == mt_unlinked::unposted ? "masstree M5" : "masstree M6",
           [&] { s.remove(mt_part(20)); });
    s.open();
    if (Left == mt_unlinked::bound_alone) first().next.fill(second);
}
template <class S>
void mt_after_half_unlink(S& s, splitmix64& r) {
    s.get(mt_part(14 + r() % 8));
    if (r() % 2 == 0) s.remove(mt_part(r() % 14));
    s.upsert(mt_part(14 + r() % 7));
    s.remove(mt_part(21 + r() % 3));
    s.upsert(mt_part(14 + r() % 9));
}

using view = std::string_view;
using namespace eager_points;
constexpr view mt_m1 = "masstree M1: a right half is durable before its left half leads to it";
constexpr view mt_m2 = "masstree M2: a split is durable before its separator";
constexpr view mt_m3 = "masstree M3: a separator is durable before the left half is unlocked";
constexpr view mt_m4 = "masstree M4: a layer is durable before the word that leads to it";
constexpr view mt_m5 = "masstree M5: a separator is durably gone before its child's range is";
constexpr view mt_m6 = "masstree M6: a node is durably unlinked before it is gone";

template <class S>
std::vector<eager_case<S>> make_mt_cases(const char* kind) {
    const auto n = [kind](const char* name) { return eager_case_name("masstree", kind, name); };
    return {
        {n("found"), "a tree is made in a new region", nullptr, mt_found<S>, {p2}, true},
        {n("insert"), "keys come", come<S, 0, 4>, mt_insert_some<S>, {p1, p2}},
        {n("batch"), "keys come at once", come<S, 0, 5>, come_at_once<S, 5, 11>, {p1, p2}},
        {n("split_batch"),
         "more keys come at once than a leaf has room for",
         come<S, 0, 9>,
         come_at_once<S, 9, 18>,
         {p1, p2, mt_m1, mt_m2, mt_m3}},
        {n("update"), "values change", come<S, 0, 6>, change_some<S>, {p2}},
        {n("remove"), "keys go, and come again", come<S, 0, 8>, remove_some<S, 8>, {p2}},
        {n("empty"), "the last keys go", come<S, 0, 3>, go<S, 0, 3>, {p2}},
        {n("split"),
         "a full leaf is split, and a root comes above it",
         mt_full_but_for_seven<S>,
         mt_split<S>,
         {mt_m1, mt_m2, mt_m3}},
        {n("split_last"),
         "the last leaf is full, and keys come behind it",
         come<S, 0, 14>,
         mt_split_last<S>,
         {mt_m1, mt_m2, mt_m3}},
        {n("grow"),
         "a full interior node is split, and a root comes above it",
         mt_come_down<S, 10, 115>,
         mt_grow<S>,
         {mt_m1, mt_m2, mt_m3}},
        {n("grow_last"),
         "the last of a level's nodes is full, and leaves come behind it",
         mt_come_down<S, 0, 105>,
         mt_grow_last<S>,
         {mt_m1, mt_m2, mt_m3}},
        {n("unlink"),
         "a leaf runs empty and goes",
         mt_three_leaves<S>,
         mt_unlink<S>,
         {mt_m5, mt_m6}},
        {n("unlink_reuse"),
         "a leaf runs empty and goes, and its memory is used again",
         mt_three_leaves<S>,
         mt_unlink_and_use_again<S>,
         {mt_m5, mt_m6, mt_m1}},
        {n("unlink_last"),
         "the last leaves run empty and go",
         mt_three_leaves_of_few<S>,
         mt_unlink_last<S>,
         {mt_m5, mt_m6}},
        {n("unlink_parent"),
         "an only child goes, and its parent",
         mt_only_child<S>,
         mt_unlink_parent<S>,
         {mt_m5, mt_m6}},
        {n("unlink_lonely"),
         "a first child goes, and its parent, behind the others",
         mt_two_children<S>,
         mt_unlink_lonely<S>,
         {mt_m5, mt_m6}},
        {n("open"),
         "an opening with its sweep, and work behind it",
         mt_leave_garbage<S>,
         mt_after_opening<S>,
         {o1},
         true},
        {n("unlinked"),
         "a right half that never got its keys",
         mt_died_splitting<S, mt_left::link_alone>,
         mt_after_half_split<S>,
         {o1, p2},
         true},
        {n("doubled"),
         "keys that both halves have",
         mt_died_splitting<S, mt_left::link_and_bound>,
         mt_after_half_split<S>,
         {o1, p2},
         true},
        {n("nameless"),
         "a right half that its parent does not name",
         mt_died_splitting<S, mt_left::all>,
         mt_after_half_split<S>,
         {o1, p2},
         true},
        {n("doubled_last"),
         "a key that both halves have",
         mt_died_splitting<S, mt_left::link_and_bound, 15>,
         mt_after_half_split<S>,
         {o1, p2},
         true},
        {n("doubled_and_unlinked"),
         "keys that both halves have, of which the right one runs empty",
         mt_died_splitting<S, mt_left::link_and_bound>,
         mt_empty_right_half<S>,
         {o1, mt_m5, mt_m6},
         true},
        {n("unposted"),
         "an empty leaf that its parent does not name",
         mt_died_unlinking<S, mt_unlinked::unposted>,
         mt_after_half_unlink<S>,
         {o1, p2},
         true},
        {n("absorbed"),
         "an empty leaf whose range its neighbour has",
         mt_died_unlinking<S, mt_unlinked::bound_alone>,
         mt_after_half_unlink<S>,
         {o1, p2},
         true},
        {n("gone"),
         "locks of one who has unlinked a leaf",
         mt_died_unlinking<S, mt_unlinked::all>,
         mt_after_half_unlink<S>,
         {o1, p2},
         true},
        {.name = n("unlink_no_memory"),
         .what = "a leaf goes where there is no memory",
         .prepare = many_and_no_memory<S>,
         .run = mt_unlink_without_memory<S>,
         .points = {mt_m5, mt_m6},
         .most_bytes = u64{2} << 20},
        two_threads<S>(n("threads"), "two threads change the same keys", come<S, 0, 6>, {p2},
                       work_beside_another<S>),
        without_memory<S>(n("no_memory")),
        unswept<S>(n("unswept")),
        peeking<S>(n("peek"), come<S, 0, 6>),
        two_threads<S>(n("read"), "one thread reads what another changes", come<S, 0, 6>, {p2, p3},
                       read_or_change<S>),
        two_threads<S>(n("split_threads"), "two threads split a leaf", mt_almost_full<S>,
                       {mt_m1, mt_m2, mt_m3}, mt_split_together<S, false>),
        two_threads<S>(n("split_last_threads"), "two threads bring keys behind a full leaf",
                       come<S, 0, 13>, {mt_m1, mt_m2, mt_m3}, mt_split_together<S, true>),
        two_threads<S>(n("unlink_threads"), "two threads at a leaf that goes", mt_three_leaves<S>,
                       {mt_m5, mt_m6}, mt_unlink_together<S>),
    };
}

const std::vector<eager_case<mt_number_session>>& mt_number_cases() {
    static const auto all = make_mt_cases<mt_number_session>("");
    return all;
}
const std::vector<eager_case<mt_string_session>>& mt_string_cases() {
    using session = mt_string_session;
    static const auto all = [] {
        auto cases = make_mt_cases<session>("bytes.");
        cases.push_back({eager_case_name("masstree", "bytes.", "layers"),
                         "keys that share three slices make layers",
                         come<session, 200, 201>,
                         mt_layers<session>,
                         {mt_m4, p2}});
        cases.push_back({.name = eager_case_name("masstree", "bytes.", "unvisited"),
                         .what = "work behind a kill, elsewhere",
                         .prepare = come<session, 0, 16>,
                         .run = mt_change_first_leaf<session>,
                         .points = {p2},
                         .work_first = mt_work_in_second_leaf<session>});
        return cases;
    }();
    return all;
}

/// The order words of a batch do not depend on each other.
const lint_rules& mt_rules_for(std::string_view name) {
    return name.ends_with("batch") ? eager_rules_for_groups() : eager_rules();
}

}  // namespace

const std::vector<target_description>& eager_masstree_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        for (const auto& c : mt_number_cases())
            found.push_back(describe(c, "eager_masstree", mt_rules_for(c.name)));
        for (const auto& c : mt_string_cases())
            found.push_back(describe(c, "eager_masstree", mt_rules_for(c.name)));
        return found;
    }();
    return all;
}

}  // namespace hf::lab
