// Splits and removals, step by step: every position in a full node, every order of removal, a
// failure at every fallible step, and other threads between two steps.
#include "base/random.hpp"
#include "index/masstree/scripted_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <thread>

namespace hf::test {
namespace {

using masstree_detail::interior;
using masstree_detail::load;
using masstree_detail::node;
using masstree_detail::transient_leaf;
using masstree_detail::version_word;

class tree_shape : public ::testing::Test {
   protected:
    tree_shape() : e_("", by_hand()) { the_script = {}; }
    ~tree_shape() override { the_script = {}; }

    static std::string key(u64 n) {
        const u64 big = __builtin_bswap64(n);
        return {reinterpret_cast<const char*>(&big), 8};
    }

    result<void> try_put(const std::string& k, const std::string& value) {
        operation op(e_.checkpoint());
        const u64 r = must(tree().make_record(op, k, value));
        auto done =
            tree().update(op, k, [&](const auto*) { return decision{decision::action::store, r}; });
        if (done) {
            model_[k] = value;
            return {};
        }
        tree().drop_record(op, r);
        return tl::unexpected(done.error());
    }
    result<void> try_remove(const std::string& k) {
        operation op(e_.checkpoint());
        auto done = tree().update(op, k, [&](const auto* old) {
            return decision{old ? decision::action::erase : decision::action::keep, 0};
        });
        if (!done) return tl::unexpected(done.error());
        EXPECT_EQ(done->changed, model_.erase(k) == 1);
        return {};
    }
    void put(const std::string& k) { must(try_put(k, "v" + std::to_string(++values_))); }
    void remove(const std::string& k) { must(try_remove(k)); }
    void remove_all() {
        while (!model_.empty()) remove(model_.begin()->first);
    }

    masstree<scripted_discipline>& tree() { return e_.tree(); }
    template <class T = node>
    T& at(u64 offset) {
        return *object_at<T>(tree().base(), offset);
    }
    u64 generation() { return version_lock::generation_bits(e_.machine().generation()); }

    /// The words of each node by its offset, including layers below.
    using picture = std::map<u64, std::array<u64, sizeof(transient_leaf) / 8>>;
    void see(u64 offset, picture& seen) {
        auto& words = seen[offset];
        std::memcpy(words.data(), static_cast<const void*>(&at(offset)), sizeof words);
        if ((words[0] & version_word::leaf) == 0) {
            const auto& n = at<interior>(offset);
            for (unsigned i = 0; i <= n.key_count(); ++i) see(load(n.children[i]), seen);
            return;
        }
        const auto& n = at<transient_leaf>(offset);
        const masstree_detail::permutation<scripted_leaf::width> p(load(n.order));
        for (unsigned r = 0; r < p.size(); ++r) {
            const u64 value = load(n.values[p.slot(r)]);
            namespace value_word = masstree_detail::value_word;
            if (value_word::is_layer(value)) see(value_word::offset(value), seen);
        }
    }
    picture see_all() {
        picture seen;
        see(tree().root(), seen);
        return seen;
    }

    /// Checks that the tree is sound and has the expected contents, and that no node is locked.
    audit_report expect_sound(bool tidy = true) {
        EXPECT_EQ(e_.all(),
                  (std::vector<std::pair<std::string, std::string>>(model_.begin(), model_.end())));
        audit_report report = audit(e_.machine());
        EXPECT_TRUE(report.ok()) << report.to_string();
        EXPECT_EQ(report.tree.records, model_.size());
        EXPECT_EQ(report.tree.recovered_leaves, 0U);
        if (tidy) {
            EXPECT_EQ(report.tree.empty_leaves, 0U);
            EXPECT_EQ(report.tree.empty_layers, 0U);
        }
        for (const auto& [offset, words] : see_all()) {
            EXPECT_EQ(words[0] & (version_lock::locked | version_lock::marks), 0U);
        }
        return report;
    }

