// An index in many states: all sets of a few odd keys, all sizes while growing and shrinking, and
// without memory. Results and contents are compared with a std::map.
#pragma once

#include "alloc/size_class.hpp"
#include "base/random.hpp"
#include "index/common/index_fixture.hpp"
#include "index/common/scans.hpp"
#include "support/effort.hpp"

#include <algorithm>
#include <bit>
#include <ranges>

namespace hf::test {

template <class Family>
class index_states : public on_tmpfs {};
TYPED_TEST_SUITE_P(index_states);

/// An index and the expected contents. Without memory, a change may be refused.
template <class Tree>
struct beside_a_map {
    using kept = typename Tree::kept;
    using operation = typename Tree::operation;
    using olds = std::vector<kept>;

    Tree& t;
    std::map<kept, kept> model = {};
    u64 refused = 0;

    [[nodiscard]] olds value_of(const kept& k) const {
        const auto at = model.find(k);
        return at == model.end() ? olds{} : olds{at->second};
    }
    /// Performs a change and updates the model. `Work` receives a callback for old values.
    template <class Work>
    void change(const kept& k, bool made, bool replaces, const kept& v, Work&& work) {
        olds told;
        const auto keep = [&](const auto& old) { told.emplace_back(old); };
        operation op(*t.space);
        const result<bool> done = work(op, keep);
        if (!done) {
            ASSERT_EQ(done.error().code, errc::no_space) << done.error().to_string();
            ASSERT_TRUE(told.empty());
            ++refused;
            return;
        }
        ASSERT_EQ(*done, made);
        ASSERT_EQ(told, replaces ? value_of(k) : olds{});
        if (made || replaces) model.insert_or_assign(k, v);
    }
    void insert(const kept& k, const kept& v) {
        change(k, !model.contains(k), false, v,
               [&](operation& op, const auto&) { return t.index->insert(op, k, v); });
    }
    void upsert(const kept& k, const kept& v) {
        change(k, !model.contains(k), true, v,
               [&](operation& op, const auto& keep) { return t.index->upsert(op, k, v, keep); });
    }
    void update(const kept& k, const kept& v) {
        const bool is_there = model.contains(k);
        change(k, is_there, is_there, v,
               [&](operation& op, const auto& keep) { return t.index->update(op, k, v, keep); });
    }
    /// After a refused batch, the entries before the refusal are present.
    void insert_many(const typename Tree::entries& all) {
        std::map<kept, kept> fresh(all.begin(), all.end());  // the first one of each key
        std::erase_if(fresh, [&](const auto& e) { return model.contains(e.first); });
        const std::vector<batch_entry<typename Tree::tree>> views(all.begin(), all.end());
        const result<u64> done = hf::insert_many(*t.index, *t.space, std::span(views));
        if (!done) {
            ASSERT_EQ(done.error().code, errc::no_space) << done.error().to_string();
            ++refused;
            std::erase_if(fresh, [&](const auto& e) { return !t.get(e.first); });
        } else {
            ASSERT_EQ(*done, fresh.size());
        }
        model.merge(fresh);
    }
    /// Must succeed without memory.
    void remove(const kept& k) {
        olds told;
        const auto keep = [&](const auto& old) { told.emplace_back(old); };
        operation op(*t.space);
        ASSERT_EQ(t.index->remove(op, k, keep), model.contains(k));
        ASSERT_EQ(told, value_of(k));
        model.erase(k);
    }
    /// Compares get and scans for these keys, and for keys between them.
    void expect_reads(const std::vector<kept>& probes, std::initializer_list<u64> lengths) const {
        for (const kept& k : probes) {
            const auto found = t.get(k);
            ASSERT_EQ(found ? olds{*found} : olds{}, value_of(k));
            for (const u64 most : lengths) {
                ASSERT_NO_FATAL_FAILURE(compare_scans(t, model, k, most));
            }
        }
    }
    void expect_all() const {
        ASSERT_EQ(t.all(), typename Tree::entries(model.begin(), model.end()));
        for (const auto& [k, v] : model) ASSERT_EQ(t.get(k), v);
        t.expect_sound();
    }
};

template <class Kept>
Kept state_value(u64 n) {
    if constexpr (std::is_same_v<Kept, u64>) {
        return n;
    } else {
        return std::string(n % 50, 'v') + std::to_string(n);
    }
}

// ------------------------------------------------------------------------------ sets of a few keys

/// Keys that are prefixes of others, that end at the boundary of a head, slice or byte, and the
/// smallest and largest.
template <class Kept>
std::vector<Kept> odd_keys() {
    if constexpr (std::is_same_v<Kept, u64>) {
        return {0, 1, 255, 256, u64{1} << 56, u64{1} << 63, ~u64{0}};
    } else {
        return {"",
                "a",
                std::string("a\0", 2),
                "abcdefgh",
                "abcdefghi",
                std::string("abcdefgh\0", 9),
                std::string(20, '\xff')};
    }
}

template <class Tree>
void visit_all_sets_of_odd_keys() {
    using kept = typename Tree::kept;
    Tree t;
    beside_a_map<Tree> both{t};
    const auto keys = odd_keys<kept>();
    for (u64 state = 1; state <= u64{1} << keys.size(); ++state) {
        // Gray code: visits each set once, changing one key at a time; the empty set is last.
        const auto changed = std::min<std::size_t>(
            static_cast<std::size_t>(std::countr_zero(state)), keys.size() - 1);
        SCOPED_TRACE("state " + std::to_string(state));
        const kept k = keys[changed];
        if (both.model.contains(k)) {
            both.remove(k);
        } else if (state % 3 == 0) {
            both.upsert(k, state_value<kept>(state));
        } else {
            both.insert(k, state_value<kept>(state));
        }
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const kept& other = keys[i];
            const kept v = state_value<kept>(state + 1000);
            if (!both.model.contains(other)) {
                both.remove(other);
                both.update(other, v);
            } else {
                both.insert(other, v);
                (state + i) % 2 == 0 ? both.update(other, v) : both.upsert(other, v);
            }
        }
        ASSERT_NO_FATAL_FAILURE(both.expect_reads(keys, {0, 1, 2, both.model.size(), 100}));
        ASSERT_NO_FATAL_FAILURE(both.expect_all());
        if (::testing::Test::HasFailure()) return;
    }
    ASSERT_TRUE(both.model.empty());
    ASSERT_EQ(both.refused, 0U);
}

