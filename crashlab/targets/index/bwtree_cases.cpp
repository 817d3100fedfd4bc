#include "crashlab/targets/index/bwtree_cases.hpp"

#include "crashlab/targets/eager/eager_cases.hpp"
#include "index/bwtree/bwtree.hpp"

namespace hf::lab {

// Keys by number, in order, so that a workload knows the leaf of each.
struct bwtree_numbers {};
struct bwtree_strings {};

/// Keys from here on fill a tree: they sort before the others.
constexpr u64 bwtree_filling = 100'000;

template <>
struct lab_keys<bwtree_numbers> : lab_keys<integer_keys> {
    static u64 key(u64 number) { return (number + bwtree_filling) % (2 * bwtree_filling); }
};
template <>
struct lab_keys<bwtree_strings> : lab_keys<byte_keys> {
    static std::string key(u64 number) {
        if (number == 0) return "";
        if (number >= bwtree_filling) return "a" + std::to_string(number);
        const std::string digits = std::to_string(1000 + number);
        return number % 5 == 0 ? "b" + digits : "b" + digits + std::string(number % 3 * 20, 'k');
    }
};

namespace {

using bwtree_number_session = eager_session<bwtree<eager_discipline, integer_keys>, bwtree_numbers>;
using bwtree_string_session = eager_session<bwtree<eager_discipline, byte_keys>, bwtree_strings>;

// -------------------------------------------------------------------------------------- operations

template <class S>
void bwtree_found(S& s, splitmix64&) {
    s.insert(1);
    s.get(1);
    s.insert(2);
}
template <class S>
void bwtree_insert_some(S& s, splitmix64& r) {
    s.insert(4 + r() % 3);
    s.insert(20);
    s.get(2);
    s.insert(60);
}

// ------------------------------------------------------------------------------------------ shapes

/// Two leaves with few keys each; the next remove merges them.
template <class S>
void bwtree_two_small(S& s) {
    come<S, 0, 65>(s);
    for (u64 k = 0; k < 26; ++k) s.remove(k);
    for (u64 k = 32; k < 57; ++k) s.remove(k);
}
template <class S>
void bwtree_merge(S& s, splitmix64& r) {
    s.remove(57);
    s.get(30);
    s.upsert(58 + r() % 7);
    s.remove(26 + r() % 4);
}
/// The first leaf absorbs the second.
template <class S>
void bwtree_first_small(S& s) {
    come<S, 0, 65>(s);
    for (u64 k = 40; k < 65; ++k) s.remove(k);
    for (u64 k = 0; k < 25; ++k) s.remove(k);
}
template <class S>
void bwtree_merge_first(S& s, splitmix64& r) {
    s.remove(25);
    s.upsert(32 + r() % 8);
    s.get(28);
}
/// A leaf loses its last keys.
template <class S>
void bwtree_empty(S& s, splitmix64& r) {
    for (u64 k = 57; k < 65; ++k) s.remove(k);
    s.get(60);
    s.insert(57 + r() % 8);
}

/// Number of ascending keys after which the root gets its 65th separator and splits together with
/// the last leaf; and after which the same happens to the root's right child. Key 39 is the one
/// that does it.
constexpr u64 until_root_splits = 2353;
constexpr u64 until_inner_splits = 3536;
template <class S, u64 Until>
void bwtree_fill(S& s) {
    s.fill(bwtree_filling, bwtree_filling + Until - 39);
    come<S, 1, 39>(s);
}
template <class S>
void bwtree_split_inner(S& s, splitmix64& r) {
    s.insert(39);
    s.get(1 + r() % 38);
    s.upsert(40);
}

/// A node with some deltas on it, and no memory.
template <class S>
void bwtree_use_up_memory(S& s) {
    come<S, 0, 18>(s);
    s.use_up_memory();
}
/// Removes entries of the node and of its deltas.
template <class S>
void bwtree_remove_without_memory(S& s, splitmix64& r) {
    s.remove(15 + r() % 3);
    s.remove(r() % 6);
    s.get(3);
    s.remove(6 + r() % 6);
}
/// Two removes set tombstone bits that are only in the cache when the process is killed.
template <class S>
void bwtree_remove_two_without_memory(S& s, splitmix64&) {
    s.remove(16);
    s.remove(3);
}
template <class S>
void bwtree_miss_two_without_memory(S& s) {
    s.update_or_miss(16);
    s.remove(3);
    for (unsigned i = 0; i < 20; ++i) s.get(10);  // room for crash points
    s.audit();                                    // sweeps, so that the next operations find memory
}
template <class S>
void bwtree_read_without_memory(S& s, unsigned thread, splitmix64& r) {
    const u64 k = r() % 2 == 0 ? 2 : 16;
    for (const u64 here : {k, 18 - k}) thread == 0 ? s.remove(here) : peek(s, here, thread, r);
}

// ----------------------------------------------------------------------------------- after a crash

/// The root's right child has been split; the root has no separator for it yet.
template <class S>
void bwtree_died_splitting_inner(S& s) {
    bwtree_fill<S, until_inner_splits>(s);
    die_at(s, "eager P2", [&] { s.insert(39); }, 1);
    s.open();
}
template <class S>
void bwtree_after_inner_split(S& s, splitmix64& r) {
    s.get(1 + r() % 38);
    s.upsert(40);
    s.upsert(41 + r() % 20);
    s.remove(37);
}
template <class S>
void bwtree_died_splitting(S& s) {
    come<S, 0, 103>(s);
    die_at(s, "bwtree B2", [&] { s.insert(103); });
    s.open();
}
template <class S>
void bwtree_after_split(S& s, splitmix64& r) {
    s.get(103);
    s.upsert(40 + r() % 60);
    s.upsert(104);
    s.remove(100);
}
template <class S>
void bwtree_died_freezing(S& s) {
    bwtree_two_small(s);
    die_at(s, "bwtree B3", [&] { s.remove(57); });
    s.open();
}
template <class S>
void bwtree_died_merging(S& s) {
    bwtree_two_small(s);
    die_at(s, "bwtree B4", [&] { s.remove(57); });
    s.open();
}
template <class S>
void bwtree_after_merge(S& s, splitmix64& r) {
    s.get(58);
    s.upsert(r() % 2 == 0 ? 33 : 60);
    s.remove(61);
    s.upsert(28);
    s.get(60);
}
/// Two leaves; some keys of the first were removed.
template <class S>
void bwtree_gaps(S& s) {
    come<S, 0, 103>(s);
    for (u64 k = 3; k < 23; k += 5) s.remove(k);
}
template <class S>
void bwtree_fill_gaps(S& s, splitmix64& r) {
    s.insert_many({103, 3, 105, 8, 104, 13, 107, 110, 106, 109, 111});
    s.upsert(100 + r() % 8);
    s.get(8);
}
template <class S>
void bwtree_leave_garbage(S& s) {
    come<S, 0, 70>(s);
    for (u64 k = 0; k < 40; k += 3) s.remove(k);
    for (u64 k = 1; k < 40; k += 6) s.upsert(k);
}
template <class S>
void bwtree_after_opening(S& s, splitmix64& r) {
    s.upsert(r() % 40);
    s.remove(r() % 40);
    s.upsert(80);
}

// ----------------------------------------------------------------------------------------- threads

/// Both threads fill a leaf until it splits, or use the halves.
template <class S>
void bwtree_split_together(S& s, unsigned thread, splitmix64& r) {
    for (unsigned i = 0; i < 3; ++i) {
        s.upsert(70 + 2 * i + thread);
        s.get(60 + r() % 10);
        s.upsert(r() % 30);
    }
}
/// One thread merges two leaves while the other works on their keys.
template <class S>
void bwtree_merge_together(S& s, unsigned thread, splitmix64& r) {
    for (unsigned i = 0; i < 3; ++i) {
        if (thread == 0) {
            s.remove(57 + i);
        } else {
            s.upsert(60 + r() % 4);
            s.get(61);
        }
        s.upsert(26 + 2 * (r() % 3) + thread);
    }
}

using view = std::string_view;
using namespace eager_points;
constexpr view bw1 = "bwtree B1: both halves are durable before the word that leads to them";
constexpr view bw2 = "bwtree B2: a split is durable before its separator";
constexpr view bw3 = "bwtree B3: a leaf is frozen before its separator goes";
constexpr view bw4 = "bwtree B4: a frozen leaf has no separator before its neighbour takes it";
constexpr view bw5 = "bwtree B5: a leaf has been taken before it is retired";
constexpr view bw6 = "bwtree B6: a word that was not sure is durable before it is acted upon";
constexpr view bw7 = "bwtree B7: a dead bit is durable before the word's next version";

/// Threads read an entry that another thread removes by a tombstone bit.
template <class S>
eager_case<S> peeking_without_memory(std::string_view name) {
    auto c = two_threads<S>(name, "threads look at what another kills", bwtree_use_up_memory<S>,
                            {bw7}, bwtree_read_without_memory<S>);
    c.most_bytes = u64{2} << 20;
    c.threads = peeking_threads;
    c.steps = 100;
    return c;
}

template <class S>
std::vector<eager_case<S>> make_bwtree_cases(const char* kind) {
    const auto n = [kind](const char* name) { return eager_case_name("bwtree", kind, name); };
    return {
        {n("found"), "a tree is made in a new region", nullptr, bwtree_found<S>, {p1, p2}, true},
        {n("insert"), "keys come", come<S, 0, 4>, bwtree_insert_some<S>, {p1, p2}},
        {n("update"), "values change", come<S, 0, 6>, change_some<S>, {p1, p2}},
        {n("remove"), "keys go, and come again", come<S, 0, 8>, remove_some<S, 8>, {p1, p2}},
        {n("consolidate"),
         "deltas and node become a node",
         come<S, 0, 11>,
         come_and_change<S, 11, 15>,
         {p1, p2}},
        {n("root"), "the root is split", come<S, 0, 64>, come_and_change<S, 64, 66>, {bw1, bw2}},
        {n("split"),
         "a leaf is split, and its parent names both",
         come<S, 0, 103>,
         come_and_change<S, 103, 105>,
         {bw1, bw2}},
        {n("inner_root"),
         "a root with inner nodes below it comes",
         bwtree_fill<S, until_root_splits>,
         bwtree_split_inner<S>,
         {bw1, bw2}},
        {n("inner"),
         "an inner node is split, and its parent names both",
         bwtree_fill<S, until_inner_splits>,
         bwtree_split_inner<S>,
         {bw1, bw2}},
        {n("adopt_inner"),
         "an inner node that a crash kept from being named",
         bwtree_died_splitting_inner<S>,
         bwtree_after_inner_split<S>,
         {o1},
         true},
        {.name = n("no_memory"),
         .what = "keys go where there is no memory for a delta",
         .prepare = bwtree_use_up_memory<S>,
         .run = bwtree_remove_without_memory<S>,
         .points = {bw7},
         .most_bytes = u64{2} << 20},
        {.name = n("unswept.no_memory"),
         .what = "keys are missed behind a kill, where there is no memory",
         .prepare = bwtree_use_up_memory<S>,
         .run = bwtree_remove_two_without_memory<S>,
         .points = {bw7},
         .most_bytes = u64{2} << 20,
         .sweep = sweeping::by_hand,
         .work_first = bwtree_miss_two_without_memory<S>},
        {n("merge"),
         "a leaf goes into its neighbour",
         bwtree_two_small<S>,
         bwtree_merge<S>,
         {bw3, bw4, bw5}},
        {n("merge_first"),
         "the first leaf takes the second",
         bwtree_first_small<S>,
         bwtree_merge_first<S>,
         {bw3, bw4, bw5}},
        {n("empty"), "a leaf loses its last keys", bwtree_two_small<S>, bwtree_empty<S>, {bw5}},
        {n("adopt"),
         "a leaf that a crash kept from being named",
         bwtree_died_splitting<S>,
         bwtree_after_split<S>,
         {o1},
         true},
        {n("frozen"),
         "a leaf that a crash left frozen",
         bwtree_died_freezing<S>,
         bwtree_after_merge<S>,
         {o1},
         true},
        {n("nameless"),
         "a frozen leaf that has lost its separator",
         bwtree_died_merging<S>,
         bwtree_after_merge<S>,
         {o1},
         true},
        {n("batch"), "keys come at once", come<S, 0, 10>, come_at_once<S, 10, 16>, {p1, p2}},
        {n("node_batch"),
         "a batch and a chain become a node",
         come<S, 0, 11>,
         come_at_once<S, 11, 31>,
         {p1, p2}},
        {n("root_batch"),
         "a batch splits the root",
         come<S, 0, 60>,
         come_at_once<S, 60, 70>,
         {p1, p2}},
        {n("split_batch"),
         "a batch goes into two leaves, and splits one",
         bwtree_gaps<S>,
         bwtree_fill_gaps<S>,
         {p1, p2, bw2}},
        unswept_batch<S>(n("unswept_batch")),
        batch_threads<S>(n("batch_threads")),
        {n("open"),
         "an opening with its sweep, and work behind it",
         bwtree_leave_garbage<S>,
         bwtree_after_opening<S>,
         {o1},
         true},
        two_threads<S>(n("threads"), "two threads change the same keys", come<S, 0, 6>, {p2, bw6},
                       work_beside_another<S>),
        unswept<S>(n("unswept")),
        peeking<S>(n("peek"), come<S, 0, 6>),
        two_threads<S>(n("read"), "one thread reads what another changes", come<S, 0, 6>, {p2, bw6},
                       read_or_change<S>),
        two_threads<S>(n("split_threads"), "two threads make a leaf split", come<S, 0, 103>, {p2},
                       bwtree_split_together<S>),
        two_threads<S>(n("merge_threads"), "two threads about a merge", bwtree_two_small<S>, {p2},
                       bwtree_merge_together<S>),
        peeking_without_memory<S>(n("no_memory_threads")),
    };
}

const std::vector<eager_case<bwtree_number_session>>& bwtree_number_cases() {
    static const auto all = make_bwtree_cases<bwtree_number_session>("");
    return all;
}
const std::vector<eager_case<bwtree_string_session>>& bwtree_string_cases() {
    static const auto all = [] {
        auto cases = make_bwtree_cases<bwtree_string_session>("bytes.");
        // Regions that need not grow: for the lint a record that waits for the growth is published.
        for (auto& c : cases) c.bytes = std::min(u64{c.threads} << 21, c.most_bytes);
        return cases;
    }();
    return all;
}

/// Lock marks, holds and versions need not survive a crash (cell.hpp). The words of a batch do not
/// depend on each other.
const lint_rules& bwtree_rules(std::string_view name) {
    const auto made_of = [](lint_rules r) {
        r.volatile_places.push_back(
            {"index/bwtree/cell.hpp", {"fill", "replace", "freeze", "thaw"}});
        return r;
    };
    static const lint_rules rules = made_of(eager_rules());
    static const lint_rules of_batches = made_of(eager_rules_for_groups());
    return name.find("batch") != name.npos ? of_batches : rules;
}

}  // namespace

const std::vector<target_description>& bwtree_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> made;
        for (const auto& c : bwtree_number_cases()) {
            made.push_back(describe(c, "bwtree", bwtree_rules(c.name)));
        }
        for (const auto& c : bwtree_string_cases()) {
            made.push_back(describe(c, "bwtree", bwtree_rules(c.name)));
        }
        return made;
    }();
    return all;
}

}  // namespace hf::lab