    /// Checks that each change that readers must notice has changed the node's version.
    void expect_told(const picture& before, const picture& now) {
        for (const auto& [offset, old] : before) {
            const auto here = now.find(offset);
            if (here == now.end()) continue;
            const auto& fresh = here->second;
            version_word seen;
            std::memcpy(static_cast<void*>(&seen), &fresh[0], sizeof seen);
            const bool split = version_word::split_since(old[0], fresh[0]);
            if (((old[0] ^ fresh[0]) & version_word::leaf) != 0) {
                EXPECT_TRUE(split) << "a root has turned";
            } else if ((old[0] & version_word::leaf) == 0) {
                // Its count, keys and children.
                if (!std::equal(old.begin() + 2, old.begin() + 3, fresh.begin() + 2) ||
                    !std::equal(old.begin() + 6, old.end(), fresh.begin() + 6)) {
                    EXPECT_TRUE(split) << "an interior node has changed";
                }
            } else {
                const auto size = [](const auto& words) { return words[1] & 15; };
                if (size(fresh) > size(old)) {
                    EXPECT_TRUE(seen.changed(old[0])) << "an entry has come";
                }
                if (size(fresh) + 1 < size(old) || fresh[4] != old[4]) {
                    EXPECT_TRUE(split) << "entries have gone, or the range has changed";
                }
            }
        }
    }
    template <class F>
    void step(F&& change) {
        const picture before = see_all();
        the_script.node_dropped = [&](u64 offset) {
            EXPECT_EQ(at(offset).version.load() & (version_word::deleted | version_lock::locked),
                      before.contains(offset) ? version_word::deleted : 0);
        };
        change();
        the_script.node_dropped = {};
        expect_told(before, see_all());
        expect_sound();
    }

