#include "crashlab/targets/index/art_cases.hpp"

#include "crashlab/targets/eager/eager_cases.hpp"
#include "index/art/art.hpp"

namespace hf::lab {

// Keys by number, chosen so that a few make a tree of any shape:
//     0 .. 59   siblings: all in one node
//    60 .. 66   each leaves the siblings' common path at one of its bytes, or ends there
//    70 .. 79   siblings of their own, branching off in the middle of that path
struct art_numbers {};
struct art_strings {};

template <>
struct lab_keys<art_numbers> : lab_keys<integer_keys> {
    static constexpr u64 key(u64 number) {
        constexpr u64 way = 0x0102030405060700;
        if (number < 60) return way + number;
        if (number < 70) return way ^ u64 { 0x80 } << (56 - 8 * (number % 7));
        return (way ^ u64{0x40} << 32) + number;
    }
};
template <>
struct lab_keys<art_strings> : lab_keys<byte_keys> {
    static std::string key(u64 number) {
        const std::string way = "a way that no node has room for/";
        if (number < 60) return way + static_cast<char>(number) + (number % 2 == 0 ? "" : "odd");
        if (number < 70) return way.substr(0, 3 * (number - 60));
        return way.substr(0, 12) + "brothers" + static_cast<char>(number);
    }
};

namespace {

using numbers = eager_session<art<eager_discipline, integer_keys>, art_numbers>;
using strings = eager_session<art<eager_discipline, byte_keys>, art_strings>;

template <class S>
void brothers(S& s, u64 from, u64 to) {
    for (u64 k = from; k < to; ++k) s.insert(k);
}
template <unsigned Count>
constexpr auto have = [](auto& s) { brothers(s, 0, Count); };

// -------------------------------------------------------------------------------------- operations

template <class S>
void insert_one(S& s, splitmix64&) {
    s.insert(1);
}
template <class S>
void insert_some(S& s, splitmix64& r) {
    s.insert(4 + r() % 3);
    s.insert(60 + r() % 3);
    s.get(2);
}
// ------------------------------------------------------------------------------------------ shapes

template <class S, u64 From, u64 To>
void insert_from_to(S& s, splitmix64& r) {
    for (u64 k = From; k < To; ++k) s.insert(k);
    s.upsert(r() % To);
}
template <class S, u64 From, u64 To>
void remove_from_to(S& s, splitmix64& r) {
    for (u64 k = From; k < To; ++k) s.remove(k);
    s.upsert(r() % From);
}
/// An N256 from which all but `Left` keys were removed.
template <class S, u64 Left>
void had_more(S& s) {
    brothers(s, 0, 50);
    for (u64 k = Left; k < 50; ++k) s.remove(k);
}
template <class S>
void push_down(S& s, splitmix64& r) {
    s.insert(1);
    s.insert(70);
    s.insert(60 + r() % 4);
    s.insert(71);
}
template <class S>
void split_prefixes(S& s, splitmix64& r) {
    const u64 first = r() % 7;
    s.insert(60 + first);
    s.insert(60 + (first + 2) % 7);
    s.insert(60 + (first + 5) % 7);
    s.get(1);
    s.insert(3);
}
/// Two child nodes of one node: when the second is removed, the first is merged with their parent.
template <class S>
void two_families(S& s) {
    brothers(s, 0, 3);
    brothers(s, 70, 72);
}
/// A node with one child node and one record: when the record is removed, node and child are
/// merged.
template <class S>
void have_and_leave(S& s) {
    brothers(s, 0, 3);
    s.insert(62);
}
template <class S>
void lose_a_family(S& s, splitmix64& r) {
    s.remove(70 + r() % 2);
    s.remove(70);
    s.remove(71);
    s.get(1);
    s.insert(5);
}
template <class S>
void lose_everything(S& s, splitmix64& r) {
    const u64 first = r() % 3;
    for (u64 k = 0; k < 3; ++k) s.remove((first + k) % 3);
    s.remove(71);
    s.remove(70);
    s.insert(70);
}
/// No memory for the smaller node that removes would switch to.
template <class S>
void have_five_and_no_memory(S& s) {
    brothers(s, 0, 5);
    s.use_up_memory();
}
template <class S>
void lose_all_five(S& s, splitmix64& r) {
    const u64 first = r() % 5;
    for (u64 k = 0; k < 5; ++k) s.remove((first + k) % 5);
    s.get(first);
}

// ----------------------------------------------------------------------------------- after a crash

template <class S>
void torn_by_a_split(S& s) {
    brothers(s, 0, 3);
    die_at(s, "art A2", [&] { s.insert(62); });
    s.open();  // the session under test is the second one
}
template <class S>
void torn_by_a_merge(S& s) {
    two_families(s);
    s.remove(70);
    die_at(s, "art A4", [&] { s.remove(71); });
    s.open();
}
template <class S>
void not_merged(S& s) {
    two_families(s);
    s.remove(70);
    // The word of 71 is durably removed; the merge has not begun.
    die_at(s, "eager P2", [&] { s.remove(71); });
    s.open();
}
template <class S>
void work_on_torn(S& s, splitmix64& r) {
    switch (r() % 4) {
        case 0:
            s.remove(1);
            break;
        case 1:
            s.update(1);
            break;
        case 2:
            s.insert(64);
            break;
        default:
            break;
    }
    s.insert(4);
    s.remove(0);
    s.get(2);
    s.upsert(71);
}
/// A batch has published a key before it meets a node that is its own child: the key is there.
void batch_meets_damage(numbers& s, splitmix64&) {
    using namespace art_detail;
    const region& file = s.space().file();
    const u64 root = eager_must(file.find_root("index"))->value.load();
    constexpr u8 first_byte = lab_keys<art_numbers>::key(63) >> 56;
    meet_damage(file.at<node256>(root)->slots[first_byte],
                slot_word::of(first_byte, what::n256, root), [&] { s.insert_many({6, 63}); });
    s.get(6);
    s.upsert(0);
}
/// Hints of the last session: a reader uses the words instead, a writer rebuilds the hints.
template <class S>
void old_hints(S& s, splitmix64& r) {
    const u64 k = r() % 9;
    s.get(k);
    s.get(30);
    s.insert(20 + k);
    s.remove(k);
    s.insert(k);
    s.get(20 + k);
}
template <class S>
void leave_garbage(S& s) {
    brothers(s, 0, 20);
    for (u64 k = 0; k < 20; k += 2) s.remove(k);
    for (u64 k = 1; k < 20; k += 4) s.upsert(k);
    s.insert(63);
}
template <class S>
void work_after_opening(S& s, splitmix64& r) {
    s.upsert(r() % 20);
    s.remove(r() % 20);
    s.upsert(60);
}

// ----------------------------------------------------------------------------------------- threads

/// One thread splits the path of the node that the other changes; then both merge it again.
template <class S>
void change_the_way(S& s, unsigned thread, splitmix64& r) {
    const u64 mine = thread == 0 ? 70 : 60 + r() % 5;
    for (unsigned i = 0; i < 3; ++i) {
        s.upsert(mine);
        if (r() % 2 == 0) s.get(r() % 3);
        s.upsert(thread + 4 * i);
        s.remove(mine);
    }
}
template <class S>
void grow_and_shrink(S& s, unsigned thread, splitmix64& r) {
    for (unsigned i = 0; i < 2; ++i) {
        for (u64 k = 0; k < 3; ++k) s.upsert(10 + 2 * k + thread);
        if (r() % 2 == 0) s.get(r() % 3);
        for (u64 k = 0; k < 3; ++k) s.remove(10 + 2 * k + thread);
    }
}

/// The slots of the changed key and of the key before it are in different lines: a scan that starts
/// between them has recorded only the first line.
template <class S>
void scan_on_or_change(S& s, unsigned thread, splitmix64& r) {
    if (thread == 1) {
        s.get_by_scanning_on(8);
    } else {
        r() % 2 == 0 ? s.upsert(8) : s.remove(8);
    }
}
template <class S>
eager_case<S> scanning_on(std::string_view name) {
    auto c = two_threads<S>(name, "a thread scans from one line to another that changes", have<12>,
                            {}, scan_on_or_change<S>);
    c.steps = 60;
    return c;
}

using view = std::string_view;
using namespace eager_points;
constexpr view a1 = "art A1: record and N4 of a prefix split are durable before the parent's slot";
constexpr view a2 = "art A2: the parent's slot is durable before the node's shorter prefix";
constexpr view a3 = "art A3: the shorter prefix is durable before the locks are given back";
constexpr view a4 = "art A4: the parent's slot is durable before the child's longer prefix";
constexpr view a5 = "art A5: the longer prefix is durable before the merged node is retired";
constexpr view a7 = "art A7: what takes a node's place is durable before the parent's slot";
constexpr view a8 = "art A8: the parent's slot is durable before the old node is retired";
constexpr view a9 = "art A9: a repaired prefix is durable before the locks are given back";

template <class S>
std::vector<eager_case<S>> make_cases(const char* kind) {
    const auto n = [kind](const char* name) { return eager_case_name("art", kind, name); };
    return {
        {n("found"), "a tree is made in a new region", nullptr, insert_one<S>, {p1, p2}, true},
        {n("insert"), "keys come", have<4>, insert_some<S>, {p1, p2}},
        {n("batch"), "keys come at once", have<20>, come_at_once<S, 20, 26>, {p1, p2}},
        {n("update"), "values change", have<6>, change_some<S>, {p2}},
        {n("remove"), "keys go, and come again", have<8>, remove_some<S, 8>, {p2}},
        {n("grow16"), "an N4 grows", have<3>, insert_from_to<S, 3, 6>, {a7, a8}},
        {n("grow48"), "an N16 grows", have<15>, insert_from_to<S, 15, 18>, {a7, a8}},
        {n("grow256"), "an N48 grows", have<46>, insert_from_to<S, 46, 49>, {a7, a8}},
        {n("shrink4"), "an N16 shrinks", had_more<S, 5>, remove_from_to<S, 2, 5>, {a7, a8}},
        {n("shrink16"), "an N48 shrinks", had_more<S, 14>, remove_from_to<S, 11, 14>, {a7, a8}},
        {n("shrink48"), "an N256 shrinks", had_more<S, 39>, remove_from_to<S, 36, 39>, {a7, a8}},
        {n("push_down"), "records are pushed down", have<1>, push_down<S>, {p1, p2}},
        {n("split"), "prefixes are split", have<3>, split_prefixes<S>, {a1, a2, a3}},
        {n("merge"), "a lone node is merged", two_families<S>, lose_a_family<S>, {a4, a5, a7, a8}},
        {n("empty"),
         "nodes go with their last keys",
         two_families<S>,
         lose_everything<S>,
         {a7, a8}},
        {n("empty16"),
         "a node that could not shrink goes with its last key",
         have_five_and_no_memory<S>,
         lose_all_five<S>,
         {a7, a8}},
        {n("repair_split"),
         "a prefix that a crash left too long is repaired",
         torn_by_a_split<S>,
         work_on_torn<S>,
         {a9},
         true},
        {n("repair_merge"),
         "a prefix that a crash left too short is repaired",
         torn_by_a_merge<S>,
         work_on_torn<S>,
         {a9},
         true},
        {n("lone"),
         "a node that a crash kept from being merged",
         not_merged<S>,
         work_on_torn<S>,
         {o1},
         true},
        {n("hints"),
         "hints of an earlier opening are not believed",
         have<10>,
         old_hints<S>,
         {o1},
         true},
        {n("open"),
         "an opening with its sweep, and work behind it",
         leave_garbage<S>,
         work_after_opening<S>,
         {o1},
         true},
        two_threads<S>(n("threads"), "two threads change the same keys", have<6>, {p2},
                       work_beside_another<S>),
        without_memory<S>(n("no_memory")),
        unswept<S>(n("unswept")),
        unswept_far<S>(n("unswept.far"), &S::remove),
        peeking<S>(n("peek"), have<6>),
        peeking<S, 6>(n("peek.add"), have<6>),
        peeking_at_new<S, 4>(n("peek.grow"), have<4>),
        peeking_at_new<S, 1>(n("peek.pair"), have<1>),
        peeking<S, 62>(n("peek.merge"), have_and_leave<S>),
        scanning_on<S>(n("peek.far")),
        pushing_down<S>(n("peek.push_down")),
        two_threads<S>(n("read"), "one thread reads what another changes", have<6>, {p2, p3},
                       read_or_change<S>),
        two_threads<S>(n("way_threads"), "two threads split and merge one way", have<3>, {a2, a4},
                       change_the_way<S>),
        two_threads<S>(n("grow_threads"), "two threads make a node grow and shrink", have<3>,
                       {a7, a8}, grow_and_shrink<S>),
    };
}

const std::vector<eager_case<numbers>>& number_cases() {
    static const auto all = [] {
        auto cases = make_cases<numbers>("");
        cases.push_back({"eager.art.damaged_batch",
                         "a batch meets damage behind its first key",
                         have<6>,
                         batch_meets_damage,
                         {p1, p2}});
        return cases;
    }();
    return all;
}
const std::vector<eager_case<strings>>& string_cases() {
    static const auto all = make_cases<strings>("bytes.");
    return all;
}

/// Hints and counts need not survive a crash (node.hpp).
const lint_rules& art_rules() {
    static const lint_rules rules = [] {
        lint_rules r = eager_rules();
        r.volatile_places.push_back({"index/art/node.hpp", {}});
        return r;
    }();
    return rules;
}

/// The words of a batch do not depend on each other.
const lint_rules& batch_rules() {
    static const lint_rules rules = [] {
        lint_rules r = art_rules();
        r.silent.push_back(rule::published_early);
        return r;
    }();
    return rules;
}
const lint_rules& rules_for(std::string_view name) {
    return name.ends_with("batch") ? batch_rules() : art_rules();
}

}  // namespace

const std::vector<target_description>& art_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        for (const auto& c : number_cases()) found.push_back(describe(c, "art", rules_for(c.name)));
        for (const auto& c : string_cases()) found.push_back(describe(c, "art", rules_for(c.name)));
        return found;
    }();
    return all;
}

}  // namespace hf::lab
