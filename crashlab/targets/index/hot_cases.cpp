#include "crashlab/targets/index/hot_cases.hpp"

#include "crashlab/targets/eager/eager_cases.hpp"
#include "index/hot/hot.hpp"

namespace hf::lab {

// Keys by number. 0 to 99 are siblings; 100 to 199 each extend one of them. Strings have more: 200
// to 299, each of which extends the previous one, so that the trie is one long path; 300 to 362,
// next to the first of these; and 363 to 369, next to the eleventh.
struct hot_numbers {};
struct hot_strings {};

template <>
struct lab_keys<hot_numbers> : lab_keys<integer_keys> {
    static u64 key(u64 number) { return number < 100 ? 4 * number : 4 * (number - 100) + 1; }
};
template <>
struct lab_keys<hot_strings> : lab_keys<byte_keys> {
    static std::string key(u64 number) {
        const std::string far(60, 'x');
        if (number < 100) return "a" + far + static_cast<char>(number);
        if (number < 200) return "a" + far + static_cast<char>(number - 100) + far + "end";
        if (number < 300) return std::string(number - 199, 'c');
        if (number < 363) return "c" + std::string(1, static_cast<char>(number - 299));
        return std::string(10, 'c') + static_cast<char>('d' + number - 363);
    }
};

namespace {

using namespace eager_points;
using hot_number_session = eager_session<hot<eager_discipline, integer_keys>, hot_numbers>;
using hot_string_session = eager_session<hot<eager_discipline, byte_keys>, hot_strings>;

// -------------------------------------------------------------------------------------- operations

template <class S>
void hot_found(S& s, splitmix64&) {
    s.insert(1);
    s.get(1);
    s.insert(2);
}
template <class S>
void hot_insert_some(S& s, splitmix64& r) {
    s.insert(4 + r() % 3);
    s.insert(100 + r() % 3);
    s.get(2);
    s.insert(60);
}
// ------------------------------------------------------------------------------------------ shapes

/// A node of 32 entries gets one too many: its halves go into the parent.
template <class S>
void hot_split(S& s, splitmix64& r) {
    s.insert(100 + r() % 30);
    s.insert(130);
    s.insert(131);
    s.get(1);
}
/// The nodes of the path are full up to the root: a split goes through all of them.
template <class S>
void hot_long_way(S& s) {
    come<S, 200, 262>(s);
}
template <class S>
void hot_tower(S& s, splitmix64& r) {
    come<S, 262, 268>(s);
    s.get(200 + r() % 60);
    s.remove(200 + r() % 60);
}
/// A full node below the first entry of a high root: a new level fits between them.
template <class S>
void hot_full_below_high(S& s) {
    come<S, 200, 270>(s);
    come<S, 300, 331>(s);
}
template <class S>
void hot_between(S& s, splitmix64& r) {
    come<S, 331, 334>(s);
    s.remove(300 + r() % 30);
    s.get(331);
}
/// A batch splits a full node twice, turns records into pairs, and adds to these.
template <class S>
void hot_many_at_once(S& s, splitmix64& r) {
    const u64 behind = 100 + r() % 20;
    s.insert_many({31, 32, behind, 33, 130, 131, 34, 60, 61, 126 + r() % 4, 35, 62, 151});
    s.get(32);
    s.upsert(behind);
}
template <class S>
void hot_found_at_once(S& s, splitmix64&) {
    s.insert_many({1, 0, 2});
    s.get(1);
}
template <class S>
void hot_leave_garbage(S& s) {
    come<S, 0, 40>(s);
    for (u64 k = 0; k < 40; k += 3) s.remove(k);
    for (u64 k = 1; k < 40; k += 6) s.upsert(k);
}
template <class S>
void hot_after_opening(S& s, splitmix64& r) {
    s.upsert(r() % 40);
    s.remove(r() % 40);
    s.upsert(60);
    s.upsert(101 + r() % 30);
}

// ------------------------------------------------------------------------------------ after a kill

/// The killed process was changing the root's word. The process that reclaims its lock has memory
/// for a record, but not for a node: it must unlock without a change.
template <class S>
void two_and_a_page(S& s) {
    come<S, 0, 2>(s);
    s.use_up_memory_but_a_page();
}
template <class S>
void collapse_root(S& s, splitmix64&) {
    s.remove(0);
}
template <class S>
void fail_to_insert(S& s) {
    s.upsert_or_fail(2);
    s.get(0);
    s.audit();  // sweeps: the next operations need memory
}
template <class S>
eager_case<S> unswept_full(std::string_view name) {
    return {.name = name,
            .what = "the same, where a node gets no memory",
            .prepare = two_and_a_page<S>,
            .run = collapse_root<S>,
            .points = {p2},
            .most_bytes = u64{2} << 20,
            .sweep = sweeping::by_hand,
            .work_first = fail_to_insert<S>};
}

// ----------------------------------------------------------------------------------------- threads

/// Both threads insert into the same full node, and into its parent.
template <class S>
void hot_split_together(S& s, unsigned thread, splitmix64& r) {
    for (unsigned i = 0; i < 3; ++i) {
        s.upsert(100 + 2 * (r() % 10) + thread);
        s.get(r() % 6);
        s.upsert(32 + thread + 2 * i);
    }
}
/// One thread replaces the root, or a record by a pair; the other inserts batches below it.
template <class S>
void hot_bring_below(S& s, unsigned thread, splitmix64& r) {
    for (u64 i = 0; i < 2; ++i) {
        if (thread == 0) {
            s.upsert(60 + r() % 3);
            s.upsert(130 + r() % 3);
            s.remove(60 + r() % 3);
        } else {
            s.insert_many({36 + 2 * i, 100 + i, 37 + 2 * i, 110 + i});
        }
    }
}
/// Small nodes are created and removed below one parent.
template <class S>
void hot_come_and_go(S& s, unsigned thread, splitmix64& r) {
    for (unsigned i = 0; i < 3; ++i) {
        s.upsert(32 + thread);
        if (r() % 2 == 0) s.get(32);
        s.remove(32 + (thread + i) % 2);
        s.upsert(60 + thread);
        s.remove(60 + thread);
    }
}

/// The root is high. A node below it has room, and so has that node's child.
template <class S>
void hot_three_levels(S& s) {
    come<S, 200, 268>(s);
    for (const u64 k : {220, 221, 250, 251, 252}) s.remove(k);
}
/// One thread replaces the middle node; the other inserts batches into the lowest one.
template <class S>
void hot_bring_far_below(S& s, unsigned thread, splitmix64& r) {
    if (thread == 0) {
        const u64 k = 363 + r() % 2;
        s.upsert(k);
        s.upsert(k + 2);
    } else {
        s.insert_many({250, 252});
        s.insert_many({251});
    }
}

/// A high root with one record and two nodes.
template <class S>
void hot_one_beside_nodes(S& s) {
    come<S, 0, 34>(s);
    s.insert(60);
}
/// One thread replaces the root twice; the other inserts a batch of one key next to the root's only
/// record, and needs no lock but the new root's.
template <class S>
void hot_bring_below_new(S& s, unsigned thread, splitmix64&) {
    if (thread == 1) return s.insert_many({160});
    s.upsert(80);
    s.remove(80);
}

using view = std::string_view;
constexpr view hot_h1 = "hot H1: record and all new nodes are durable before the topmost word";
constexpr view hot_h2 =
    "hot H2: the topmost word is durable before what it has replaced is retired";
constexpr view hot_h3 =
    "hot H3: the entry that is left is in the parent before its node is retired";

template <class S>
eager_case<S> below_new(std::string_view name) {
    auto c = two_threads<S>(name, "a batch below a root that is not durable yet",
                            hot_one_beside_nodes<S>, {p1, p2}, hot_bring_below_new<S>);
    c.steps = 160;
    return c;
}

template <class S>
std::vector<eager_case<S>> make_hot_cases(const char* kind) {
    const auto n = [kind](const char* name) { return eager_case_name("hot", kind, name); };
    return {
        {n("found"), "a trie is made in a new region", nullptr, hot_found<S>, {p1, p2}, true},
        {n("insert"), "keys come", come<S, 0, 4>, hot_insert_some<S>, {hot_h1, hot_h2}},
        {n("update"), "values change", come<S, 0, 6>, change_some<S>, {p2}},
        {n("remove"), "keys go, and come again", come<S, 0, 8>, remove_some<S, 8>, {hot_h2}},
        {n("root"),
         "a full root is split, and records are pushed down below the new one",
         come<S, 0, 31>,
         come_and_change<S, 31, 36>,
         {hot_h1, hot_h2}},
        {n("split"),
         "a full node is split, and its halves go into the parent",
         come<S, 0, 34>,
         hot_split<S>,
         {hot_h1, hot_h2}},
        {n("collapse"),
         "a node of two goes, and leaves one in its parent",
         come<S, 0, 36>,
         go<S, 32, 36>,
         {hot_h2, hot_h3}},
        {n("empty"), "the last keys go", come<S, 0, 3>, go<S, 0, 3>, {hot_h2, hot_h3}},
        {n("found_batch"),
         "a batch founds a trie",
         nullptr,
         hot_found_at_once<S>,
         {p1, p2, hot_h1},
         true},
        {n("batch"),
         "keys of one node come at once",
         come<S, 0, 20>,
         come_at_once<S, 20, 26>,
         {p1, p2, hot_h1, hot_h2}},
        {n("split_batch"),
         "a batch splits a full node, and makes others",
         come<S, 0, 31>,
         hot_many_at_once<S>,
         {p1, p2, hot_h1, hot_h2}},
        unswept_batch<S>(n("unswept_batch")),
        batch_threads<S>(n("batch_threads")),
        two_threads<S>(n("batch_below"), "a batch below what another changes", come<S, 0, 36>,
                       {p1, p2}, hot_bring_below<S>),
        below_new<S>(n("batch_below_new")),
        {n("open"),
         "an opening with its sweep, and work behind it",
         hot_leave_garbage<S>,
         hot_after_opening<S>,
         {o1},
         true},
        two_threads<S>(n("threads"), "two threads change the same keys", come<S, 0, 6>, {p2},
                       work_beside_another<S>),
        without_memory<S>(n("no_memory")),
        unswept<S>(n("unswept")),
        unswept_far<S>(n("unswept.far"), &S::update),
        unswept_full<S>(n("unswept.full")),
        peeking<S>(n("peek"), come<S, 0, 6>),
        peeking<S, 33>(n("peek.collapse"), come<S, 0, 34>),
        pushing_down<S>(n("peek.push_down")),
        two_threads<S>(n("read"), "one thread reads what another changes", come<S, 0, 6>, {p2, p3},
                       read_or_change<S>),
        two_threads<S>(n("split_threads"), "two threads make full nodes split", come<S, 0, 32>,
                       {hot_h1, hot_h2}, hot_split_together<S>),
        two_threads<S>(n("collapse_threads"), "two threads make small nodes, and take them away",
                       come<S, 0, 32>, {hot_h2, hot_h3}, hot_come_and_go<S>),
    };
}

const std::vector<eager_case<hot_number_session>>& hot_number_cases() {
    static const auto all = make_hot_cases<hot_number_session>("");
    return all;
}
const std::vector<eager_case<hot_string_session>>& hot_string_cases() {
    using session = hot_string_session;
    static const auto all = [] {
        auto cases = make_hot_cases<session>("bytes.");
        cases.push_back({eager_case_name("hot", "bytes.", "tower"),
                         "a split goes up through full nodes to the root",
                         hot_long_way<session>,
                         hot_tower<session>,
                         {hot_h1, hot_h2}});
        cases.push_back({eager_case_name("hot", "bytes.", "between"),
                         "a full node's halves get a new node below a high parent",
                         hot_full_below_high<session>,
                         hot_between<session>,
                         {hot_h1, hot_h2}});
        cases.push_back(two_threads<session>(eager_case_name("hot", "bytes.", "batch_far_below"),
                                             "a batch two levels below what another changes",
                                             hot_three_levels<session>, {p1, p2},
                                             hot_bring_far_below<session>));
        cases.back().steps = 240;  // copying the middle node takes a dozen flushes
        cases.push_back({eager_case_name("hot", "bytes.", "tower_batch"),
                         "a batch's splits go up through full nodes to the root",
                         hot_long_way<session>,
                         come_at_once<session, 262, 270>,
                         {hot_h1, hot_h2}});
        return cases;
    }();
    return all;
}

/// The words of a batch do not depend on each other.
const lint_rules& hot_rules_for(std::string_view name) {
    return name.find("batch") != name.npos ? eager_rules_for_groups() : eager_rules();
}

}  // namespace

const std::vector<target_description>& hot_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        for (const auto& c : hot_number_cases())
            found.push_back(describe(c, "hot", hot_rules_for(c.name)));
        for (const auto& c : hot_string_cases())
            found.push_back(describe(c, "hot", hot_rules_for(c.name)));
        return found;
    }();
    return all;
}

}  // namespace hf::lab
