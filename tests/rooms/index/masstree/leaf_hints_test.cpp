// Leaf hints: the table alone, and trees that use it. Leaves are removed, their memory is reused
// for something else with the same key, and a hint must not be followed to it.
#include "index/masstree/leaf_hints.hpp"

#include "index/masstree/tree_fixture.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace hf::test {
namespace {

using masstree_detail::leaf_hints;

constexpr u64 budget = u64{1} << 20;
constexpr u64 last_line = (u64{1} << 32) - 1;

/// Offset of a leaf whose block begins in this line.
constexpr u64 leaf_in(u64 line) { return line * line_size + block_header_size; }

void note(leaf_hints& h, u64 slice, u64 leaf, u64 record = 0) {
    h.note(slice, leaf, h.count(leaf), record);
}

// --------------------------------------------------------------------------------- the table alone

TEST(leaf_hints, make_returns_null_without_address_space) {
    EXPECT_EQ(leaf_hints::make(~u64{0} / 2), nullptr);
}

TEST(leaf_hints, find_returns_a_stored_hint_with_its_record_line) {
    const auto made_h = leaf_hints::make(budget);
    leaf_hints& h = *made_h;
    for (const u64 slice : {u64{0}, u64{1}, u64{0x6b65793030303031}, ~u64{0}}) {
        EXPECT_EQ(h.find(slice).leaf, 0U) << "unknown so far";
        note(h, slice, leaf_in(77), leaf_in(4321) + 32);
        EXPECT_EQ(h.find(slice).leaf, leaf_in(77));
        EXPECT_EQ(h.find(slice).record_line, 4321 * line_size);
    }
    EXPECT_EQ(h.find(2).leaf, 0U);
}

TEST(leaf_hints, empty_table_finds_no_hint) {
    const auto h = leaf_hints::make(budget);
    for (u64 slice = 0; slice < 50'000; ++slice) {
        ASSERT_EQ(h->find(slice * 0x9e3779b97f4a7c15U).leaf, 0U) << slice;
    }
}

TEST(leaf_hints, bytes_reports_the_memory_in_use) {
    const auto h = leaf_hints::make(budget);
    EXPECT_EQ(h->bytes(), h->buckets() * line_size);
    h->cover(u64{1} << 40);
    EXPECT_EQ(h->bytes(), budget);
}

TEST(tree_hints, prefetch_is_harmless_with_and_without_hints) {
    for (const u64 memory : {u64{0}, budget}) {
        scratch_file file;
        engine_options o = by_hand();
        o.hint_memory = memory;
        test_engine<incll_discipline> e(file.path(), o);
        e.put("key", "value");
        EXPECT_EQ(e.get("key"), "value");
        EXPECT_EQ(e.tree().hint_bytes() != 0, memory != 0);
        operation op(e.checkpoint());
        e.tree().prefetch_hint("key");
        e.tree().prefetch_hinted(op, "key");
    }
}

/// Offset 0 means "no hint", and is that of the region's header.
TEST(tree_hints, missing_hint_is_not_followed) {
    scratch_file file;
    engine_options o = by_hand();
    o.hint_memory = budget;
    test_engine<incll_discipline> e(file.path(), o);
    std::vector<std::byte> before(sizeof(layout::superblock));
    std::memcpy(before.data(), e.tree().base(), before.size());
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(e.get(std::to_string(i)), std::nullopt);
        e.put(std::to_string(i), "value");
        e.remove(std::to_string(i));
    }
    EXPECT_EQ(std::memcmp(before.data(), e.tree().base(), before.size()), 0);
}

TEST(leaf_hints, find_returns_the_latest_hint_of_a_slice) {
    const auto made_h = leaf_hints::make(budget);
    leaf_hints& h = *made_h;
    note(h, 5, leaf_in(10), leaf_in(100));
    note(h, 5, leaf_in(11), leaf_in(101));
    EXPECT_EQ(h.find(5).leaf, leaf_in(11));
    EXPECT_EQ(h.find(5).record_line, 101 * line_size);
}

