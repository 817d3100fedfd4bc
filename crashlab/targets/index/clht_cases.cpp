#include "crashlab/targets/index/clht_cases.hpp"

#include "crashlab/targets/eager/eager_cases.hpp"
#include "index/clht/clht.hpp"

namespace hf::lab {
namespace {

struct lab_shape {
    static constexpr unsigned chunk_bits = 2;
    static constexpr unsigned group_bits = 1;
    static constexpr unsigned frontier_groups = 1;
};

/// Two buckets that are split together: a level ends as soon as its first buckets are full.
struct least_shape {
    static constexpr unsigned chunk_bits = 1;
    static constexpr unsigned group_bits = 1;
    static constexpr unsigned frontier_groups = 1;
};

using integers = eager_session<clht<eager_discipline, integer_keys, lab_shape>, integer_keys>;
using pairs = eager_session<clht<eager_discipline, integer_keys, least_shape>, integer_keys>;
using strings = eager_session<clht<eager_discipline, byte_keys, lab_shape>, byte_keys>;

/// The n-th key whose hash ends with these bits; all of them are in one chain.
u64 in_one_chain(unsigned n, unsigned bits, u64 which = 1) {
    u64 k = 1;
    for (;; ++k) {
        if ((integer_keys::hash(k) & ((u64{1} << bits) - 1)) == which && n-- == 0) return k;
    }
}

template <class Session>
void some_keys(Session& s) {
    for (u64 k = 0; k < 6; ++k) s.insert(k);
}
/// Keys 6 to 11 fit into the existing buckets: no split adds its fences to those of a batch.
template <class Session>
void some_keys_and_room(Session& s) {
    for (u64 k = 0; k < 12; ++k) s.insert(k);
    for (u64 k = 6; k < 12; ++k) s.remove(k);
}
template <class Session>
void insert_some(Session& s, splitmix64& r) {
    for (u64 k = 6; k < 9; ++k) s.insert(k + r() % 2 * 10);
    s.get(3);
}
template <class Session>
void grow(Session& s, splitmix64& r) {
    const u64 first = 6 + r() % 4;
    for (u64 k = first; k < first + 14; ++k) s.insert(k);
}
template <class Session>
void grow_beside_another(Session& s, unsigned thread, splitmix64& r) {
    for (u64 i = 0; i < 9; ++i) {
        if (r() % 3 == 0) s.get(r() % 6);
        s.insert(10 + 10 * thread + i);
    }
}
/// Leaves garbage: the volatile free lists die with the process.
template <class Session>
void leave_garbage(Session& s) {
    for (u64 k = 0; k < 20; ++k) s.insert(k);
    for (u64 k = 0; k < 20; k += 2) s.remove(k);
    for (u64 k = 1; k < 20; k += 4) s.upsert(k);
}
template <class Session>
void work_after_opening(Session& s, splitmix64& r) {
    s.upsert(r() % 20);
    s.remove(r() % 20);
    s.insert(30);
}
void leave_an_empty_slab(strings& s) {
    // Records of 128 bytes: a slab of a class that nothing else uses, with all blocks freed later.
    for (u64 k = 0; k < 12; ++k) s.insert(k);
    for (u64 k = 0; k < 12; ++k) {
        if (k % 4 != 1 && k % 4 != 2) continue;
        s.remove(k);
    }
}
/// More keys than fit into the buckets that can be split for them.
void overflow(integers& s, splitmix64& r) {
    for (unsigned n = 0; n < 5; ++n) s.insert(in_one_chain(n, 7));
    s.remove(in_one_chain(static_cast<unsigned>(r() % 5), 7));
    s.upsert(in_one_chain(4, 7));
}
void chain_of_eight(integers& s) {
    for (unsigned n = 0; n < 8; ++n) s.insert(in_one_chain(n, 3));
}
/// The bucket that splits has a chain, and its buddy needs one, too.
void split_a_chain(integers& s, splitmix64& r) {
    for (u64 k = 0; k < 10; ++k) {
        const u64 key = 400 + r() % 4 + 4 * k;
        s.upsert(key);
    }
}
/// Bucket 1 has a chain of five when the level of 16 buckets begins. All but one of its entries
/// belong to its buddy, which needs four overflow buckets, the last of which is not full.
constexpr unsigned deep = 14;
u64 in_deep_chain(u64 n) { return in_one_chain(static_cast<unsigned>(n), 5, 17); }
void deep_chain(integers& s) {
    s.insert(in_one_chain(0, 5));
    for (unsigned n = 0; n < deep; ++n) s.insert(in_deep_chain(n));
}
/// Keys of another chain: they cause a split and an overflow bucket, and thereby the split of
/// bucket 1.
void push_by_another(integers& s) {
    for (unsigned n = 0; n < 4; ++n) s.upsert(in_one_chain(n, 5, 6));
}
void move_deep_chain(integers& s, splitmix64& r) {
    s.insert(in_deep_chain(deep));
    s.upsert(in_deep_chain(r() % deep));
}
void push_deep_chain(integers& s, splitmix64& r) {
    push_by_another(s);
    for (u64 n = 0; n < 3; ++n) s.upsert(in_deep_chain(3 + (r() + n) % (deep - 3)));
}
/// The split has made the whole buddy, except that it is not marked `made`.
void died_moving(integers& s) {
    deep_chain(s);
    die_at(s, "clht C4", [&] { s.insert(in_deep_chain(deep)); });
    s.open();
    s.remove(in_deep_chain(deep));  // it is there or not
    for (unsigned n = 0; n + 2 < deep; ++n) s.remove(in_deep_chain(n));
}
void move_what_is_left(integers& s, splitmix64& r) {
    push_by_another(s);
    s.upsert(in_deep_chain(deep - 1 - r() % 2));
    s.upsert(in_deep_chain(r() % deep));
}
/// The level of eight buckets has begun; 0 and 2 are full, and their buddies are in one chunk.
void two_full(integers& s) {
    for (unsigned n = 0; n < 6; ++n) s.insert(in_one_chain(n, 4, 0));
    for (unsigned n = 0; n < 2; ++n) s.insert(in_one_chain(n, 4, 10));
    s.insert(in_one_chain(0, 4, 2));
}
void split_beside_another(integers& s, unsigned thread, splitmix64& r) {
    s.upsert(thread == 0 ? in_one_chain(6, 4, 0) : in_one_chain(2, 4, 10));
    s.upsert(in_one_chain(static_cast<unsigned>(r() % 2), 4, thread == 0 ? 0 : 10));
}
/// The killed process was adding the chunk that the next process fills.
eager_case<integers> chunk_unswept() {
    return {.name = "eager.clht.unswept.chunk",
            .what = "work behind a kill, and before the sweep, in a chunk that was being added",
            .prepare = two_full,
            .run = [](integers& s, splitmix64&) { s.upsert(in_one_chain(6, 4, 0)); },
            .points = {eager_points::p2},
            .sweep = sweeping::by_hand,
            .work_first = [](integers& s) { s.upsert(in_one_chain(2, 4, 10)); }};
}
/// The level of four buckets has begun, with a chunk of buddies; bucket 0 is full, and two of its
/// entries belong to its buddy.
void one_to_move(integers& s) {
    for (unsigned n = 0; n < 2; ++n) s.insert(in_one_chain(n, 3, 2));
    for (unsigned n = 0; n < 2; ++n) s.insert(in_one_chain(n, 3, 6));
    s.insert(in_one_chain(0, 3, 0));
    for (unsigned n = 0; n < 2; ++n) s.insert(in_one_chain(n, 3, 4));
}
using namespace eager_points;
constexpr std::string_view s1 = "swept S1: a run's word is durable before its memory is handed out";
constexpr std::string_view s2 =
    "swept S2: freed runs' words are durably 0 before their pages are used";
constexpr std::string_view s3 = "swept S3: what was traced is durable before anything is freed";
constexpr std::string_view s4 =
    "swept S4: page words that were found are durable before pages are taken";
constexpr std::string_view k1 =
    "region K1: what a killed process left is durable before it is built upon";
constexpr std::string_view c2 = "clht C2: an overflow bucket is durable before its link";
constexpr std::string_view c3 = "clht C3: zeros are durable before the word that leads to them";
constexpr std::string_view c4 =
    "clht C4: overflow buckets are durable before the bucket that leads to them";
constexpr std::string_view c5 = "clht C5: a split is durable before its locks are given back";
constexpr std::string_view c6 =
    "clht C6: a chunk that a sweep reads is durable before its groups count";

/// The killed process was splitting the group of buckets 0 and 1; the next process works with the
/// buddies that it finds made.
eager_case<integers> split_unswept(std::string_view name, std::string_view what,
                                   void (*work_first)(integers&)) {
    return {.name = name,
            .what = what,
            .prepare = one_to_move,
            .run = [](integers& s, splitmix64&) { s.insert(in_one_chain(1, 3, 0)); },
            .points = {p2, c5},
            .sweep = sweeping::by_hand,
            .work_first = work_first};
}
/// A new key for the bucket that has dead entries because of that.
u64 new_in_bucket_0(integers& s) {
    u64 k = s.keys();
    while ((integer_keys::hash(k) & 7) != 0) ++k;
    return k;
}
void insert_over_dead(integers& s) { s.insert(new_in_bucket_0(s)); }
void insert_many_over_dead(integers& s) { s.insert_many({new_in_bucket_0(s)}); }
void full_bucket(pairs& s) {
    s.insert(in_one_chain(0, 2, 0));
    for (unsigned n = 0; n < 2; ++n) s.insert(in_one_chain(n, 2, 2));
}
/// A process is killed while it splits the only group of the first level. The next one ends that
/// level and adds a chunk of the second; further operations make room for crash points.
eager_case<pairs> level_unswept() {
    return {.name = "eager.clht.unswept.level",
            .what = "a level ends behind a kill, and before the sweep",
            .prepare = full_bucket,
            .run = [](pairs& s, splitmix64&) { s.insert(in_one_chain(1, 2, 0)); },
            .points = {c5},
            .sweep = sweeping::by_hand,
            .work_first =
                [](pairs& s) {
                    for (unsigned n = 0; n < 16; ++n) s.upsert(in_one_chain(n % 8, 2, 1));
                }};
}
/// A process makes the buddies of the first level's only group, and is killed before it has flushed
/// them. There is no persist point after the last one, so the stores after it are made here.
void die_making_buddies(pairs& s, splitmix64&) {
    using namespace clht_detail;
    die_at(s, "clht C4", [&] { s.insert(in_one_chain(1, 2, 0)); });
    s.open();
    const region& file = s.space().file();
    const auto* root = file.at<root_block>(eager_must(file.find_root("index"))->value.load());
    auto* buddies = file.at<bucket>(file.at<published>(root->directory[1].load())->load());
    for (u64 i = 0; i < 2; ++i) buddies[i].state.store(bucket::made);
    s.crash();
    s.open();
}
/// One thread sweeps. The other changes a single chain until the level has ended and the next one
/// has a chunk.
void sweep_or_end_level(pairs& s, unsigned thread, splitmix64&) {
    if (thread == 0) {
        eager_must(s.space().sweep());
    } else {
        for (unsigned n = 0; n < 8; ++n) s.upsert(in_one_chain(n, 2, 1));
    }
}
eager_case<pairs> level_swept() {
    auto c =
        two_threads<pairs>("eager.clht.swept.level", "a level ends behind a kill, beside the sweep",
                           full_bucket, {c6}, sweep_or_end_level);
    c.run = die_making_buddies;
    c.opens_in_run = true;
    c.sweep = sweeping::by_hand;
    c.steps = 200;
    return c;
}
/// A batch has published a key before it meets a bucket that is its own successor: the key is
/// there.
void batch_meets_damage(integers& s, splitmix64&) {
    using namespace clht_detail;
    const region& file = s.space().file();
    const auto* root = file.at<root_block>(eager_must(file.find_root("index"))->value.load());
    const u64 chunk = root->directory[0].load();
    meet_damage(file.at<bucket>(chunk)[2].next, chunk + 2 * sizeof(bucket),
                [&] { s.insert_many({in_one_chain(1, 2, 1), in_one_chain(0, 2, 2)}); });
    s.get(in_one_chain(1, 2, 1));
    s.upsert(in_one_chain(0, 2, 1));
}
void found_anew(integers& s, splitmix64&) { s.insert(1); }

const std::vector<eager_case<integers>>& integer_cases() {
    static const std::vector<eager_case<integers>> all{
        {"eager.clht.found",
         "a table is made in a new region",
         nullptr,
         found_anew,
         {p2, s1},
         true},
        {"eager.clht.insert", "keys come", some_keys<integers>, insert_some<integers>, {p2}},
        {"eager.clht.batch",
         "keys come at once",
         some_keys_and_room<integers>,
         come_at_once<integers, 6, 12>,
         {p2}},
        {"eager.clht.damaged_batch",
         "a batch meets damage behind its first key",
         [](integers& s) { s.insert(in_one_chain(0, 2, 1)); },
         batch_meets_damage,
         {p2}},
        {"eager.clht.update", "values change", some_keys<integers>, change_some<integers>, {p2}},
        {"eager.clht.remove",
         "keys go, and come again",
         some_keys<integers>,
         remove_some<integers, 6>,
         {p2}},
        {"eager.clht.grow",
         "buckets split, levels end",
         some_keys<integers>,
         grow<integers>,
         {p1, p2, c3, c4, c5}},
        {"eager.clht.overflow", "a chain of buckets", some_keys<integers>, overflow, {c2, c5}},
        {"eager.clht.chain", "a chain is split", chain_of_eight, split_a_chain, {c4, c5}},
        {"eager.clht.chain.moves",
         "nearly all of a chain goes to a buddy",
         deep_chain,
         move_deep_chain,
         {c4, c5}},
        {"eager.clht.chain.pushed",
         "the same, by an insert elsewhere",
         deep_chain,
         push_deep_chain,
         {c4, c5}},
        {"eager.clht.chain.died",
         "a split that a crash cut short comes again",
         died_moving,
         move_what_is_left,
         {o1, c4},
         true},
        {"eager.clht.open",
         "an opening with its sweep, and work behind it",
         leave_garbage<integers>,
         work_after_opening<integers>,
         {k1, o1, s3, s4},
         true},
        two_threads<integers>("eager.clht.threads", "two threads change the same keys",
                              some_keys<integers>, {p2}, work_beside_another<integers>),
        unswept<integers>("eager.clht.unswept"),
        missed_unswept<integers>("eager.clht.unswept.miss"),
        peeking<integers>("eager.clht.peek", some_keys<integers>),
        chunk_unswept(),
        split_unswept("eager.clht.unswept.dead",
                      "work behind a kill, and before the sweep, where entries have moved",
                      insert_over_dead),
        split_unswept("eager.clht.unswept.batch",
                      "a batch behind a kill, and before the sweep, where entries have moved",
                      insert_many_over_dead),
        two_threads<integers>("eager.clht.read", "one thread reads what another changes",
                              some_keys<integers>, {p2, p3}, read_or_change<integers>),
        two_threads<integers>("eager.clht.chunk_threads", "two splits need the same new chunk",
                              two_full, {c3, c5}, split_beside_another),
        two_threads<integers>("eager.clht.grow_threads", "two threads make it grow",
                              some_keys<integers>, {c5}, grow_beside_another<integers>),
    };
    return all;
}

const std::vector<eager_case<strings>>& string_cases() {
    static const std::vector<eager_case<strings>> all{
        {"eager.clht.bytes.insert",
         "byte strings come",
         some_keys<strings>,
         insert_some<strings>,
         {p1, p2}},
        {"eager.clht.bytes.batch",
         "byte strings come at once",
         some_keys_and_room<strings>,
         come_at_once<strings, 6, 12>,
         {p1, p2}},
        {"eager.clht.bytes.update",
         "records are replaced",
         some_keys<strings>,
         change_some<strings>,
         {p1, p2}},
        {"eager.clht.bytes.remove",
         "records go",
         some_keys<strings>,
         remove_some<strings, 6>,
         {p2}},
        {"eager.clht.bytes.grow",
         "buckets of records split",
         some_keys<strings>,
         grow<strings>,
         {p1, p2, c3, c5}},
        {"eager.clht.bytes.open",
         "a sweep finds garbage",
         leave_garbage<strings>,
         work_after_opening<strings>,
         {o1, p1, p2},
         true},
        {"eager.clht.bytes.slab",
         "a sweep gives pages back",
         leave_an_empty_slab,
         work_after_opening<strings>,
         {s2},
         true},
        unswept<strings>("eager.clht.bytes.unswept"),
        missed_unswept<strings>("eager.clht.bytes.unswept.miss"),
        peeking<strings>("eager.clht.bytes.peek", some_keys<strings>),
        two_threads<strings>("eager.clht.bytes.threads", "two threads replace the same records",
                             some_keys<strings>, {p1, p2}, work_beside_another<strings>),
    };
    return all;
}

/// A chain's version is only for readers of this session, and may be in another line than the
/// change.
const lint_rules& clht_rules() {
    static const lint_rules rules = [] {
        lint_rules r = eager_rules_for_groups();
        r.volatile_places.push_back({"index/clht/layout.hpp", {}});
        return r;
    }();
    return rules;
}

}  // namespace

const std::vector<target_description>& clht_cases() {
    static const std::vector<target_description> all = [] {
        std::vector<target_description> found;
        const lint_rules& rules = clht_rules();
        for (const auto& c : integer_cases()) found.push_back(describe(c, "clht", rules));
        static const auto unswept_pairs = level_unswept();
        found.push_back(describe(unswept_pairs, "clht", rules));
        static const auto swept_pairs = level_swept();
        found.push_back(describe(swept_pairs, "clht", rules));
        for (const auto& c : string_cases()) found.push_back(describe(c, "clht", rules));
        return found;
    }();
    return all;
}

}  // namespace hf::lab
