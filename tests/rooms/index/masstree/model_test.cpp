// Compares the tree with a std::map: random operations, adversarial keys, crashes at and between
// epoch boundaries.
#include "base/random.hpp"
#include "index/masstree/inlined/log.hpp"
#include "index/masstree/tree_fixture.hpp"

#include <gtest/gtest.h>

#include <map>

namespace hf::test {
namespace {

/// Epochs end only when the test ends them.
template <class Variant>
engine_options no_clock() {
    engine_options o;
    o.hint_memory = Variant::hint_memory;
    o.inline_values = Variant::inline_values;
    o.epochs.epoch = std::chrono::microseconds(0);
    o.background_pass = false;  // it would end an epoch
    return o;
}

using model = std::map<std::string, std::string>;

/// Keys that share slices, end within them, contain zeros, and continue for several layers.
std::string adversarial_key(xoshiro256ss& r, unsigned universe) {
    const u64 n = r.below(universe);
    switch (n % 6) {
        case 0:
            return std::string(n % 17, 'a');
        case 1:
            return "prefix__" + std::to_string(n % 50);
        case 2:
            return "prefix__prefix__" + std::to_string(n % 50) + std::string(n % 9, '\0');
        case 3:
            return std::string(n % 12, '\0');
        case 4:
            return std::to_string(n * 2654435761U);
        default:
            return std::string(8 * (n % 7), 'x') + std::to_string(n % 13);
    }
}

template <class Variant>
class tree_model : public ::testing::Test {};

using variants =
    ::testing::Types<without_hints<transient_discipline>, without_hints<malloc_discipline>,
                     without_hints<logged_discipline>, without_hints<incll_discipline>,
                     with_hints<transient_discipline>, with_hints<logged_discipline>,
                     with_hints<incll_discipline>, in_leaves<without_hints<logged_discipline>>,
                     in_leaves<with_hints<incll_discipline>>>;
TYPED_TEST_SUITE(tree_model, variants);

template <class D>
void random_operations(test_engine<D>& e, model& m, xoshiro256ss& r, unsigned count,
                       unsigned universe) {
    for (unsigned i = 0; i < count; ++i) {
        const std::string key = adversarial_key(r, universe);
        const u64 dice = r.below(100);
        if (dice < 50) {
            // Values of up to eight bytes may be inlined.
            const std::string value = r.below(2) == 0
                                          ? std::to_string(r()).substr(0, r.below(10))
                                          : std::to_string(r()) + std::string(r.below(40), 'v');
            ASSERT_EQ(e.put(key, value), m.contains(key));
            m[key] = value;
        } else if (dice < 85) {
            ASSERT_EQ(e.remove(key), m.erase(key) == 1) << i;
        } else {
            const auto got = e.get(key);
            const auto it = m.find(key);
            ASSERT_EQ(got.has_value(), it != m.end());
            if (got) {
                ASSERT_EQ(*got, it->second);
            }
        }
        if (r.below(2) == 0) (void)e.join(adversarial_key(r, universe));
        if (r.below(200) == 0) e.epochs().end_epoch();
    }
}

template <class D>
void expect_equal(test_engine<D>& e, const model& m) {
    const auto found = e.all();
    ASSERT_EQ(found.size(), m.size());
    auto it = m.begin();
    for (const auto& [k, v] : found) {
        ASSERT_EQ(k, it->first);
        ASSERT_EQ(v, it->second);
        ++it;
    }
    std::vector<std::pair<std::string, std::string>> down;
    operation op(e.checkpoint());
    e.tree().scan_backward(op, std::nullopt, false, [&](std::string_view k, std::string_view v) {
        down.emplace_back(k, v);
        return true;
    });
    std::reverse(down.begin(), down.end());
    ASSERT_EQ(down, found);
}

TYPED_TEST(tree_model, behaves_like_a_map) {
    for (u64 seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        scratch_file file;
        test_engine<typename TypeParam::discipline> e(file.path(), no_clock<TypeParam>());
        model m;
        xoshiro256ss r(seed);
        random_operations(e, m, r, 20000, seed % 2 ? 300 : 5000);
        expect_equal(e, m);
        for (const auto& [k, v] : m) ASSERT_EQ(e.get(k), v);
    }
}

/// In a leaf with room, in a full one, in a new layer, over a record, and for an absent key.
TYPED_TEST(tree_model, update_returns_what_existed_and_what_changed) {
    scratch_file file;
    test_engine<typename TypeParam::discipline> e(file.path(), no_clock<TypeParam>());
    const auto told = [&](const std::string& key, decision::action what) {
        operation op(e.checkpoint());
        const decision d =
            what == decision::action::store ? e.to_store(op, key, "v") : decision{what, 0};
        const auto done = must(e.tree().update(op, key, [&](const auto*) { return d; }));
        return std::pair(done.existed, done.changed);
    };
    using action = decision::action;
    for (int i = 0; i < 100; ++i) {
        for (const std::string& key : {std::to_string(i), "long key " + std::to_string(i),
                                       "long ke2 " + std::to_string(i)}) {
            SCOPED_TRACE(key);
            EXPECT_EQ(told(key, action::keep), std::pair(false, false));
            EXPECT_EQ(told(key, action::store), std::pair(false, true));
            EXPECT_EQ(told(key, action::keep), std::pair(true, false));
            EXPECT_EQ(told(key, action::store), std::pair(true, true));
            EXPECT_EQ(told(key, action::erase), std::pair(true, true));
            EXPECT_EQ(told(key, action::store), std::pair(false, true));
        }
    }
}

TYPED_TEST(tree_model, sequential_keys_are_inserted_and_removed) {
    scratch_file file;
    test_engine<typename TypeParam::discipline> e(file.path(), no_clock<TypeParam>());
    const auto key = [](unsigned i) {
        const u64 big = __builtin_bswap64(i);
        return std::string(reinterpret_cast<const char*>(&big), 8);
    };
    for (unsigned i = 0; i < 20000; ++i) e.put(key(i), std::to_string(i));
    for (unsigned i = 0; i < 20000; ++i) ASSERT_EQ(e.get(key(i)), std::to_string(i));
    for (unsigned i = 0; i < 20000; ++i) ASSERT_TRUE(e.remove(key(i)));
    EXPECT_TRUE(e.all().empty());
    for (unsigned i = 20000; i > 0; --i) e.put(key(i), std::to_string(i));
    for (unsigned i = 20000; i > 0; --i) ASSERT_TRUE(e.remove(key(i)));
    EXPECT_TRUE(e.all().empty());
}

template <class Variant>
void crash_test(u64 seed, u64 first_epoch) {
    scratch_file file;
    xoshiro256ss r(seed);
    model durable;
    engine_options options = no_clock<Variant>();
    options.file.first_epoch = first_epoch;
    for (int life = 0; life < 12; ++life) {
        test_engine<typename Variant::discipline> e(file.path(), options);
        if (r.below(3) == 0) {
            ASSERT_TRUE(must(e.machine().run_pass()));
        }
        // In half of the sessions the first operations find unrecovered leaves, instead of a scan.
        if (r.below(2) != 0) expect_equal(e, durable);
        model m = durable;
        const unsigned epochs = static_cast<unsigned>(r.below(4));
        const unsigned universe = r.below(2) ? 60 : 4000;
        for (unsigned i = 0; i < epochs; ++i) {
            random_operations(e, m, r, static_cast<unsigned>(r.below(3000)), universe);
            e.epochs().end_epoch();
            durable = m;
        }
        // random_operations() also ends epochs by itself, so only the calls below are lost.
        const unsigned lost = static_cast<unsigned>(r.below(800));
        for (unsigned i = 0; i < lost; ++i) {
            const std::string key = adversarial_key(r, universe);
            if (r.below(2) != 0) {
                e.put(key, "lost" + std::to_string(i));
            } else {
                e.remove(key);
            }
        }
        // no close(): a crash
    }
}

TEST(tree_crash, incll_restores_the_end_of_the_last_epoch) {
    for (u64 seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        crash_test<without_hints<incll_discipline>>(seed, 1);
    }
}

TEST(tree_crash, incll_restores_across_the_wrap_of_the_low_epoch_bits) {
    for (u64 seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        crash_test<without_hints<incll_discipline>>(seed, 0xffff - seed * 5);
    }
}

TEST(tree_crash, incll_with_hints_restores_the_end_of_the_last_epoch) {
    for (u64 seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        crash_test<with_hints<incll_discipline>>(seed, 1);
    }
}

TEST(tree_crash, incll_with_inlined_values_restores_the_end_of_the_last_epoch) {
    constexpr u64 wrap = u64{1} << masstree_detail::inlined::epoch_bits;
    for (u64 seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        crash_test<in_leaves<without_hints<incll_discipline>>>(seed, 1);
        crash_test<in_leaves<with_hints<incll_discipline>>>(seed, wrap - seed * 5);
    }
}

TEST(tree_crash, logged_restores_the_end_of_the_last_epoch) {
    for (u64 seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        crash_test<without_hints<logged_discipline>>(seed, 1);
    }
}

}  // namespace
}  // namespace hf::test