TYPED_TEST_P(index_states, match_a_map_with_all_sets_of_odd_keys) {
    ASSERT_NO_FATAL_FAILURE(visit_all_sets_of_odd_keys<typename TypeParam::eager_numbers>());
    ASSERT_NO_FATAL_FAILURE(visit_all_sets_of_odd_keys<typename TypeParam::eager_bytes>());
}

// ------------------------------------------------------------------------------------- all sizes

constexpr u64 state_sizes = 271;  ///< more keys than any node has room for; a prime

/// Key number n of a shape. Neighbours differ in the last byte or in the first, after no prefix or
/// after a common one. One string ends where the others differ, so their node has a key of its own,
/// at any size.
template <class Kept>
Kept key_of_shape(u64 shape, u64 n) {
    if constexpr (std::is_same_v<Kept, u64>) {
        return shape == 0 ? n : shape == 1 ? n << 55 : n << 24 | 7;
    } else {
        std::string k(shape * 11, 'p');
        if (n == 262) return k;  // inserted early and removed late, in shape 1
        k += static_cast<char>(n >> 1);
        return k + std::string(n % 2 * (shape + 1), '\0') + "end";
    }
}

/// A key that differs from `k` late: together they need a node.
[[nodiscard]] inline u64 key_behind(u64 k) { return k ^ 1; }
[[nodiscard]] inline std::string key_behind(const std::string& k) { return k + "behind"; }