TEST(leaf_hints, retire_invalidates_only_the_hints_of_its_leaf) {
    const auto made_h = leaf_hints::make(budget);
    leaf_hints& h = *made_h;
    const u64 before = h.count(leaf_in(10));
    note(h, 1, leaf_in(10));
    note(h, 2, leaf_in(10));
    note(h, 3, leaf_in(11));
    h.retire(leaf_in(10));
    EXPECT_EQ(h.find(1).leaf, 0U);
    EXPECT_EQ(h.find(2).leaf, 0U);
    EXPECT_EQ(h.find(3).leaf, leaf_in(11));
    h.note(1, leaf_in(10), static_cast<u32>(before), 0);
    EXPECT_EQ(h.find(1).leaf, 0U) << "noted late, by one who has seen the leaf before";
    note(h, 1, leaf_in(10));
    EXPECT_EQ(h.find(1).leaf, leaf_in(10)) << "a new leaf at the same place";
}

TEST(leaf_hints, exhausted_count_stays_and_is_not_stored_in_hints) {
    const auto made_h = leaf_hints::make(budget);
    leaf_hints& h = *made_h;
    constexpr u32 end = (u32{1} << 20) - 1;
    note(h, 1, leaf_in(10));
    for (u32 i = 0; i < end; ++i) h.retire(leaf_in(10));
    EXPECT_EQ(h.count(leaf_in(10)), end);
    for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(h.find(1).leaf, 0U);
        note(h, 1, leaf_in(10));
        EXPECT_EQ(h.find(1).leaf, 0U);
        h.retire(leaf_in(10));
        EXPECT_EQ(h.count(leaf_in(10)), end);
    }
    note(h, 1, leaf_in(11));
    EXPECT_EQ(h.find(1).leaf, leaf_in(11));
}

/// How many of the slices 0 .. n-1 are found, each in a leaf of its own.
u64 found_of(const leaf_hints& h, u64 n) {
    u64 found = 0;
    for (u64 slice = 0; slice < n; ++slice) {
        found += static_cast<u64>(h.find(slice).leaf == leaf_in(slice + 1));
    }
    return found;
}

TEST(leaf_hints, sixth_hint_of_a_bucket_replaces_one_of_five) {
    const auto made_h = leaf_hints::make(0);
    leaf_hints& h = *made_h;
    constexpr u64 many = 10000;
    u64 n = 0;
    while (found_of(h, n) == n) {
        note(h, n, leaf_in(n + 1));
        ++n;
    }
    EXPECT_EQ(found_of(h, n), n - 1) << "one gives way";
    EXPECT_EQ(h.find(n - 1).leaf, leaf_in(n)) << "and not the newest";
    for (; n < many; ++n) note(h, n, leaf_in(n + 1));
    EXPECT_EQ(found_of(h, n), 5 * h.buckets()) << "every bucket is full";
    note(h, n, leaf_in(n + 1));
    EXPECT_EQ(found_of(h, n), 5 * h.buckets() - 1);
    EXPECT_EQ(h.find(n).leaf, leaf_in(n + 1));
}

TEST(leaf_hints, hints_of_a_bucket_are_replaced_round_robin) {
    const auto made_h = leaf_hints::make(0);
    leaf_hints& h = *made_h;
    constexpr u64 many = 3000;
    for (u64 n = 0; n < many; ++n) note(h, n, leaf_in(n + 1));
    // Each bucket has its latest five: all remaining hints are newer than all replaced ones.
    u64 kept = 0;
    for (u64 n = many / 2; n < many; ++n) kept += h.find(n).leaf == leaf_in(n + 1) ? 1U : 0U;
    EXPECT_EQ(kept, 5 * h.buckets()) << "an older one has stayed";
}

