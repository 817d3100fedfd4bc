// Compares an index with a std::map: all operations, key shapes and node layouts.
#pragma once

#include "base/random.hpp"
#include "index/common/batch.hpp"
#include "index/common/scans.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <map>
#include <string>
#include <vector>

namespace hf::test {

template <class T>
class index_model : public ::testing::Test {};
TYPED_TEST_SUITE_P(index_model);

/// Keys that share bytes with others in ways that matter to trees.
struct key_maker {
    u64 shape;
    xoshiro256ss random;

    [[nodiscard]] u64 number() {
        switch (shape % 5) {
            case 0:
                return random();
            case 1:
                return random.below(600);
            case 2:
                return random.below(300) << 56 | random.below(3);
            case 3:
                return random.below(20) << (8 * random.below(8));
            default:
                return random.below(60) << 32 | random.below(60) << 8;
        }
    }
    [[nodiscard]] std::string bytes() {
        switch (shape % 5) {
            case 0: {
                std::string k(random.below(12), '\0');
                for (char& c : k) c = static_cast<char>(random());
                return k;
            }
            case 1: {
                std::string k(random.below(9), 'a');
                for (char& c : k) c = static_cast<char>(random.below(3));
                return k;
            }
            case 2:
                return "a prefix longer than a node has room for, " +
                       std::to_string(random.below(500)) + std::string(random.below(2) * 20, 'x') +
                       std::to_string(random.below(3));
            case 3:
                return std::string(random.below(40), 'p');
            default:
                return std::string(random.below(4) * 1000, 'q') + std::to_string(random.below(40)) +
                       std::string(random.below(3) * 30, '\0');
        }
    }
    template <class Kept>
    [[nodiscard]] Kept key() {
        if constexpr (std::is_same_v<Kept, u64>) {
            return number();
        } else {
            return bytes();
        }
    }
};

template <class Kept>
Kept value_of(u64 number) {
    if constexpr (std::is_same_v<Kept, u64>) {
        return number;
    } else {
        return std::to_string(number) + std::string(number % 70, 'v');
    }
}

/// Checks that a get of many keys finds each existing key with its value.
template <class Tree, class Model, class Kept>
void compare_many(const Tree& t, const Model& model, const std::vector<Kept>& keys) {
    const auto found = t.get_many(keys);
    ASSERT_EQ(found.size(), keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto there = model.find(keys[i]);
        ASSERT_EQ(found[i].has_value(), there != model.end()) << i;
        if (found[i]) {
            ASSERT_EQ(*found[i], there->second) << i;
        }
    }
}

template <class Tree>
void run_against_model(u64 seed, unsigned operations) {
    using kept = typename Tree::kept;
    Tree t;
    std::map<kept, kept> model;
    key_maker keys{seed, xoshiro256ss(seed)};
    xoshiro256ss& random = keys.random;
    unsigned growing = 8;  // inserts among ten writes
    for (unsigned i = 0; i < operations; ++i) {
        if (i % 1000 == 999) growing = growing == 8 ? 2 : 8;
        const kept k = keys.template key<kept>();
        const kept v = value_of<kept>(i);
        const auto there = model.find(k);
        const bool is_there = there != model.end();
        if (const u64 dice = random.below(20); dice < growing) {
            ASSERT_EQ(t.insert(k, v), !is_there);
            model.emplace(k, v);
        } else if (dice < 10) {
            ASSERT_EQ(t.remove(k), is_there);
            model.erase(k);
        } else if (dice < 12) {
            ASSERT_EQ(t.update(k, v), is_there);
            if (is_there) there->second = v;
        } else if (dice < 14) {
            ASSERT_EQ(t.upsert(k, v), !is_there);
            model[k] = v;
        } else if (dice < 18) {
            const auto found = t.get(k);
            ASSERT_EQ(found.has_value(), is_there);
            if (is_there) {
                ASSERT_EQ(*found, there->second);
            }
        } else if (dice == 18) {
            ASSERT_NO_FATAL_FAILURE(compare_scans(t, model, k, random.below(70)));
        } else {
            std::vector<kept> many(random.below(80), k);
            for (kept& one : many) {
                if (random.below(8) != 0) one = keys.template key<kept>();
                if (const auto next = model.lower_bound(one);
                    next != model.end() && random.below(2) == 0) {
                    one = next->first;
                }
            }
            ASSERT_NO_FATAL_FAILURE(compare_many(t, model, many));
        }
    }
    ASSERT_EQ(t.all(), typename Tree::entries(model.begin(), model.end()));
    auto report = t.audit();
    ASSERT_TRUE(report.ok()) << report.to_string();
    ASSERT_EQ(report.tree.records, model.size());
    while (!model.empty()) {
        ASSERT_TRUE(t.remove(model.begin()->first));
        model.erase(model.begin());
    }
    ASSERT_TRUE(t.all().empty());
    report = t.audit();
    ASSERT_TRUE(report.ok()) << report.to_string();
    ASSERT_LE(report.tree.interiors, Tree::keeps_when_empty) << "what was emptied is not merged";
}

TYPED_TEST_P(index_model, behaves_like_a_map) {
    for (u64 seed = 0; seed < 5; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        ASSERT_NO_FATAL_FAILURE(run_against_model<TypeParam>(seed, scaled(20000)));
    }
}

/// Inserts batches of all sizes, some sorted, with duplicate and existing keys; other operations in
/// between create nodes of all shapes.
template <class Tree>
void run_batches_against_model(u64 seed, unsigned batches) {
    using kept = typename Tree::kept;
    Tree t;
    std::map<kept, kept> model;
    key_maker keys{seed, xoshiro256ss(seed)};
    xoshiro256ss& random = keys.random;
    const auto change_some = [&] {
        for (u64 n = random.below(30); n > 0; --n) {
            const kept k = keys.template key<kept>();
            const kept v = value_of<kept>(random.below(1000));
            if (random.below(3) == 0) {
                ASSERT_EQ(t.upsert(k, v), model.insert_or_assign(k, v).second);
            } else {
                ASSERT_EQ(t.remove(k), model.erase(k) != 0);
            }
        }
        for (u64 n = random.below(4) == 0 ? model.size() / 2 : random.below(3); n > 0; --n) {
            auto at = model.lower_bound(keys.template key<kept>());
            if (at == model.end()) at = model.begin();
            if (at == model.end()) return;
            ASSERT_TRUE(t.remove(at->first));
            model.erase(at);
        }
    };
    for (unsigned b = 0; b < batches; ++b) {
        std::vector<std::pair<kept, kept>> all;
        for (u64 n = random.below(3 * batch_entries); n > 0; --n) {
            const kept k = keys.template key<kept>();
            all.emplace_back(k, value_of<kept>(random.below(1000)));
        }
        if (random.below(3) == 0) {
            // Stable sort: entries with equal keys keep their order.
            const std::multimap<kept, kept> in_order(all.begin(), all.end());
            all.assign(in_order.begin(), in_order.end());
        }
        const u64 before = model.size();
        model.insert(all.begin(), all.end());
        ASSERT_EQ(t.insert_many(all), model.size() - before);
        ASSERT_NO_FATAL_FAILURE(change_some());
    }
    ASSERT_EQ(t.all(), typename Tree::entries(model.begin(), model.end()));
    for (const auto& [k, v] : model) ASSERT_EQ(t.get(k), v);
    ASSERT_NO_FATAL_FAILURE(compare_scans(t, model, keys.template key<kept>(), 70));
    auto report = t.audit();
    ASSERT_TRUE(report.ok()) << report.to_string();
    ASSERT_EQ(report.tree.records, model.size());
}

TYPED_TEST_P(index_model, batches_behave_like_a_map) {
    for (u64 seed = 0; seed < 5; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        ASSERT_NO_FATAL_FAILURE(run_batches_against_model<TypeParam>(seed, scaled(60)));
    }
}

/// Each key is a prefix of the next one. Each traversal has fewer steps than the limit; those of a
/// batch have more in total.
template <class Tree>
void run_a_batch_down_long_ways() {
    Tree t;
    constexpr std::size_t deepest = 3000;
    const std::string longest(deepest, 'a');
    for (std::size_t n = 1; n <= deepest; ++n) ASSERT_TRUE(t.insert(longest.substr(0, n), "v"));
    std::vector<std::pair<std::string, std::string>> all;
    for (std::size_t i = 0; i < batch_entries; ++i) {
        all.emplace_back(longest.substr(0, deepest - i) + "b", "w");
    }
    ASSERT_EQ(t.insert_many(all), batch_entries);
    for (const auto& [k, v] : all) ASSERT_EQ(t.get(k), v);
}

TYPED_TEST_P(index_model, batch_with_long_paths_is_inserted) {
    if constexpr (std::is_same_v<typename TypeParam::kept, std::string>) {
        ASSERT_NO_FATAL_FAILURE(run_a_batch_down_long_ways<TypeParam>());
    }
}

REGISTER_TYPED_TEST_SUITE_P(index_model, behaves_like_a_map, batches_behave_like_a_map,
                            batch_with_long_paths_is_inserted);

/// The keys are chosen so that rapidcheck can shrink them on a failure. The tree must be empty.
template <class Tree>
void any_keys_in_any_order(Tree& t) {
    using step = std::pair<bool, std::string>;
    const auto steps = *rc::gen::container<std::vector<step>>(
        rc::gen::pair(rc::gen::weightedElement<bool>({{3, true}, {1, false}}),
                      rc::gen::container<std::string>(rc::gen::element('\0', 'a', 'b'))));
    std::map<std::string, std::string> model;
    for (const auto& [inserts, k] : steps) {
        if (inserts) {
            RC_ASSERT(t.insert(k, k + "!") == model.emplace(k, k + "!").second);
        } else {
            RC_ASSERT(t.remove(k) == (model.erase(k) != 0));
        }
    }
    RC_ASSERT(t.all() == typename Tree::entries(model.begin(), model.end()));
    for (const auto& [k, v] : model) RC_ASSERT(t.get(k) == v);
    for (const auto& [k, v] : model) RC_ASSERT(t.remove(k));
    RC_ASSERT(t.all().empty());
}

}  // namespace hf::test