template <class Tree>
void grow_and_shrink(u64 shape, u64 up, u64 down) {
    using kept = typename Tree::kept;
    Tree t;
    beside_a_map<Tree> both{t};
    const auto key = [&](u64 n) { return key_of_shape<kept>(shape, n % state_sizes); };
    const auto look = [&](u64 n, u64 i) {
        const std::vector<kept> near{key(n), key(n + 1), key(n + state_sizes - 1)};
        ASSERT_NO_FATAL_FAILURE(both.expect_reads(near, {1, 15}));
        if (i % (is_sanitized ? 90 : 9) != 0) return;
        ASSERT_NO_FATAL_FAILURE(both.expect_reads(near, {state_sizes}));
        ASSERT_NO_FATAL_FAILURE(both.expect_all());
    };
    for (u64 i = 0; i < state_sizes; ++i) {
        const u64 n = i * up % state_sizes;
        both.insert(key(n), state_value<kept>(n));
        if (i % 4 == 0) both.upsert(key(n), state_value<kept>(n + 7));
        ASSERT_NO_FATAL_FAILURE(look(n, i));
        if (::testing::Test::HasFailure()) return;
    }
    for (u64 i = 0; i < state_sizes; ++i) {
        const u64 n = i * down % state_sizes;
        both.remove(key(n));
        both.remove(key(n));
        ASSERT_NO_FATAL_FAILURE(look(n, i));
        if (::testing::Test::HasFailure()) return;
    }
    ASSERT_TRUE(both.model.empty());
    ASSERT_EQ(both.refused, 0U);
    ASSERT_NO_FATAL_FAILURE(both.expect_all());
}

// In ascending, descending and mixed order: removes the first entry of a node, the last, or any.
TYPED_TEST_P(index_states, match_a_map_at_all_sizes) {
    const u64 ways[][2] = {{1, state_sizes - 1}, {state_sizes - 1, 70}, {70, 1}};
    for (u64 shape = 0; shape < 3; ++shape) {
        const auto [up, down] = ways[shape];
        SCOPED_TRACE("shape " + std::to_string(shape));
        ASSERT_NO_FATAL_FAILURE(
            grow_and_shrink<typename TypeParam::eager_numbers>(shape, up, down));
        ASSERT_NO_FATAL_FAILURE(grow_and_shrink<typename TypeParam::eager_bytes>(shape, up, down));
    }
}

// Kills at each size: the sweep must keep everything that nodes of any size refer to.
TYPED_TEST_P(index_states, survive_a_kill_at_all_sizes) {
    const auto come_and_go = [](auto& t) {
        using tree = std::remove_reference_t<decltype(t)>;
        using kept = typename tree::kept;
        beside_a_map<tree> both{t};
        const auto key = [](u64 n) { return key_of_shape<kept>(1, n % state_sizes); };
        for (u64 i = 0; i < 2 * state_sizes; ++i) {
            if (i < state_sizes) {
                both.upsert(key(i * (state_sizes - 1)), state_value<kept>(i));
            } else {
                both.remove(key((i - state_sizes) * 70));
            }
            if (i % (is_sanitized ? 36 : 9) != 0) continue;
            t.open_again();
            ASSERT_NO_FATAL_FAILURE(both.expect_all());
            if (::testing::Test::HasFailure()) return;
        }
        ASSERT_TRUE(both.model.empty());
    };
    typename TypeParam::numbers_in_file numbers(this->dir / "numbers");
    ASSERT_NO_FATAL_FAILURE(come_and_go(numbers));
    typename TypeParam::bytes_in_file bytes(this->dir / "bytes");
    ASSERT_NO_FATAL_FAILURE(come_and_go(bytes));
}

// ------------------------------------------------------------------------------------------- paths