TEST(leaf_hints, cover_grows_with_the_region_and_never_shrinks) {
    const auto made_h = leaf_hints::make(budget);
    leaf_hints& h = *made_h;
    const u64 least = h.buckets();
    h.cover(u64{1} << 20);
    EXPECT_EQ(h.buckets(), 1024U);
    EXPECT_GT(h.buckets(), least);
    h.cover((u64{1} << 20) + 1024);
    EXPECT_EQ(h.buckets(), 2048U) << "a power of two";
    h.cover(u64{1} << 20);
    h.cover(0);
    EXPECT_EQ(h.buckets(), 2048U);
}

TEST(leaf_hints, cover_respects_the_budget) {
    const auto made_h = leaf_hints::make(budget);
    leaf_hints& h = *made_h;
    h.cover(u64{1} << 40);
    EXPECT_EQ(h.buckets(), budget / line_size);
    const auto made_odd = leaf_hints::make(3 * budget);
    leaf_hints& odd = *made_odd;
    odd.cover(u64{1} << 40);
    EXPECT_EQ(odd.buckets(), 2 * budget / line_size) << "the next smaller power of two";
}

TEST(leaf_hints, hints_from_before_a_growth_are_correct_or_lost) {
    const auto made_h = leaf_hints::make(budget);
    leaf_hints& h = *made_h;
    constexpr u64 many = 200;
    for (u64 slice = 0; slice < many; ++slice) note(h, slice, leaf_in(slice + 1));
    h.cover(u64{1} << 30);
    for (u64 slice = 0; slice < many; ++slice) {
        const u64 leaf = h.find(slice).leaf;
        EXPECT_TRUE(leaf == 0 || leaf == leaf_in(slice + 1));
        note(h, slice, leaf_in(slice + 1));
    }
    EXPECT_EQ(found_of(h, many), many);
}

TEST(leaf_hints, leaf_beyond_the_line_range_is_not_stored) {
    const auto made_h = leaf_hints::make(budget);
    leaf_hints& h = *made_h;
    note(h, 1, leaf_in(last_line));
    EXPECT_EQ(h.find(1).leaf, leaf_in(last_line));
    note(h, 2, leaf_in(last_line + 1));
    EXPECT_EQ(h.find(2).leaf, 0U);
    note(h, 3, leaf_in(last_line + 12));
    EXPECT_EQ(h.find(3).leaf, 0U);
}

// -------------------------------------------------------------------------------- trees with hints

/// Epochs end only when the test ends them.
engine_options hints_and_no_clock() {
    engine_options o = by_hand();
    o.hint_memory = budget;
    return o;
}

constexpr const char* victim = "k0000500";

/// A tree with hints, in a region of its own.
template <class D>
struct hinted_engine : private scratch_file, public test_engine<D> {
    hinted_engine() : test_engine<D>(path(), hints_and_no_clock()) {}
};

/// An 8-byte key: one slice.
std::string number(char first, unsigned i) {
    std::string digits = std::to_string(i);
    return first + std::string(7 - digits.size(), '0') + digits;
}

/// The leaf of layer 0 whose range contains the key. No other thread is running.
template <class D>
u64 leaf_of(test_engine<D>& e, std::string_view key) {
    const u64 slice = masstree_detail::slice_of(key);
    u64 at = e.tree().root();
    for (;;) {
        auto* n = object_at<masstree_detail::node>(e.tree().base(), at);
        if ((n->version.load() & masstree_detail::version_word::leaf) != 0) return at;
        auto* in = static_cast<masstree_detail::interior*>(n);
        at = masstree_detail::load(in->children[in->child_index(slice)]);
    }
}

/// Makes hints to the leaf of `victim`, removes the leaf, and frees its memory. Returns its offset.
template <class D>
u64 lose_the_leaf_of_victim(test_engine<D>& e) {
    constexpr unsigned keys = 1000;
    for (unsigned i = 0; i < keys; ++i) e.put(number('k', i), "before");
    e.epochs().end_epoch();
    EXPECT_EQ(e.get(victim), "before");
    const u64 at = leaf_of(e, victim);
    for (unsigned i = 0; i < keys; ++i) EXPECT_TRUE(e.remove(number('k', i)));
    EXPECT_EQ(e.get(victim), std::nullopt);
    e.epochs().end_epoch();
    return at;
}

