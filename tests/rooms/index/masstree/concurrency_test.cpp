// Concurrent operations on one tree, for ThreadSanitizer and for the structure: writers with
// disjoint keys, readers and scanners, inserts and removals that split and unlink nodes, while
// epochs end.
#include "base/random.hpp"
#include "index/masstree/tree_fixture.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

namespace hf::test {
namespace {

constexpr unsigned rounds = is_sanitized ? 4000 : 40000;

template <class Variant>
class tree_threads : public ::testing::Test {};
using variants =
    ::testing::Types<without_hints<transient_discipline>, without_hints<logged_discipline>,
                     without_hints<incll_discipline>, with_hints<transient_discipline>,
                     with_hints<logged_discipline>, with_hints<incll_discipline>,
                     in_leaves<without_hints<logged_discipline>>,
                     in_leaves<with_hints<incll_discipline>>>;
TYPED_TEST_SUITE(tree_threads, variants);

/// A key of one writer; the keys of all writers are mixed in the same leaves and layers.
std::string key_of(unsigned writer, u64 n) {
    switch (n % 3) {
        case 0:
            return std::to_string(n) + "/" + std::to_string(writer);
        case 1:
            return "a common prefix " + std::to_string(n % 97) + "#" + std::to_string(writer);
        default: {
            const u64 big = __builtin_bswap64(n * 4 + writer);
            return {reinterpret_cast<const char*>(&big), 8};
        }
    }
}

TYPED_TEST(tree_threads, writers_see_their_writes_and_scans_are_ordered) {
    constexpr unsigned writers = 3;
    scratch_file file;
    engine_options options;
    options.epochs.epoch = std::chrono::milliseconds(2);
    options.file.flush = flush_policy::always;
    options.hint_memory = TypeParam::hint_memory;
    options.inline_values = TypeParam::inline_values;
    test_engine<typename TypeParam::discipline> e(file.path(), options);
    std::vector<std::map<std::string, std::string>> models(writers);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (unsigned w = 0; w < writers; ++w) {
        threads.emplace_back([&, w] {
            xoshiro256ss r(w + 1);
            auto& m = models[w];
            for (unsigned i = 0; i < rounds; ++i) {
                const bool shrink = (i / 2000) % 2 == 1;
                const std::string key = key_of(w, r.below(3000));
                const u64 dice = r.below(10);
                if (i % 3 == 0) (void)e.join(key);
                if (dice < (shrink ? 2 : 6)) {
                    // Values of up to eight bytes may be inlined.
                    const std::string value =
                        std::to_string(i) + std::string(r.below(2) * r.below(30), 'z');
                    ASSERT_EQ(e.put(key, value), m.contains(key));
                    m[key] = value;
                } else if (dice < 9) {
                    ASSERT_EQ(e.remove(key), m.erase(key) == 1);
                } else {
                    const auto it = m.find(key);
                    const auto got = e.get(key);
                    ASSERT_EQ(got.has_value(), it != m.end());
                    if (got) {
                        ASSERT_EQ(*got, it->second);
                    }
                }
            }
        });
    }
    std::thread scanner([&] {
        xoshiro256ss r(99);
        while (!stop.load()) {
            operation op(e.checkpoint());
            std::string last;
            bool first = true;
            unsigned left = 200;
            const std::string from = key_of(0, r.below(3000));
            e.tree().scan(op, from, false, [&](std::string_view k, std::string_view) {
                EXPECT_TRUE(first ? k >= from : k > last);
                first = false;
                last = std::string(k);
                return --left > 0;
            });
            first = true;
            left = 200;
            e.tree().scan_backward(op, from, false, [&](std::string_view k, std::string_view) {
                EXPECT_TRUE(first ? k <= from : k < last);
                first = false;
                last = std::string(k);
                return --left > 0;
            });
        }
    });
    for (auto& t : threads) t.join();
    stop = true;
    scanner.join();
    std::map<std::string, std::string> all;
    for (const auto& m : models) all.insert(m.begin(), m.end());
    const auto found = e.all();
    EXPECT_TRUE(std::equal(
        found.begin(), found.end(), all.begin(), all.end(),
        [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
}

TYPED_TEST(tree_threads, concurrent_updates_of_one_key_are_not_lost) {
    scratch_file file;
    engine_options options;
    options.epochs.epoch = std::chrono::milliseconds(1);
    options.hint_memory = TypeParam::hint_memory;
    options.inline_values = TypeParam::inline_values;
    test_engine<typename TypeParam::discipline> e(file.path(), options);
    constexpr unsigned writers = 3;
    constexpr unsigned each = rounds / 4;
    std::vector<std::thread> threads;
    for (unsigned w = 0; w < writers; ++w) {
        threads.emplace_back([&] {
            for (unsigned i = 0; i < each; ++i) {
                operation op(e.checkpoint());
                auto done = e.tree().update(op, "counter", [&](const auto* old) {
                    const u64 n = old != nullptr ? std::stoull(std::string(old->value())) : 0;
                    return e.to_store(op, "counter", std::to_string(n + 1));
                });
                ASSERT_TRUE(done.has_value());
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(e.get("counter"), std::to_string(writers * each));
}

/// Each thread fills, reads and empties its leaves; their memory is then reused for leaves of layer
/// 1 with the same slices. A reader that followed an old hint would find other threads' keys.
TYPED_TEST(tree_threads, hints_to_leaves_reused_in_another_layer_are_ignored) {
    constexpr unsigned threads_at_work = 3;
    constexpr unsigned keys = 300;
    constexpr unsigned cycles = rounds / 2000;
    scratch_file file;
    engine_options options;
    options.epochs.epoch = std::chrono::milliseconds(1);
    options.hint_memory = TypeParam::hint_memory;
    options.inline_values = TypeParam::inline_values;
    test_engine<typename TypeParam::discipline> e(file.path(), options);
    const auto name = [](char first, unsigned thread, unsigned i) {
        std::string digits = std::to_string(i);
        return first + std::to_string(thread) + std::string(6 - digits.size(), '0') + digits;
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < threads_at_work; ++t) {
        threads.emplace_back([&, t] {
            for (unsigned c = 0; c < cycles; ++c) {
                const std::string value = std::to_string(c);
                for (unsigned i = 0; i < keys; ++i) ASSERT_FALSE(e.put(name('k', t, i), value));
                for (unsigned i = 0; i < keys; ++i) ASSERT_EQ(e.get(name('k', t, i)), value);
                for (unsigned i = 0; i < keys; ++i) ASSERT_TRUE(e.remove(name('k', t, i)));
                e.epochs().end_epoch();
                for (unsigned i = 0; i < keys; ++i) {
                    // Insert the next thread's slices, too, which may or may not have keys.
                    const unsigned other = (t + i % 2) % threads_at_work;
                    const std::string layer = name('p', t, i);
                    ASSERT_FALSE(e.put(layer + name('k', other, i), "wrong"));
                    ASSERT_FALSE(e.put(layer + name('k', t, i + 1), "wrong"));
                }
                for (unsigned i = 0; i < keys; ++i) {
                    ASSERT_EQ(e.get(name('k', t, i)), std::nullopt);
                    const auto others = e.get(name('k', (t + 1) % threads_at_work, i));
                    if (others) {
                        ASSERT_NE(*others, "wrong");
                    }
                }
                for (unsigned i = 0; i < keys; ++i) {
                    const unsigned other = (t + i % 2) % threads_at_work;
                    const std::string layer = name('p', t, i);
                    ASSERT_FALSE(e.remove(name('k', t, i)));
                    ASSERT_TRUE(e.remove(layer + name('k', other, i)));
                    ASSERT_TRUE(e.remove(layer + name('k', t, i + 1)));
                }
                e.epochs().end_epoch();
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_TRUE(e.all().empty());
}

/// After a crash many threads find unrecovered leaves at the same time. `updates_only`: only the
/// value lines of these leaves have changes of the failed epoch; their recovery looks complete
/// before it is.
template <class Variant>
void recover_under_load(bool updates_only) {
    scratch_file file;
    engine_options options;
    options.epochs.epoch = std::chrono::microseconds(0);
    options.background_pass = false;
    options.hint_memory = Variant::hint_memory;
    options.inline_values = Variant::inline_values;
    std::map<std::string, std::string> model;
    {
        test_engine<incll_discipline> e(file.path(), options);
        xoshiro256ss r(5);
        for (unsigned i = 0; i < 20000; ++i) {
            const std::string key = key_of(0, r.below(20000));
            model[key] = std::to_string(i);
            e.put(key, model[key]);
        }
        e.epochs().end_epoch();
        for (unsigned i = 0; i < 20000; ++i) {
            const std::string key = key_of(0, r.below(20000));
            if (updates_only) {
                if (model.contains(key)) e.put(key, "lost");
            } else if (r.below(2) != 0) {
                e.put(key, "lost");
            } else {
                e.remove(key);
            }
        }
    }
    options.background_pass = true;
    options.epochs.epoch = std::chrono::milliseconds(2);
    test_engine<incll_discipline> e(file.path(), options);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            unsigned n = 0;
            for (const auto& [key, value] : model) {
                ASSERT_EQ(e.get(key), value) << key;
                if (n++ % 50 == t) e.put("new " + key, "x");  // mostly in the same leaves
            }
        });
    }
    for (auto& t : threads) t.join();
    for (const auto& [key, value] : model) ASSERT_EQ(e.get(key), value);
    unsigned n = 0;
    for (const auto& [key, value] : model) {
        if (n++ % 50 < 3) {
            ASSERT_EQ(e.get("new " + key), "x") << "an insert was undone by a recovery beside it";
        }
    }
}

TEST(tree_recovery, leaves_are_recovered_under_readers_and_writers) {
    for (int round = 0; round < effort(3, 1); ++round) {
        recover_under_load<without_hints<incll_discipline>>(false);
        recover_under_load<in_leaves<without_hints<incll_discipline>>>(false);
    }
}

TEST(tree_recovery, hinted_leaves_are_recovered_under_readers_and_writers) {
    for (int round = 0; round < effort(4, 2); ++round) {
        recover_under_load<with_hints<incll_discipline>>(round % 2 == 0);
        recover_under_load<in_leaves<with_hints<incll_discipline>>>(round % 2 != 0);
    }
}

TEST(tree_recovery, leaves_with_only_value_logs_are_recovered_under_readers_and_writers) {
    for (int round = 0; round < effort(3, 1); ++round) {
        recover_under_load<without_hints<incll_discipline>>(true);
        recover_under_load<in_leaves<without_hints<incll_discipline>>>(true);
    }
}

/// After a crash readers read all words of a leaf before they check its version again. Meanwhile
/// the root of a layer may become an interior node, whose words must not be reported as damage.
template <class Variant>
void split_roots_under_readers() {
    const unsigned layers = effort(1500U, 300U);
    scratch_file file;
    engine_options options = by_hand();
    options.hint_memory = Variant::hint_memory;
    options.inline_values = Variant::inline_values;
    const auto name = [](unsigned layer, unsigned i) {
        std::string digits = std::to_string(layer);
        return std::string(8 - digits.size(), '0') + digits + static_cast<char>('a' + i);
    };
    constexpr unsigned width = masstree_detail::durable_leaf::width;
    {
        test_engine<incll_discipline> e(file.path(), options);
        for (unsigned l = 0; l < layers; ++l) {
            for (unsigned i = 0; i < width; ++i) e.put(name(l, i), "x");
        }
        e.epochs().end_epoch();
        e.put(name(0, 0), "lost");
    }
    test_engine<incll_discipline> e(file.path(), options);
    std::vector<std::string> looked_for;
    for (unsigned l = 0; l < layers; ++l) looked_for.push_back(name(l, l % width));
    std::atomic<unsigned> at{0};
    std::thread reader([&] {
        try {
            for (unsigned l = 0; (l = at.load()) < layers;) {
                operation op(e.checkpoint());
                for (unsigned i = 0; i < 20 && at.load() == l; ++i) {
                    ASSERT_NE(e.tree().find_cell(op, looked_for[l]).kind,
                              masstree_detail::cell_kind::none);
                }
                if (l % 8 != 0) continue;
                e.tree().scan(op, looked_for[l], false,
                              [](std::string_view, std::string_view) { return false; });
            }
        } catch (const hf::damage& why) {
            ADD_FAILURE() << why.what();
        }
    });
    for (unsigned l = 0; l < layers; ++l) {
        at = l;
        e.put(name(l, width), "x");
    }
    at = layers;
    reader.join();
}

TEST(tree_recovery, readers_accept_a_root_that_becomes_an_interior_node) {
    split_roots_under_readers<without_hints<incll_discipline>>();
    split_roots_under_readers<in_leaves<without_hints<incll_discipline>>>();
}

/// V3: a writer that used a leaf's new epoch before it is durable could write a log in a value line
/// that becomes durable before it.
TEST(tree_recovery, reader_of_a_recovered_leaf_waits_for_the_end_of_its_recovery) {
    for (const bool inlined : {false, true}) {
        scratch_file file;
        engine_options options = by_hand();
        options.inline_values = inlined;
        {
            test_engine<incll_discipline> e(file.path(), options);
            e.put("key", "old");
            e.epochs().end_epoch();
            e.put("key", "lost");
        }
        test_engine<incll_discipline> e(file.path(), options);
        ASSERT_EQ(e.get("key"), "old");
        const auto& leaf =
            *object_at<masstree_detail::durable_leaf>(e.tree().base(), e.tree().root());
        ASSERT_GE(leaf.epoch(), e.checkpoint().horizon());
        std::unique_lock at_it(masstree_detail::recovery_lock(leaf));
        std::atomic<bool> through{false};
        std::thread writer([&] {
            e.put("key", "new");
            through = true;
        });
        for (unsigned i = 0; i < 100 && !through; ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        EXPECT_FALSE(through);
        at_it.unlock();
        writer.join();
        EXPECT_EQ(e.get("key"), "new");
    }
}

}  // namespace
}  // namespace hf::test