/// Two keys that differ after `way` bytes, two that leave this path at an earlier byte, and one
/// that ends there (an integer: zeros from there on).
template <class Kept>
std::vector<Kept> keys_that_part(u64 way, u64 leaves_at) {
    if constexpr (std::is_same_v<Kept, u64>) {
        constexpr u64 whole = 0x1122334455667788;
        const auto other = [](u64 byte) { return whole ^ u64 { 1 } << (56 - 8 * byte); };
        return {whole, other(way), other(leaves_at), other(leaves_at) ^ 2,
                whole & ~(~u64{0} >> 8 * leaves_at)};
    } else {
        std::string shared;
        for (u64 i = 0; i < way; ++i) shared += static_cast<char>('a' + i % 23);
        std::string leaves = shared;
        leaves[leaves_at] = '#';
        return {shared + "1 and on", shared + "2", leaves + "3", leaves + "1 and on",
                shared.substr(0, leaves_at)};
    }
}

template <class Tree>
void part_at_all_places(u64 longest) {
    using kept = typename Tree::kept;
    Tree t;
    beside_a_map<Tree> both{t};
    for (u64 way = 1; way <= longest; ++way) {
        for (u64 leaves_at = 0; leaves_at < way; ++leaves_at) {
            SCOPED_TRACE(std::to_string(way) + " bytes, left at " + std::to_string(leaves_at));
            const auto keys = keys_that_part<kept>(way, leaves_at);
            for (std::size_t n = 0; n < keys.size(); ++n) {
                ASSERT_NO_FATAL_FAILURE(both.expect_reads(keys, {2}));
                both.insert(keys[n], state_value<kept>(n));
                both.insert(keys[n], state_value<kept>(9));
            }
            ASSERT_NO_FATAL_FAILURE(both.expect_reads(keys, {1, 4}));
            for (const kept& k : keys) {
                both.remove(k);
                ASSERT_NO_FATAL_FAILURE(both.expect_reads(keys, {2}));
            }
            if (::testing::Test::HasFailure()) return;
        }
        ASSERT_TRUE(both.model.empty());
    }
    ASSERT_NO_FATAL_FAILURE(both.expect_all());
}

// The keys differ at every position, so also where a node stores, compares or omits part of a key.
TYPED_TEST_P(index_states, distinguish_keys_that_differ_at_any_position) {
    ASSERT_NO_FATAL_FAILURE(part_at_all_places<typename TypeParam::eager_numbers>(7));
    ASSERT_NO_FATAL_FAILURE(part_at_all_places<typename TypeParam::eager_bytes>(26));
}

// ------------------------------------------------------------------------------------ long scans

/// Scans more entries than one operation visits, so the scan continues after the last key, wherever
/// that is.
template <class Tree>
void scan_long_ways() {
    using kept = typename Tree::kept;
    constexpr u64 many = 4500;
    Tree t;
    beside_a_map<Tree> both{t};
    const auto key = [](u64 n) { return key_of_shape<kept>(2, n); };
    for (u64 i = 0; i < many; ++i) {
        if constexpr (std::is_same_v<kept, u64>) {
            both.insert(key(i * 7 % many), i);
        } else {
            both.insert(std::to_string(i * 7 % many) + key(i % 200), "v");
        }
    }
    for (u64 n = 0; n < scaled(20); ++n) {
        const auto low = std::next(both.model.begin(), static_cast<std::ptrdiff_t>(n));
        const auto high = std::next(both.model.rbegin(), static_cast<std::ptrdiff_t>(n));
        ASSERT_NO_FATAL_FAILURE(compare_scans(t, both.model, low->first, many));
        ASSERT_NO_FATAL_FAILURE(compare_scans(t, both.model, high->first, many));
    }
    ASSERT_NO_FATAL_FAILURE(both.expect_all());
}

TYPED_TEST_P(index_states, scans_continue_after_the_limit_of_an_operation) {
    if constexpr (TypeParam::eager_numbers::is_ordered) {
        ASSERT_NO_FATAL_FAILURE(scan_long_ways<typename TypeParam::eager_numbers>());
        ASSERT_NO_FATAL_FAILURE(scan_long_ways<typename TypeParam::eager_bytes>());
    }
}