template <class D>
class hinted_tree : public ::testing::Test {};
using disciplines = ::testing::Types<transient_discipline, logged_discipline, incll_discipline>;
TYPED_TEST_SUITE(hinted_tree, disciplines);

/// A value that makes its record look like a leaf which has `key` with `record`. The size of the
/// record's value is at the offset of a leaf's version, and reads as an unmarked leaf. The record's
/// key must be long enough to make it as large as a node.
constexpr std::string_view tail_of_mimic = "tail of 16 bytes";
template <class Leaf>
std::string mimic_of_leaf(std::string_view key, u64 record) {
    constexpr std::size_t size = 0x110;
    using masstree_detail::version_word;
    static_assert((size & (version_word::leaf | version_word::deleted | version_word::marks |
                           version_word::locked)) == version_word::leaf);
    static_assert(class_of_block(block_header_size + sizeof(masstree_detail::record) + size +
                                 tail_of_mimic.size()) ==
                  class_of_block(masstree_detail::node_block));
    Leaf fake{};
    masstree_detail::store(fake.order, masstree_detail::permutation<Leaf::width>::filled(1).word());
    masstree_detail::store(fake.lengths, key.size());
    masstree_detail::store(fake.keys[0], masstree_detail::slice_of(key));
    masstree_detail::store(fake.values[0], masstree_detail::value_word::of_record(record));
    const auto* bytes = reinterpret_cast<const char*>(&fake);
    return {bytes + sizeof(masstree_detail::record), size};
}

TYPED_TEST(hinted_tree, record_in_a_former_leafs_memory_is_not_read_as_a_leaf) {
    using leaf = typename masstree<TypeParam>::leaf;
    hinted_engine<TypeParam> e;
    const u64 lost = lose_the_leaf_of_victim(e);
    e.put("decoy", "a wrong value");
    const auto at_of = [&](std::string_view key) {
        operation op(e.checkpoint());
        return e.tree().find(op, key);
    };
    const std::string mimic = mimic_of_leaf<leaf>(victim, at_of("decoy"));
    const auto key = [](unsigned i) { return number('m', i).append(tail_of_mimic); };
    bool reused = false;
    for (unsigned i = 0; i < 400; ++i) {
        e.put(key(i), mimic);
        reused |= at_of(key(i)) == lost;
    }
    ASSERT_TRUE(reused) << "or this test proves nothing";
    ASSERT_EQ(e.get(victim), std::nullopt);
    ASSERT_FALSE(e.remove(victim));
    for (unsigned i = 0; i < 400; ++i) ASSERT_EQ(e.get(key(i)), mimic);
    ASSERT_FALSE(e.put(victim, "after"));
    EXPECT_EQ(e.get(victim), "after");
}

TYPED_TEST(hinted_tree, leaf_of_another_layer_in_a_former_leafs_memory_is_not_used) {
    hinted_engine<TypeParam> e;
    // Each becomes a layer that contains the victim's slice as soon as it gets a neighbour.
    constexpr unsigned layers = 300;
    for (unsigned i = 0; i < layers; ++i) e.put(number('p', i) + victim, "another's");
    const u64 lost = lose_the_leaf_of_victim(e);
    for (unsigned i = 0; i < layers; ++i) e.put(number('p', i) + "neighbour", "x");
    const auto* now = object_at<typename masstree<TypeParam>::leaf>(e.tree().base(), lost);
    ASSERT_NE(now->version.load() & masstree_detail::version_word::leaf, 0U);
    bool reused = false;
    for (const auto& k : now->keys) {
        reused |= masstree_detail::load(k) == masstree_detail::slice_of(victim);
    }
    ASSERT_TRUE(reused) << "or this test proves nothing";
    ASSERT_EQ(e.get(victim), std::nullopt);
    ASSERT_FALSE(e.remove(victim));
    ASSERT_FALSE(e.put(victim, "after"));
    EXPECT_EQ(e.get(victim), "after");
    for (unsigned i = 0; i < layers; ++i) {
        ASSERT_EQ(e.get(number('p', i) + victim), "another's");
        ASSERT_EQ(e.get(number('p', i) + "neighbour"), "x");
    }
}