    test_engine<scripted_discipline> e_;
    std::map<std::string, std::string> model_;
    u64 values_ = 0;
};

// Inserts a run of keys into each gap of trees of one, two, three and more levels: covers each rank
// of a full leaf, and each child of a full interior node.
TEST_F(tree_shape, tree_is_sound_after_a_split_at_every_position) {
    for (const auto& [first, apart] : {std::pair(10U, 1U), {41U, 5U}, {130U, 27U}}) {
        for (unsigned gap = 0; gap <= first; gap += apart) {
            for (unsigned i = 1; i <= first; ++i) put(key(u64{i} << 8));
            for (unsigned i = 1; i <= 14; ++i) {
                const u64 in_gap = gap % 3 == 0 ? i : gap % 3 == 1 ? 20 - i : (i * 7) % 15 + 20;
                step([&] { put(key((u64{gap} << 8) + in_gap)); });
                if (HasFailure()) FAIL() << first << " keys, gap " << gap << ", number " << i;
            }
            remove_all();
            EXPECT_EQ(expect_sound().tree.leaves, 1U);
        }
    }
}

TEST_F(tree_shape, sequential_inserts_leave_full_nodes) {
    const auto ceiling = [](u64 n, u64 by) { return (n + by - 1) / by; };
    for (u64 n = 1; n <= 200; ++n) {
        put(key(n));
        const audit_report report = expect_sound();
        EXPECT_EQ(report.tree.leaves, ceiling(n, scripted_leaf::width)) << n;
    }
    // A full interior node that is split keeps three of four children.
    const auto figures = audit(e_.machine()).tree;
    EXPECT_EQ(figures.leaves, 20U);
    EXPECT_EQ(figures.interiors, 7U + 2U + 1U);
}

TEST_F(tree_shape, tree_is_sound_after_removals_in_any_order) {
    for (unsigned seed = 0; seed < 8; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        xoshiro256ss r(seed + 1);
        std::vector<std::string> keys;
        for (unsigned i = 1; i <= 24 + seed * 5; ++i) keys.push_back(key(i));
        // Layers of one leaf, of several, and nested ones.
        for (unsigned i = 0; i < seed % 4 * 6; ++i) {
            keys.push_back("layer__1layer__2" + std::to_string(i));
            keys.push_back("layer__3" + std::to_string(i));
        }
        if (seed % 3 == 1) std::reverse(keys.begin(), keys.end());
        for (const std::string& k : keys) put(k);
        if (seed % 4 == 2) std::reverse(keys.begin(), keys.end());
        if (seed % 4 == 3) {
            for (std::size_t i = keys.size(); i > 1; --i) std::swap(keys[i - 1], keys[r.below(i)]);
        }
        for (const std::string& k : keys) {
            step([&] { remove(k); });
            if (HasFailure()) return;
        }
        const auto figures = audit(e_.machine()).tree;
        EXPECT_EQ(figures.leaves, 1U);
        EXPECT_EQ(figures.layers, 1U);
    }
}

// Lets each fallible step of each kind of change fail: then either nothing has changed, or
// everything.
TEST_F(tree_shape, failed_allocations_leave_the_tree_unchanged) {
    for (unsigned i = 1; i <= 130; ++i) put(key(u64{i} << 8));
    for (unsigned i = 0; i < 12; ++i) put("layer__1" + std::to_string(i));
    put("shared__tail____of one");
    const auto until_it_works = [&](const char* what, auto change) {
        for (unsigned steps = 0;; ++steps) {
            ASSERT_LT(steps, 40U) << what;
            const auto before = model_;
            the_script.steps_left = steps;
            the_script.failed = false;
            const result<void> done = change();
            the_script.steps_left = ~0U;
            EXPECT_EQ(model_ != before, done.has_value()) << what;
            expect_sound(done.has_value() && !the_script.failed);
            if (HasFailure()) FAIL() << what << ", step " << steps;
            if (done) return;
        }
    };
    for (unsigned i = 0; i < 60; ++i) {  // into full leaves, into leaves with room, at all heights
        until_it_works("put", [&] { return try_put(key((u64{i % 20} << 8) + 1 + i / 20), "x"); });
    }
    until_it_works("a value", [&] { return try_put(key(256), "other"); });
    until_it_works("layers", [&] { return try_put("shared__tail____of another", "x"); });
    until_it_works("removal", [&] { return try_remove(key(256)); });
}

// A leaf that cannot be unlinked, because of missing memory or a lock held by another thread, stays
// empty.
TEST_F(tree_shape, empty_leaf_stays_if_it_cannot_be_unlinked) {
    for (const unsigned leaf : {0U, 1U, 3U, 6U}) {
        for (const char who : {'l', 'r', 'n'}) {
            for (unsigned i = 0; i < 100; ++i) put(key(i));
            const auto leaf_of = [&](unsigned which) {
                u64 at_leaf = tree().root();
                while ((at(at_leaf).version.load() & version_word::leaf) == 0) {
                    at_leaf = load(at<interior>(at_leaf).children[0]);
                }
                while (which-- > 0) at_leaf = load(at<transient_leaf>(at_leaf).next);
                return at_leaf;
            };
            if (who == 'l' && leaf == 0) continue;
            node* const other =
                who == 'n' ? nullptr : &at(leaf_of(who == 'l' ? leaf - 1 : leaf + 1));
            for (unsigned i = 1; i < 10; ++i) remove(key(leaf * 10 + i));
            if (other != nullptr) other->version.lock(generation());
            // the removal succeeds, its unlinking fails
            if (other == nullptr) the_script.steps_left = 1;
            remove(key(leaf * 10));
            the_script.steps_left = ~0U;
            if (other != nullptr) other->version.unlock();
            const auto figures = expect_sound(false).tree;
            // The right neighbour is locked only if the leaf is its parent's first child.
            if (who != 'r') {
                EXPECT_EQ(figures.empty_leaves, 1U) << leaf << who;
            }
            put(key(leaf * 10));
            remove(key(leaf * 10));
            expect_sound();
            remove_all();
            if (HasFailure()) FAIL() << leaf << who;
        }
    }
}

class layer_removal : public tree_shape {
   protected:
    static constexpr const char* prefix = "layer__1layer__2";
    /// Calls meanwhile() when the only leaf of a layer is empty, before the layer is removed.
    template <class F>
    void when_it_is_empty(F&& meanwhile) {
        for (unsigned i = 0; i < 11; ++i) put(prefix + std::to_string(i));
        for (unsigned i = 0; i < 10; ++i) remove(prefix + std::to_string(i));
        bool once = true;
        the_script.node_dropped = [&](u64) {
            if (std::exchange(once, false)) meanwhile();
        };
        const std::string last = prefix + std::to_string(10);
        {
            operation op(e_.checkpoint());
            must(tree().update(op, last, [&](const auto*) {
                model_.erase(last);
                return decision{decision::action::erase, 0};
            }));
        }
        the_script.node_dropped = {};
        EXPECT_FALSE(once);
    }
    template <class F>
    static void in_another_thread(F&& f) {
        std::thread(std::forward<F>(f)).join();
    }
};

TEST_F(layer_removal, layer_that_is_in_use_again_stays) {
    for (const unsigned count : {1U, 5U, 11U, 40U}) {  // a leaf, and interior nodes
        when_it_is_empty([&] {
            in_another_thread([&] {
                for (unsigned i = 0; i < count; ++i) put(prefix + std::to_string(100 + i));
            });
        });
        expect_sound();
        remove_all();
        expect_sound();
    }
}

TEST_F(layer_removal, layer_removed_by_another_thread_is_detected) {
    for (const char* then : {"", "layer__1", "layer__1x", "layer__1layer__2x", "layer__0"}) {
        when_it_is_empty([&] {
            in_another_thread([&] {
                put(prefix + std::string("mine"));
                remove(prefix + std::string("mine"));
                if (*then != 0) put(then);
            });
        });
        expect_sound();
        remove_all();
        expect_sound();
    }
}

TEST_F(layer_removal, layer_with_a_locked_root_stays) {
    node* held = nullptr;
    when_it_is_empty([&] {
        for (const auto& [offset, words] : see_all()) {
            // the roots of both layers are visited
            if (offset != tree().root()) held = &at(offset);
            const bool is_empty = (words[0] & version_word::leaf) != 0 && (words[1] & 15) == 0;
            if (is_empty) break;
        }
        held->version.lock(generation());
    });
    held->version.unlock();
    EXPECT_EQ(expect_sound(false).tree.empty_layers, 1U);
    put(prefix + std::string("x"));
    remove(prefix + std::string("x"));
    EXPECT_EQ(expect_sound().tree.layers, 1U);
}

TEST_F(layer_removal, removal_restarts_if_the_layer_above_was_removed) {
    node* above = nullptr;
    when_it_is_empty([&] {
        the_script.arrived = [&](transient_leaf& n) {  // the first layer's leaf, during the descent
            the_script.arrived = {};
            const masstree_detail::permutation<scripted_leaf::width> p(load(n.order));
            above = &at(masstree_detail::value_word::offset(load(n.values[p.slot(0)])));
            above->version.lock(generation());
            above->version.mark_deleted();
            above->version.unlock();
        };
    });
    ASSERT_NE(above, nullptr);
    above->version.lock(generation());
    above->version.set_flags(version_word::deleted, false);
    above->version.unlock();
    expect_sound(false);
}

TEST_F(layer_removal, root_is_marked_before_it_is_unlinked) {
    put("shared__1");
    put("shared__2");
    remove("shared__1");
    const picture before = see_all();
    std::vector<node*> roots;
    for (const auto& [offset, words] : before) {
        if (offset != tree().root()) roots.push_back(&at(offset));
    }
    ASSERT_EQ(roots.size(), 1U);
    unsigned published = 0;
    the_script.before_publish = [&](masstree_detail::word&) {
        const bool deleted = (roots[0]->version.load() & version_word::deleted) != 0;
        EXPECT_EQ(deleted, published++ == 1);
    };
    remove("shared__2");
    EXPECT_EQ(published, 2U);
}

// A reader reads a leaf's words before it checks its version again. It must not report damage if
// the leaf was a root that has become an interior node meanwhile.
TEST(scripted_readers, root_that_became_an_interior_node_is_not_reported_as_damage) {
    using scripted_engine = test_engine<scripted_discipline>;
    using way_of_reading = std::function<bool(scripted_engine&)>;
    const auto reads = [](scripted_engine& e, bool up) {
        operation op(e.checkpoint());
        bool met = false;
        const auto visit = [&](std::string_view, std::string_view value) {
            met = value == "x";
            return false;
        };
        if (up) {
            (void)e.tree().scan(op, "k5", false, visit);
        } else {
            (void)e.tree().scan_backward(op, "k5", false, visit);
        }
        return met;
    };
    const way_of_reading ways[] = {
        [](scripted_engine& e) { return e.get("k5") == "x"; },
        [&](scripted_engine& e) { return reads(e, true); },
        [&](scripted_engine& e) { return reads(e, false); },
    };
    for (const u64 hint_memory : {u64{0}, u64{1} << 20}) {
        for (const auto& read : ways) {
            the_script = {};
            engine_options options = by_hand();
            options.hint_memory = hint_memory;
            scripted_engine e("", options);
            for (unsigned i = 0; i < scripted_leaf::width; ++i) {
                e.put("k" + std::to_string(i), "x");
            }
            unsigned sees = 0;  // number of times the reader finds damage
            bool turns = false;
            the_script.arrived = [&](transient_leaf& n) {
                if (sees == 0) return;
                --sees;
                if (turns) std::thread([&] { e.put("ka", "x"); }).join();
                throw hf::damage(offset_from(e.tree().base(), &n), "a word contradicts its seal");
            };
            sees = 1;
            EXPECT_THROW((void)read(e), hf::damage);
            sees = 1;
            turns = true;
            EXPECT_TRUE(read(e));
            EXPECT_EQ(sees, 0U);
            const auto& root = *object_at<node>(e.tree().base(), e.tree().root());
            EXPECT_EQ(root.version.load() & version_word::leaf, 0U);
        }
    }
    the_script = {};
}

// A leaf that changes during every read is not a sign of damage, because other threads make
// progress.
TEST(scripted_readers, scan_retries_while_a_leaf_keeps_changing) {
    the_script = {};
    test_engine<scripted_discipline> e("", by_hand());
    e.put("a", "x");
    e.put("b", "x");
    const u64 generation = version_lock::generation_bits(e.machine().generation());
    const u64 usual = longest_waits::again_ns.exchange(0);
    for (const bool up : {true, false}) {
        unsigned left = 1000;
        the_script.arrived = [&](transient_leaf& n) {
            if (left == 0) return;
            --left;
            n.version.lock(generation);
            n.version.mark_inserting();
            n.version.unlock();
        };
        unsigned met = 0;
        const auto visit = [&](std::string_view, std::string_view) { return ++met != 0; };
        operation op(e.checkpoint());
        if (up) {
            EXPECT_TRUE(e.tree().scan(op, "", false, visit));
        } else {
            EXPECT_TRUE(e.tree().scan_backward(op, {}, false, visit));
        }
        EXPECT_EQ(met, 2U);
        EXPECT_EQ(left, 0U);
    }
    longest_waits::again_ns = usual;
    the_script = {};
}

// Reference implementation: the closest position to the wish where slices differ; the left one of
// two.
TEST(cut_between_slices, cut_is_the_closest_position_between_different_slices) {
    struct one {
        u64 slice;
    };
    for (unsigned count = 2; count <= 12; ++count) {
        for (unsigned steps = 1; steps < 1U << (count - 1); ++steps) {
            std::array<one, 13> all{};  // one more than there are: must not be a cut
            for (unsigned i = 1; i < count; ++i) {
                all[i].slice = all[i - 1].slice + (steps >> (i - 1) & 1);
            }
            all[count].slice = all[count - 1].slice + 1;
            for (const bool appending : {false, true}) {
                const int wish = static_cast<int>(appending ? count - 1 : (count + 1) / 2);
                int best = 0;
                for (int at = 1; at < static_cast<int>(count); ++at) {
                    if ((steps >> (at - 1) & 1) == 0) continue;
                    if (best == 0 || std::abs(at - wish) < std::abs(best - wish)) best = at;
                }
                ASSERT_EQ(masstree_detail::cut_between_slices(all.data(), count, appending),
                          static_cast<unsigned>(best))
                    << count << " " << steps;
            }
        }
    }
}

}  // namespace
}  // namespace hf::test