// --------------------------------------------------------------------------------- without memory

/// Takes all blocks of `least` bytes and more until give_back(): records still fit into smaller
/// blocks, nodes do not.
template <class Tree>
class no_memory {
   public:
    no_memory(Tree& t, u64 least) : t_(t) {
        // Blocks of each class: a node takes any larger one (alloc/swept_heap.hpp).
        for (const u32 size_class : std::views::reverse(classes_by_size())) {
            const u64 bytes = block_size(size_class);
            if (bytes < least) return;
            typename Tree::operation op(*t_.space);
            while (const auto block = op.allocate(bytes)) taken_.push_back(*block);
        }
    }
    void give_back() {
        for (const u64 block : taken_) {
            typename Tree::operation op(*t_.space);
            op.cancel(block);
        }
        taken_.clear();
    }
    void forget() { taken_.clear(); }

   private:
    Tree& t_;
    std::vector<u64> taken_;
};

template <class Tree>
void change_at_random(beside_a_map<Tree>& both, u64 shape, xoshiro256ss& random, u64 inserts) {
    using kept = typename Tree::kept;
    const kept k = key_of_shape<kept>(shape, random.below(state_sizes));
    const kept v = state_value<kept>(random.below(10'000));
    if (random.below(12) == 0) {
        typename Tree::entries all;
        for (u64 n = 1 + random.below(batch_entries); n > 0; --n) {
            all.emplace_back(key_of_shape<kept>(shape, random.below(state_sizes)),
                             state_value<kept>(random.below(10'000)));
        }
        return both.insert_many(all);
    }
    const u64 dice = random.below(10);
    if (dice < inserts) return both.insert(k, v);
    if (dice == 8) return both.upsert(k, v);
    if (dice == 9) return both.update(k, v);
    both.remove(k);
}

template <class Tree>
void change_without_memory(Tree& t, u64 seed) {
    using kept = typename Tree::kept;
    beside_a_map<Tree> both{t};
    xoshiro256ss random(seed);
    const u64 shape = seed % 3;
    const auto change = [&](u64 times, u64 inserts) {
        for (u64 i = 0; i < times; ++i) {
            change_at_random(both, shape, random, inserts);
            if (::testing::Test::HasFailure()) return;
        }
        const std::vector<kept> some{key_of_shape<kept>(shape, random.below(state_sizes)),
                                     key_of_shape<kept>(shape, random.below(state_sizes))};
        ASSERT_NO_FATAL_FAILURE(both.expect_reads(some, {1, 40, state_sizes}));
        ASSERT_EQ(t.all(), typename Tree::entries(both.model.begin(), both.model.end()));
        for (const auto& [k, v] : both.model) ASSERT_EQ(t.get(k), v);
    };
    for (const u64 least : std::initializer_list<u64>{16, 48, 128}) {
        ASSERT_NO_FATAL_FAILURE(change(400, 7));
        no_memory<Tree> none(t, least);
        for (u64 part = 0; part < 8; ++part) {
            ASSERT_NO_FATAL_FAILURE(change(25, part % 2 == 0 ? 3 : 8));
        }
        if (least == 48) {
            // Changes made without memory survive a restart; the sweep frees the taken blocks.
            t.open_again();
            none.forget();
            ASSERT_NO_FATAL_FAILURE(both.expect_all());
        } else {
            none.give_back();
        }
        ASSERT_NO_FATAL_FAILURE(change(40, 5));
        ASSERT_NO_FATAL_FAILURE(both.expect_all());
    }
    // Integers need no memory if a node has room.
    ASSERT_TRUE(both.refused > 0 || (std::is_same_v<kept, u64>));
    for (u64 n = 0; n < state_sizes; ++n) both.remove(key_of_shape<kept>(shape, n));
    ASSERT_NO_FATAL_FAILURE(both.expect_all());
}

TYPED_TEST_P(index_states, match_a_map_without_memory) {
    constexpr u64 room = u64{3} << 20;
    for (u64 seed = 0; seed < effort(u64{3}); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const std::string name = std::to_string(seed);
        typename TypeParam::numbers_in_file numbers(this->dir / (name + "n"), room);
        ASSERT_NO_FATAL_FAILURE(change_without_memory(numbers, seed));
        typename TypeParam::bytes_in_file bytes(this->dir / (name + "b"), room);
        ASSERT_NO_FATAL_FAILURE(change_without_memory(bytes, seed));
    }
}

/// Of `many` keys all but `left` are removed while there is no memory for smaller nodes. Then other
/// keys are inserted around the rest, and everything is removed.
template <class Tree>
void empty_without_memory(Tree& t, u64 shape, u64 many, u64 left) {
    using kept = typename Tree::kept;
    beside_a_map<Tree> both{t};
    for (u64 n = 0; n < many; ++n) {
        both.insert(key_of_shape<kept>(shape, n), state_value<kept>(n));
        // Give some keys a node of their own.
        if (n % 7 == 3) both.insert(key_behind(key_of_shape<kept>(shape, n)), state_value<kept>(n));
    }
    no_memory<Tree> none(t, 16);
    std::vector<kept> there;
    for (const auto& [k, v] : both.model) there.push_back(k);
    xoshiro256ss random(shape);
    std::shuffle(there.begin(), there.end(), random);
    for (u64 i = 0; i + left < there.size(); ++i) both.remove(there[i]);
    ASSERT_NO_FATAL_FAILURE(both.expect_reads(there, {1, 300}));
    t.open_again();  // the sweep frees the taken blocks
    none.forget();
    ASSERT_NO_FATAL_FAILURE(both.expect_all());
    for (u64 n = 0; n < state_sizes; n += 11) {
        for (u64 s = 0; s < 3; ++s) both.upsert(key_of_shape<kept>(s, n), state_value<kept>(n));
    }
    ASSERT_EQ(both.refused, 0U);
    ASSERT_NO_FATAL_FAILURE(both.expect_all());
    for (const auto& k : there) both.remove(k);
    ASSERT_NO_FATAL_FAILURE(both.expect_all());
}

/// Nodes of `many` keys are full and cannot grow; failed inserts must release their locks.
template <class Tree>
void come_without_memory(Tree& t, u64 many) {
    using kept = typename Tree::kept;
    beside_a_map<Tree> both{t};
    const auto key = [many](u64 n) { return key_of_shape<kept>(many % 3, n * 2); };
    for (u64 n = 0; n < many; ++n) both.insert(key(n), kept{});
    no_memory<Tree> none(t, 128);  // leaves memory for records and for the smallest nodes
    for (u64 n = 0; n < many + 8; ++n) {
        both.insert(key(n), kept{});
        both.upsert(key(many + 7 - n), kept{});
        if (n % 3 == 0) both.remove(key(n));
        both.insert(key_of_shape<kept>(1, n * 5 + many), kept{});
    }
    t.open_again();
    none.forget();
    ASSERT_NO_FATAL_FAILURE(both.expect_all());
    both.refused = 0;
    for (u64 n = 0; n < 2 * many; ++n) both.insert(key(n), kept{});
    ASSERT_EQ(both.refused, 0U);
    ASSERT_NO_FATAL_FAILURE(both.expect_all());
}

TYPED_TEST_P(index_states, failed_growth_without_memory_loses_nothing) {
    constexpr u64 room = u64{3} << 20;
    for (u64 many = 1; many < 60; many += is_sanitized ? 10 : 4) {
        SCOPED_TRACE(std::to_string(many) + " keys");
        const std::string name = std::to_string(many);
        typename TypeParam::numbers_in_file numbers(this->dir / (name + "n"), room);
        ASSERT_NO_FATAL_FAILURE(come_without_memory(numbers, many));
        typename TypeParam::bytes_in_file bytes(this->dir / (name + "b"), room);
        ASSERT_NO_FATAL_FAILURE(come_without_memory(bytes, many));
    }
}

TYPED_TEST_P(index_states, can_be_emptied_without_memory) {
    constexpr u64 room = u64{3} << 20;
    for (const u64 many : std::initializer_list<u64>{1, 4, 8, 40, state_sizes}) {
        for (u64 left = 0; left < 3 && left < many; ++left) {
            const u64 shape = (many + left) % 3;
            SCOPED_TRACE(std::to_string(many) + " keys, " + std::to_string(left) + " are left");
            const std::string name = std::to_string(many) + "-" + std::to_string(left);
            typename TypeParam::numbers_in_file numbers(this->dir / (name + "n"), room);
            ASSERT_NO_FATAL_FAILURE(empty_without_memory(numbers, shape, many, left));
            typename TypeParam::bytes_in_file bytes(this->dir / (name + "b"), room);
            ASSERT_NO_FATAL_FAILURE(empty_without_memory(bytes, shape, many, left));
        }
    }
}

/// An index in memory whose blocks are all beyond the region's first 4 GiB.
template <class Index>
struct index_far_away : index_parts<Index> {
    index_far_away() {
        eager_options o;
        o.region.kind = discipline::eager;
        o.region.flush = flush_policy::always;
        o.region.max_size = u64{16} << 30;
        this->space = must(
            eager_space::create_volatile(u64{1} << 20, o, [this](eager_space& s) -> result<void> {
                take_what_lies_below(s);
                auto made = Index::open(s, Index::name);
                if (!made) return tl::unexpected(made.error());
                this->index = std::move(*made);
                return {};
            }));
    }
    static void take_what_lies_below(eager_space& s) {
        typename Index::operation op(s);
        must(op.allocate(far));
        while (must(op.allocate(layout::page_size)) < far) {
        }
    }
    static constexpr u64 far = u64{4} << 30;
};

template <class Index, class Make>
void expect_its_keys_far_away(Make&& make) {
    index_far_away<Index> t;
    ASSERT_GT(t.space->file().size(), t.far);
    std::map<typename index_parts<Index>::kept, typename index_parts<Index>::kept> model;
    splitmix64 random(1);
    while (model.size() < 2000) {
        const auto k = make(random() % 10'000);
        const auto v = make(random());
        if (random() % 4 == 0) {
            ASSERT_EQ(t.remove(k), model.erase(k) == 1);
        } else {
            ASSERT_EQ(t.upsert(k, v), !model.contains(k));
            model[k] = v;
        }
        ASSERT_EQ(t.get(k).has_value(), model.contains(k));
    }
    for (const auto& [k, v] : model) ASSERT_EQ(t.get(k), v);
    EXPECT_EQ(t.all().size(), model.size());
    for (const auto& [k, v] : model) ASSERT_TRUE(t.remove(k));
    EXPECT_TRUE(t.all().empty());
}

TYPED_TEST_P(index_states, works_beyond_the_first_4_gib) {
    expect_its_keys_far_away<typename TypeParam::eager_numbers::tree>([](u64 n) { return n; });
    expect_its_keys_far_away<typename TypeParam::eager_bytes::tree>(
        [](u64 n) { return std::to_string(n) + std::string(n % 40, 'x'); });
}

REGISTER_TYPED_TEST_SUITE_P(index_states, works_beyond_the_first_4_gib,
                            match_a_map_with_all_sets_of_odd_keys, match_a_map_at_all_sizes,
                            survive_a_kill_at_all_sizes,
                            distinguish_keys_that_differ_at_any_position,
                            scans_continue_after_the_limit_of_an_operation,
                            match_a_map_without_memory, failed_growth_without_memory_loses_nothing,
                            can_be_emptied_without_memory);

}  // namespace hf::test