TYPED_TEST(hinted_tree, hints_stay_valid_after_splits) {
    hinted_engine<TypeParam> e;
    const auto value = [](unsigned i) { return "v" + std::to_string(i); };
    // The first split is the root's, whose leaf becomes an interior node.
    constexpr unsigned keys = 600;
    for (unsigned i = 0; i < keys; ++i) {
        const unsigned k = i * 7919 % keys;
        ASSERT_FALSE(e.put(number('k', k), value(k)));
        for (unsigned seen = i < 20 ? 0 : i - 20; seen <= i; ++seen) {
            const unsigned s = seen * 7919 % keys;
            ASSERT_EQ(e.get(number('k', s)), value(s)) << i;
        }
    }
    for (unsigned i = 0; i < keys; ++i) ASSERT_TRUE(e.put(number('k', i), value(i + 1)));
    for (unsigned i = 0; i < keys; ++i) ASSERT_EQ(e.get(number('k', i)), value(i + 1));
    for (unsigned i = 0; i < keys; ++i) ASSERT_TRUE(e.remove(number('k', i)));
    EXPECT_TRUE(e.all().empty());
}

TYPED_TEST(hinted_tree, keys_in_deeper_layers_share_the_hint_of_their_slice) {
    hinted_engine<TypeParam> e;
    const std::vector<std::string> prefixes{"shared__", "shared__shared__",
                                            "shared__shared__shared__"};
    constexpr unsigned keys = 100;
    for (int life = 0; life < 4; ++life) {
        const std::string value = "life " + std::to_string(life);
        for (const auto& p : prefixes) {
            for (unsigned i = 0; i < keys; ++i) ASSERT_FALSE(e.put(p + number('k', i), value));
        }
        for (const auto& p : prefixes) ASSERT_FALSE(e.put(p, value)) << "ends where others go on";
        for (int again = 0; again < 2; ++again) {
            for (const auto& p : prefixes) {
                ASSERT_EQ(e.get(p), value);
                for (unsigned i = 0; i < keys; ++i) {
                    ASSERT_EQ(e.get(p + number('k', i)), value);
                    ASSERT_EQ(e.get(p + number('l', i)), std::nullopt);
                }
            }
        }
        for (const auto& p : prefixes) {
            ASSERT_TRUE(e.remove(p));
            for (unsigned i = 0; i < keys; ++i) ASSERT_TRUE(e.remove(p + number('k', i)));
            for (unsigned i = 0; i < keys; ++i) {
                ASSERT_EQ(e.get(p + number('k', i)), std::nullopt);
            }
        }
        EXPECT_TRUE(e.all().empty());
        e.epochs().end_epoch();
    }
}

TYPED_TEST(hinted_tree, key_is_found_after_its_record_moved_to_a_layer) {
    hinted_engine<TypeParam> e;
    e.put("8 bytes.and more", "one");
    ASSERT_EQ(e.get("8 bytes.and more"), "one");
    ASSERT_EQ(e.get("8 bytes.and less"), std::nullopt);
    e.put("8 bytes.and less", "two");
    ASSERT_EQ(e.get("8 bytes.and more"), "one");
    ASSERT_EQ(e.get("8 bytes.and less"), "two");
    ASSERT_TRUE(e.put("8 bytes.and more", "three"));
    ASSERT_TRUE(e.remove("8 bytes.and less"));
    ASSERT_EQ(e.get("8 bytes.and more"), "three");
    ASSERT_EQ(e.get("8 bytes."), std::nullopt);
}

}  // namespace
}  // namespace hf::test
