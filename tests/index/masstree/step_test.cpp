// The tree changes under an operation, at each of its steps: a get, a scan, a put must come out as
// if it had been before or after the change.
#include "index/masstree/watched_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace hf::test {
namespace {

using keys_of_change = std::vector<std::string>;

std::string numbered(const std::string& prefix, unsigned i) {
    const std::string digits = std::to_string(i);
    return prefix + std::string(8 - digits.size(), '0') + digits;
}

/// What happens meanwhile: keys go, in order, then keys come.
struct change_case {
    const char* name;
    keys_of_change gone;
    keys_of_change come;
};

class tree_step : public ::testing::TestWithParam<bool> {
   protected:
    using tree = masstree<watched_discipline>;

    tree_step() : e_("", options()) {}
    ~tree_step() override { steps::left = 0; }

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
    /// The tree has these keys and no others, and its shape follows from them.
    void rebuild(const keys_of_change& keys) {
        for (const auto& [k, v] : e_.all()) e_.remove(k);
        e_.epochs().end_epoch();
        for (const auto& k : keys) e_.put(k, "of " + k);
        present_ = keys;
    }
    void make_change(operation& op, const change_case& c) {
        for (const auto& k : c.gone) remove(op, k);
        for (const auto& k : c.come) put(op, k);
    }
    static bool has(const keys_of_change& all, const std::string& k) {
        return std::find(all.begin(), all.end(), k) != all.end();
    }
    /// There before the change, and after it, and all the time.
    [[nodiscard]] bool stays(const std::string& k, const change_case& c) const {
        return has(present_, k) && !has(c.gone, k);
    }

    /// `act` with the change at its first step, then at the second, ... until it has no more.
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
        // Hints that the last get, or the change, has left behind.
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

    scratch_file file_;
    test_engine<watched_discipline> e_;
    keys_of_change present_;
};

keys_of_change range_of(const std::string& prefix, unsigned first, unsigned end, unsigned step) {
    keys_of_change out;
    for (unsigned i = first; i < end; i += step) out.push_back(numbered(prefix, i));
    return out;
}
keys_of_change together(keys_of_change a, const keys_of_change& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// Changes of a tree with the keys `prefix` + 0, 10, 20, ... below `end`.
std::vector<change_case> changes_of(const std::string& prefix, unsigned end) {
    const keys_of_change all = range_of(prefix, 0, end, 10);
    const keys_of_change first(all.begin(), all.begin() + static_cast<long>(all.size() / 2));
    const keys_of_change second(all.begin() + static_cast<long>(all.size() / 2), all.end());
    const unsigned middle = end / 20 * 10;
    return {
        {"many come", {}, range_of(prefix, 5, end, 10)},
        {"many come between two", {}, range_of(prefix, middle + 1, middle + 10, 1)},
        {"many come at the beginning", {}, range_of(prefix, 1, 10, 1)},
        {"all go", all, {}},
        {"the first half goes", first, {}},
        {"the second half goes", second, {}},
        {"the second half goes and comes back", second, second},
        {"all go, others come", all, range_of(prefix, 5, end, 10)},
        {"all go and come back with others", all, together(all, range_of(prefix, 3, end, 10))},
        {"one takes the place of another", {numbered(prefix, 0)}, {numbered(prefix, 1)}},
        {"the last gives its place", {all.back()}, {numbered(prefix, middle + 5)}},
        {"others take the places", first, range_of(prefix, end, end + 10 * end, 10)},
    };
}

const std::string second_layer = "layer...";

TEST_P(tree_step, gets_find_what_stays_whatever_changes_under_them) {
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

TEST_P(tree_step, scans_keep_their_order_and_leave_out_nothing_that_stays) {
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

TEST_P(tree_step, puts_go_where_gets_look) {
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

/// The changes split the root, or leave a single node of it.
TEST_P(tree_step, gets_find_what_stays_when_interior_nodes_change) {
    const keys_of_change keys = range_of("", 0, 2100, 10);
    for (const change_case& c : changes_of("", 2100)) {
        for (const unsigned i : {0U, 700U, 1060U, 1500U, 2090U}) {
            expect_gets(keys, c, numbered("", i));
            if (HasFailure()) return;
        }
    }
}

/// A scan that comes back to a leaf which has lost its last key, and again when that is there anew.
TEST_P(tree_step, a_scan_visits_no_key_again_that_went_and_came_back) {
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
                    steps::left = then;  // the assignment ends this function's own captures
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
