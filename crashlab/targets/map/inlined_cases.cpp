// Workloads on a tree with inlined values: undo of the values by a line's log, changes that log the
// leaf externally, and values that change between inlined and not.
#include "crashlab/targets/map/tree.hpp"
#include "index/masstree/inlined/log.hpp"

namespace hf::lab {
namespace {

constexpr std::size_t small = 8;    // inlined
constexpr std::size_t longer = 20;  // in a record

void load(tree_session& s, u64 count) {
    for (u64 i = 1; i <= count; ++i) s.put(key_of(10 * i), small);
    s.end_epoch();
}
std::string any_key(tree_session& s, u64 count) { return key_of((1 + s.random()() % count) * 10); }
std::size_t any_size(tree_session& s) { return s.random()() % 3 == 0 ? longer : small; }

/// Updates one slot twice, then others, until two slots of a line have changed.
void update(tree_session& s) {
    const std::string twice = any_key(s, 8);
    s.put(twice, small);
    s.put(twice, small);
    for (u64 i = 0; i < 4; ++i) s.put(any_key(s, 8), small);
}
void change_kinds(tree_session& s) {
    const std::string key = any_key(s, 8);
    s.put(key, longer);
    s.put(any_key(s, 8), longer);
    s.end_epoch();
    s.put(key, small);
    s.put(key, longer);
    s.put(any_key(s, 8), small);
}
void remove_and_insert(tree_session& s) {
    const std::string key = any_key(s, 8);
    s.remove(key);
    s.put(key, any_size(s));
    s.put(any_key(s, 8), small);
    s.remove(any_key(s, 8));
    s.put(key_of(15), small);
    s.put(key_of(15), small);
}
void change(tree_session& s) {
    for (u64 i = 0; i < 9; ++i) {
        switch (s.random()() % 4) {
            case 0:
                s.remove(any_key(s, 8));
                break;
            case 1:
                s.put(key_of(5 + 10 * (s.random()() % 8)), any_size(s));
                break;
            default:
                s.put(any_key(s, 8), any_size(s));
                break;
        }
        if (s.random()() % 6 == 0) s.end_epoch();
    }
}
void split(tree_session& s) {
    s.put(any_key(s, 12), small);
    for (u64 i = 1; i <= 8; ++i) s.put(key_of(i * 10 + 3), any_size(s));
}
void empty_leaves(tree_session& s) {
    for (u64 i = 8; i <= 30; ++i) s.remove(key_of(i * 10));
    s.put(key_of(155), small);
}
void crash_repeatedly(tree_session& s, u64 times) {
    for (u64 i = 0; i < times; ++i) {
        s.put(any_key(s, 12), small);
        s.put(any_key(s, 12), any_size(s));
        s.remove(any_key(s, 12));
        s.crash();
        s.open();
        s.adopt(0);
        s.put(any_key(s, 12), small);
        s.end_epoch();
    }
}
void open_and_touch(tree_session& s) {
    s.open();
    s.adopt(0);
    for (u64 i = 0; i < 6; ++i) s.touch(any_key(s, 12));
    s.put(any_key(s, 12), small);
    s.put(any_key(s, 12), longer);
    s.remove(any_key(s, 12));
    s.end_epoch();
    s.put(any_key(s, 12), small);
}
void write_as_thread(tree_session& s, unsigned thread) {
    splitmix64 random(s.random()());
    for (u64 i = 0; i < 5; ++i) {
        const std::string key = key_of(4 * (random() % 10) + thread);
        if (random() % 4 == 0) {
            s.remove_by(thread, key);
        } else {
            s.put_by(thread, key, random() % 3 == 0 ? longer : small);
        }
    }
}
/// The last thread reads keys while the others write them and change them between inlined and not.
void write_or_read(tree_session& s, unsigned thread) {
    if (thread != 2) return write_as_thread(s, thread);
    splitmix64 random(s.random()());
    for (u64 i = 0; i < 16; ++i) s.get_by(key_of(4 * (random() % 10) + random() % 2));
}

using points = std::vector<std::string_view>;
const points logged{"undo L1: undo images durable before their objects change"};
const points wrapped{
    "masstree U3: inlined value lines durable before line 0 gets new upper epoch bits",
    "masstree U4: line 0 durable before an inlined value line is logged with its bits"};
constexpr u64 wrap = u64{1} << masstree_detail::inlined::epoch_bits;

tree_case inlined_case(std::string_view name, std::string_view what, u64 records,
                       std::function<void(tree_session&)> run, points met = {},
                       u64 first_epoch = 1) {
    tree_case c{};
    c.name = name;
    c.room = "masstree";
    c.what = what;
    c.prepare = [records](tree_session& s) { load(s, records); };
    c.run = std::move(run);
    c.points = std::move(met);
    c.first_epoch = first_epoch;
    c.inline_values = true;
    return c;
}

}  // namespace

const std::vector<tree_case>& inlined_cases() {
    static const std::vector<tree_case> cases = [] {
        std::vector<tree_case> all{
            inlined_case("inlined.update", "values in a leaf change, slots of a line too", 8,
                         update, logged),
            inlined_case("inlined.kinds", "values become records, and lie in the leaf again", 8,
                         change_kinds),
            inlined_case("inlined.again", "keys go and come in the same epoch", 8,
                         remove_and_insert),
            inlined_case("inlined.mixed", "all of these over several epochs", 8, change),
            inlined_case("inlined.wrap", "the same where 29-bit epochs come round", 8, change, {},
                         wrap - 6),
            inlined_case("inlined.split", "a full leaf of values splits", 12, split, logged),
            inlined_case("inlined.remove", "leaves of values run empty", 40, empty_leaves, logged),
            inlined_case("inlined.failed", "several failed epochs in the set", 12,
                         [](tree_session& s) {
                             crash_repeatedly(s, 2);
                             change(s);
                         }),
        };
        for (const bool wraps : {false, true}) {
            tree_case c =
                inlined_case(wraps ? "inlined.recovery.wrap" : "inlined.recovery",
                             "leaves of values are recovered on first touch", 12, open_and_touch,
                             wraps ? wrapped : points{}, wraps ? wrap - 2 : 1);
            c.prepare = [wraps](tree_session& s) {
                load(s, 12);
                if (!wraps)
                    change(s);  // a leaf that was logged only in its lines, one epoch earlier
                s.put(any_key(s, 12), small);
                s.crash();
            };
            all.push_back(std::move(c));
        }
        tree_case threads = inlined_case("inlined.threads", "writers and a reader of one leaf", 4,
                                         [](tree_session&) {});
        threads.threads = 3;
        threads.run_thread = write_or_read;
        all.push_back(std::move(threads));
        return all;
    }();
    return cases;
}

}  // namespace hf::lab
