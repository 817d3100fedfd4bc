// The tree changes at each step of an operation: a get, scan or put must return what it would
// before or after the change.
#include "index/masstree/watched_tree.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

using keys_of_change = std::vector<std::string>;

std::string numbered(const std::string& prefix, unsigned i) {
    const std::string digits = std::to_string(i);
    return prefix + std::string(8 - digits.size(), '0') + digits;
}

keys_of_change range_of(const std::string& prefix, unsigned first, unsigned end, unsigned step) {
    keys_of_change out;
    for (unsigned i = first; i < end; i += step) out.push_back(numbered(prefix, i));
    return out;
}
keys_of_change together(keys_of_change a, const keys_of_change& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// The concurrent change: removes keys in order, then inserts keys, then joins the leaves of keys.
struct change_case {
    const char* name;
    keys_of_change gone;
    keys_of_change come;
    keys_of_change joined{};
};

class tree_step : public ::testing::TestWithParam<bool> {
   protected:
    using tree = masstree<watched_discipline>;

    tree_step() : e_("", options()) {}
    ~tree_step() override {
        steps::left = 0;
        steps::locked = nullptr;
        steps::gathered = nullptr;
    }

    static engine_options options() {
        engine_options o = by_hand();
        o.hint_memory = GetParam() ? u64{1} << 20 : 0;
        return o;
    }
    tree& t() { return e_.tree(); }

    void put(operation& op, const std::string& key) {
        const u64 r = must(t().make_record(op, key, "of " + key));
        must(
            t().update(op, key, [&](const auto*) { return decision{decision::action::store, r}; }));
    }
    void remove(operation& op, const std::string& key) {
        must(t().update(op, key, [&](const auto* old) {
            return decision{old ? decision::action::erase : decision::action::keep, 0};
        }));
    }
    /// Makes the tree contain exactly these keys, with a reproducible shape.
    void rebuild(const keys_of_change& keys) {
        for (const auto& [k, v] : e_.all()) e_.remove(k);
        e_.epochs().end_epoch();
        for (const auto& k : keys) e_.put(k, "of " + k);
        present_ = keys;
    }
    void make_change(operation& op, const change_case& c) {
        for (const auto& k : c.gone) remove(op, k);
        for (const auto& k : c.come) put(op, k);
        for (const auto& k : c.joined) (void)must(t().join(op, k));
    }
    static bool has(const keys_of_change& all, const std::string& k) {
        return std::find(all.begin(), all.end(), k) != all.end();
    }
    /// Whether the key exists before, during and after the change.
    [[nodiscard]] bool stays(const std::string& k, const change_case& c) const {
        return has(present_, k) && !has(c.gone, k);
    }

    /// Runs `act` with the change at its first step, then at the second, and so on until it has no
    /// more steps.
    template <class F>
    void at_each_step(const keys_of_change& keys, const change_case& c, bool writing, F&& act) {
        for (unsigned step = 1; step < 1000; ++step) {
            SCOPED_TRACE(std::string(c.name) + " at step " + std::to_string(step));
            rebuild(keys);
            bool changed = false;
            {
                operation op(e_.checkpoint());
                steps::writing = writing;
                steps::change = [&] {
                    make_change(op, c);
                    changed = true;
                };
                steps::left = step;
                act(op);
                steps::left = 0;
            }
            if (HasFailure()) return;
            e_.epochs().end_epoch();
            if (!changed) return;
        }
        FAIL() << "no end of steps";
    }

    void expect_gets(const keys_of_change& keys, const change_case& c, const std::string& key) {
        at_each_step(keys, c, false, [&](operation& op) {
            std::optional<std::string> found;
            t().get(op, key, [&](std::string_view v) { found = std::string(v); });
            if (found) {
                EXPECT_EQ(*found, "of " + key);
                EXPECT_TRUE(has(keys, key) || has(c.come, key)) << key;
            } else {
                EXPECT_FALSE(stays(key, c)) << key << " is there, and was not found";
            }
        });
        // With the hints that the last get, or the change, has stored.
        if (HasFailure()) return;
        at_each_step(keys, c, false, [&](operation& op) {
            const auto once = [&] {
                bool ok = true;
                const bool is =
                    t().get(op, key, [&](std::string_view v) { ok = v == "of " + key; });
                EXPECT_TRUE(ok) << key;
                return is;
            };
            (void)once();
            if (steps::left != 0) return;
            const bool now = has(c.come, key) || stays(key, c);
            EXPECT_EQ(once(), now) << key;
        });
    }
    /// Looks up many keys at once; with the hints that the first search, or the change, has stored.
    void expect_finds(const keys_of_change& keys, const change_case& c,
                      const keys_of_change& asked) {
        const std::vector<std::string_view> views(asked.begin(), asked.end());
        std::array<u64, tree::most_finds> offsets{};
        const auto find = [&](operation& op) {
            offsets.fill(1);
            t().find_many(op, views, offsets.data());
            for (std::size_t i = 0; i < asked.size(); ++i) {
                if (offsets[i] == 0) continue;
                EXPECT_EQ(t().record_at(offsets[i])->value(), "of " + asked[i]);
            }
        };
        at_each_step(keys, c, false, [&](operation& op) {
            find(op);
            for (std::size_t i = 0; i < asked.size(); ++i) {
                if (offsets[i] != 0) {
                    EXPECT_TRUE(has(keys, asked[i]) || has(c.come, asked[i])) << asked[i];
                } else {
                    EXPECT_FALSE(stays(asked[i], c)) << asked[i] << " was not found";
                }
            }
            if (steps::left != 0) return;
            find(op);
            for (std::size_t i = 0; i < asked.size(); ++i) {
                EXPECT_EQ(offsets[i] != 0, has(c.come, asked[i]) || stays(asked[i], c)) << asked[i];
            }
        });
    }
    void expect_scans(const keys_of_change& keys, const change_case& c,
                      const std::optional<std::string>& from, bool exclusive, bool backward) {
        SCOPED_TRACE("from " + from.value_or("(none)") + (exclusive ? ", exclusive" : "") +
                     (backward ? ", backward" : ""));
        at_each_step(keys, c, false, [&](operation& op) {
            keys_of_change found;
            const auto visit = [&](std::string_view k, std::string_view v) {
                if (!found.empty()) {
                    EXPECT_TRUE(backward ? k < found.back() : k > found.back())
                        << k << " behind " << found.back();
                }
                found.emplace_back(k);
                EXPECT_EQ(v, "of " + found.back());
                steps::come();
                return !HasFailure();
            };
            EXPECT_TRUE(backward ? t().scan_backward(op, from, exclusive, visit)
                                 : t().scan(op, from.value_or(""), exclusive, visit));
            for (const auto& k : found) {
                if (!from) continue;
                EXPECT_TRUE(backward ? k < *from || (k == *from && !exclusive)
                                     : k > *from || (k == *from && !exclusive))
                    << k;
            }
            for (const auto& k : keys) {
                const bool inside = !from || (backward ? k < *from : k > *from);
                if (inside && stays(k, c)) {
                    EXPECT_TRUE(has(found, k)) << k << " has been left out";
                }
            }
        });
    }
    void expect_put(const keys_of_change& keys, const change_case& c, const std::string& key) {
        at_each_step(keys, c, true, [&](operation& op) {
            const bool before = steps::left > 0;
            EXPECT_TRUE(before);
            put(op, key);
            steps::left = 0;
            t().get(op, key, [&](std::string_view v) { EXPECT_EQ(v, "of " + key); });
            std::string last;
            t().scan(op, "", false, [&](std::string_view k, std::string_view) {
                EXPECT_TRUE(last.empty() || k > last);
                last = std::string(k);
                return true;
            });
            EXPECT_TRUE(t().get(op, key, [](std::string_view) {})) << key << " was put";
        });
    }

    /// Checks that these keys and no others exist, each with its value, by a scan and by gets.
    void expect_all(keys_of_change expected) {
        std::sort(expected.begin(), expected.end());
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        keys_of_change found;
        for (const auto& [k, v] : e_.all()) {
            EXPECT_EQ(v, "of " + k);
            found.push_back(k);
        }
        EXPECT_EQ(found, expected);
        for (const auto& k : expected) EXPECT_TRUE(e_.get(k)) << k;
    }

    /// The first word of the region, at the offset of an invalid link.
    u64 load_header() { return *reinterpret_cast<const u64*>(t().base()); }
    void make_header_readable(bool so) {
        ASSERT_EQ(::mprotect(t().base(), 4096, so ? PROT_READ | PROT_WRITE : PROT_NONE), 0);
    }

    /// Another thread puts or removes `key` whenever a step of the change has locked all nodes that
    /// it changes; the thread then waits for the locks it needs.
    void expect_waits(const keys_of_change& keys, const change_case& c, const std::string& key,
                      bool removing) {
        for (unsigned turn = 1; turn < 1000; ++turn) {
            SCOPED_TRACE(std::string(c.name) + ", " + key + (removing ? " goes" : " comes") +
                         " at removal or split " + std::to_string(turn));
            rebuild(keys);
            const u64 magic = load_header();
            std::thread other;
            unsigned left = turn;
            {
                operation op(e_.checkpoint());
                steps::gathered = [&] {
                    if (left == 0 || --left > 0) return;
                    other = std::thread([&] {
                        operation mine(e_.checkpoint());
                        removing ? remove(mine, key) : put(mine, key);
                    });
                    std::this_thread::sleep_for(std::chrono::microseconds(300));
                };
                make_change(op, c);
                if (other.joinable()) other.join();
                steps::gathered = nullptr;
            }
            EXPECT_EQ(load_header(), magic) << "it is no node";
            if (left > 0) return;
            keys_of_change expected;
            for (const auto& k : keys) {
                if (!has(c.gone, k)) expected.push_back(k);
            }
            expected = together(expected, c.come);
            if (removing) {
                std::erase(expected, key);
            } else {
                expected.push_back(key);
            }
            expect_all(expected);
            e_.epochs().end_epoch();
            if (HasFailure()) return;
        }
        FAIL() << "no end of splits";
    }

    /// Puts `key`. The `first` keys are inserted when its leaf is locked, the `second` ones at a
    /// later step, if they need not wait for the locks held by then. False: there is no such step.
    bool put_between(const std::string& key, const keys_of_change& first,
                     const keys_of_change& second, unsigned step) {
        operation op(e_.checkpoint());
        std::thread other;
        std::atomic<bool> done = false;
        steps::writing = false;
        steps::locked = [&] {
            for (const auto& k : first) put(op, k);
            steps::change = [&] {
                other = std::thread([&] {
                    operation theirs(e_.checkpoint());
                    for (const auto& k : second) put(theirs, k);
                    done = true;
                });
                for (unsigned i = 0; i < 30 && !done; ++i) {
                    std::this_thread::sleep_for(std::chrono::microseconds(100));
                }
            };
            steps::left = step;
        };
        put(op, key);
        steps::left = 0;
        if (!other.joinable()) return false;
        other.join();
        return true;
    }

    scratch_file file_;
    test_engine<watched_discipline> e_;
    keys_of_change present_;
};

/// Changes of a tree with the keys `prefix` + 0, 10, 20, ... below `end`.
std::vector<change_case> changes_of(const std::string& prefix, unsigned end) {
    const keys_of_change all = range_of(prefix, 0, end, 10);
    const keys_of_change first(all.begin(), all.begin() + static_cast<long>(all.size() / 2));
    const keys_of_change second(all.begin() + static_cast<long>(all.size() / 2), all.end());
    const unsigned middle = end / 20 * 10;
    const keys_of_change every_second = range_of(prefix, 10, end, 20);
    return {
        {"many come", {}, range_of(prefix, 5, end, 10)},
        {"many come between two", {}, range_of(prefix, middle + 1, middle + 10, 1)},
        {"many come at the beginning", {}, range_of(prefix, 1, 10, 1)},
        {"all go", all, {}},
        {"the first half goes", first, {}},
        {"all but the last go", {all.begin(), all.end() - 1}, {}},
        {"all but the first go", {all.begin() + 1, all.end()}, {}},
        {"the second half goes", second, {}},
        {"the second half goes and comes back", second, second},
        {"all go, others come", all, range_of(prefix, 5, end, 10)},
        {"all go and come back with others", all, together(all, range_of(prefix, 3, end, 10))},
        {"one takes the place of another", {numbered(prefix, 0)}, {numbered(prefix, 1)}},
        {"the last gives its place", {all.back()}, {numbered(prefix, middle + 5)}},
        {"others take the places", first, range_of(prefix, end, end + 10 * end, 10)},
        {"every second goes and leaves are joined", every_second, {}, all},
        {"others come and leaves are joined", every_second, range_of(prefix, 5, end, 20), all},
    };
}

const std::string second_layer = "layer...";

TEST_P(tree_step, gets_find_unchanged_keys_during_any_change) {
    for (const std::string& prefix : {std::string(), second_layer}) {
        for (const unsigned count : {1U, 15U, 40U}) {
            const keys_of_change keys = range_of(prefix, 0, 10 * count, 10);
            for (const change_case& c : changes_of(prefix, 10 * count)) {
                for (const unsigned i : {0U, 10U * (count / 2), 10U * (count - 1)}) {
                    expect_gets(keys, c, numbered(prefix, i));
                    expect_gets(keys, c, numbered(prefix, i + 5));
                    if (HasFailure()) return;
                }
            }
        }
    }
}

TEST_P(tree_step, keys_at_a_split_point_are_found_to_its_right) {
    for (const unsigned end : {150U, 300U}) {
        const keys_of_change keys = range_of("", 0, end, 10);
        for (const change_case& c : changes_of("", end)) {
            for (const std::string& key : keys) {
                expect_gets(keys, c, key);
                if (end == 150) expect_put(keys, c, key);
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(tree_step, find_many_finds_unchanged_keys_during_any_change) {
    for (const std::string& prefix : {std::string(), second_layer}) {
        for (const unsigned count : {1U, 15U, 40U, 200U}) {
            // This is the slowest case, and a second layer adds no paths for a sanitizer.
            if (count == 200 && (is_sanitized || prefix == second_layer)) continue;
            const unsigned end = 10 * count;
            const keys_of_change keys = range_of(prefix, 0, end, 10);
            for (const change_case& c : changes_of(prefix, end)) {
                // Adjacent keys, keys from everywhere, and absent keys; more than one leaf
                // contains, and unsorted.
                expect_finds(keys, c, range_of(prefix, 0, 80, 5));
                expect_finds(
                    keys, c,
                    together({numbered(prefix, end - 10)},
                             range_of(prefix, 0, end + 10, std::max(10U, (end + 150) / 150 * 10))));
                expect_finds(keys, c, {numbered(prefix, end / 2 + 5)});
                if (HasFailure()) return;
            }
        }
    }
}

/// While a reader moves right, a layer's root becomes a leaf again, and then an interior node.
TEST_P(tree_step, gets_follow_no_link_of_a_node_that_is_no_longer_a_leaf) {
    const keys_of_change others = range_of("", 1005, 1505, 10);
    for (unsigned first = 1; first < 10; ++first) {
        for (unsigned then = 1; then < 6; ++then) {
            SCOPED_TRACE(std::to_string(first) + " and " + std::to_string(then));
            rebuild({others[0]});
            {
                operation op(e_.checkpoint());
                steps::writing = false;
                steps::change = [&] {
                    make_change(op, {"", {}, others});
                    make_change(op, {"", others, {others[0]}});
                    steps::left = then;  // the assignment destroys this function's own captures
                    steps::change = [&] {
                        make_change(op, {"", {}, others});
                        make_header_readable(false);
                    };
                };
                steps::left = first;
                t().get(op, others[0],
                        [&](std::string_view v) { EXPECT_EQ(v, "of " + others[0]); });
                steps::left = 0;
                make_header_readable(true);
            }
            if (HasFailure()) return;
            e_.epochs().end_epoch();
        }
    }
}

TEST_P(tree_step, scans_visit_unchanged_keys_in_order_during_any_change) {
    for (const std::string& prefix : {std::string(), second_layer}) {
        keys_of_change keys = range_of(prefix, 0, 400, 10);
        keys.push_back("0");
        keys.push_back("~");
        for (const change_case& c : changes_of(prefix, 400)) {
            for (const bool backward : {false, true}) {
                expect_scans(keys, c, std::nullopt, false, backward);
                for (const unsigned i : {145U, 200U}) {
                    expect_scans(keys, c, numbered(prefix, i), i % 10 == 0, backward);
                }
                if (HasFailure()) return;
            }
        }
    }
}

/// Full leaves begin with 0, 150 and 300.
TEST_P(tree_step, scans_visit_nothing_twice_while_leaves_are_removed) {
    const keys_of_change keys = range_of("", 0, 400, 10);
    const keys_of_change last = range_of("", 300, 400, 10);
    const std::vector<change_case> changes = {
        {"the leaf in the middle goes", range_of("", 150, 300, 10), {}},
        {"the last leaf goes, and its first key comes back",
         together({numbered("", 200)}, last),
         {last[0]}},
    };
    for (const change_case& c : changes) {
        for (const bool backward : {false, true}) {
            for (const unsigned i : {140U, 150U, 290U, 300U, 390U}) {
                expect_scans(keys, c, numbered("", i), false, backward);
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(tree_step, puts_during_any_change_are_found_by_gets) {
    for (const std::string& prefix : {std::string(), second_layer}) {
        const keys_of_change keys = range_of(prefix, 0, 400, 10);
        for (const change_case& c : changes_of(prefix, 400)) {
            for (const unsigned i : {0U, 205U, 395U}) {
                expect_put(keys, c, numbered(prefix, i));
                if (HasFailure()) return;
            }
        }
    }
}

/// A writer that waits for a leaf, or for its parent, finds it split, deleted, or no longer a leaf.
TEST_P(tree_step, put_that_waited_for_a_lock_checks_the_node_again) {
    for (const std::string& prefix : {std::string(), second_layer}) {
        for (const unsigned count : {15U, 60U}) {
            const keys_of_change keys = range_of(prefix, 0, 10 * count, 10);
            for (const change_case& c : changes_of(prefix, 10 * count)) {
                std::vector<unsigned> places = {2U, 5 * count + 8, 10 * (count - 1) + 2};
                // For the first change, all positions in the first leaf: one of them is where it is
                // cut.
                const bool all = prefix.empty() && c.gone.empty() && c.come.size() == count;
                for (unsigned i = 0; all && i < 150; i += 5) places.push_back(i);
                for (const unsigned i : places) {
                    expect_waits(keys, c, numbered(prefix, i), false);
                    if (HasFailure()) return;
                }
            }
        }
    }
}

TEST_P(tree_step, remove_that_waited_for_a_lock_checks_the_node_again) {
    const keys_of_change keys = range_of("", 0, 600, 10);
    for (change_case c : changes_of("", 600)) {
        for (const unsigned i : {0U, 150U, 300U, 590U}) {
            const std::string key = numbered("", i);
            std::erase(c.gone, key);
            if (!has(c.come, key)) expect_waits(keys, c, key, true);
            if (HasFailure()) return;
        }
    }
}

/// A put has locked a full leaf and searches for its parent, which was split after the descent; and
/// during the new descent it changes once more.
TEST_P(tree_step, split_finds_parents_that_were_split_meanwhile) {
    // Full leaves of 150 each, parents of four leaves, and grandparents of four: 4800 is a
    // boundary.
    const keys_of_change keys = range_of("", 0, 6000, 10);
    const auto spread = [](unsigned first, unsigned end) { return range_of("", first, end, 3); };
    for (const unsigned number : {3005U, 3305U, 3455U, 4655U}) {
        const std::string key = numbered("", number);
        for (const auto& first : {spread(3151, 3290), spread(2101, 2990), spread(4201, 4490)}) {
            for (const auto& second : {spread(1001, 1900), spread(2401, 2990)}) {
                bool changed = true;
                for (unsigned step = 1; changed; ++step) {
                    SCOPED_TRACE(key + " at step " + std::to_string(step));
                    ASSERT_LT(step, 1000U);
                    rebuild(keys);
                    changed = put_between(key, first, second, step);
                    if (changed) {
                        expect_all(together(together(keys, {key}), together(first, second)));
                    }
                    e_.epochs().end_epoch();
                    if (HasFailure()) return;
                }
            }
        }
    }
}

/// The changes split the root, or leave a single node of it.
TEST_P(tree_step, gets_find_unchanged_keys_while_interior_nodes_change) {
    const keys_of_change keys = range_of("", 0, 2100, 10);
    for (const change_case& c : changes_of("", 2100)) {
        for (const unsigned i : {0U, 700U, 1060U, 1500U, 2090U}) {
            expect_gets(keys, c, numbered("", i));
            if (HasFailure()) return;
        }
    }
}

/// A scan re-reads a leaf that has lost its last key, and again after the key was inserted again.
TEST_P(tree_step, scan_does_not_revisit_a_reinserted_key) {
    const keys_of_change keys = range_of("", 0, 400, 10);
    for (unsigned first = 1; first < 120; ++first) {
        for (unsigned then = 1; then < 30; ++then) {
            SCOPED_TRACE(std::to_string(first) + " and " + std::to_string(then));
            rebuild(keys);
            {
                operation op(e_.checkpoint());
                steps::writing = false;
                steps::change = [&] {
                    make_change(op, {"", {keys[14]}, {numbered("", 155)}});
                    steps::left = then;  // the assignment destroys this function's own captures
                    steps::change = [&] { make_change(op, {"", {}, {keys[14], keys[15] + "x"}}); };
                };
                steps::left = first;
                std::string last;
                t().scan(op, "", false, [&](std::string_view k, std::string_view) {
                    EXPECT_TRUE(last.empty() || k > last) << k << " behind " << last;
                    last = std::string(k);
                    return !HasFailure();
                });
                steps::left = 0;
            }
            if (HasFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(hints, tree_step, ::testing::Bool());

}  // namespace
}  // namespace hf::test
