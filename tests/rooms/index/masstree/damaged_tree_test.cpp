// Reads and writes of trees with damage that no seal covers: interior nodes, keys, links, locks.
#include "index/masstree/adapters.hpp"
#include "index/masstree/audit.hpp"
#include "index/masstree/tree_fixture.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>

namespace hf::test {
namespace {

namespace tree = masstree_detail;
using inner_node = tree::interior;
using leaf_node = tree::durable_leaf;

/// A root with two leaves of short keys.
class tree_with_damage : public ::testing::Test {
   protected:
    tree_with_damage() : e(file.path(), by_hand()) {
        for (unsigned i = 10; i < 26; ++i) e.put("key " + std::to_string(i), "value");
        e.epochs().end_epoch();
    }
    template <class T>
    T& at(u64 offset) {
        return *reinterpret_cast<T*>(e.tree().base() + offset);
    }
    inner_node& root() { return at<inner_node>(e.tree().root()); }
    leaf_node& leaf(unsigned child) { return at<leaf_node>(tree::load(root().children[child])); }
    bool is_sound() { return audit(e.machine()).ok(); }
    std::size_t scanned() {
        operation op(e.checkpoint());
        std::size_t n = 0;
        e.tree().scan(op, "", false, [&n](std::string_view, std::string_view) {
            ++n;
            return true;
        });
        return n;
    }

    scratch_file file;
    test_engine<incll_discipline> e;
    static constexpr std::size_t keys = 16;
};

TEST_F(tree_with_damage, audit_detects_each_flipped_bit_in_use_of_an_interior_node) {
    inner_node& n = root();
    ASSERT_EQ(n.key_count(), 1U);
    ASSERT_TRUE(is_sound());
    for (tree::word* w : {&n.count, &n.keys[0], &n.children[0], &n.children[1]}) {
        const u64 before = w->load();
        for (unsigned bit = 0; bit < 64; ++bit) {
            w->store(before ^ u64{1} << bit);
            EXPECT_FALSE(is_sound()) << "bit " << bit << " of the word at "
                                     << (reinterpret_cast<char*>(w) - reinterpret_cast<char*>(&n));
        }
        w->store(before);
    }
    EXPECT_TRUE(is_sound());
}

// Otherwise the key would have two values, and a scan would find the older one later.
TEST_F(tree_with_damage, insert_into_a_leaf_with_another_range_is_refused) {
    const u64 before = root().keys[0];
    root().keys[0] = tree::slice_of("key 99");
    EXPECT_THROW(e.put("key 25", "another"), hf::damage);
    EXPECT_THROW(e.put("key 26", "new"), hf::damage);
    EXPECT_EQ(scanned(), keys);
    root().keys[0] = before;
    EXPECT_NO_THROW(e.put("key 26", "new"));
    EXPECT_EQ(scanned(), keys + 1);
}

TEST_F(tree_with_damage, insert_below_a_misplaced_interior_node_is_refused) {
    const u64 home = root().home;
    EXPECT_EQ(home, inner_node::home_word(e.tree().root()));
    root().home = 0x1234567890;  // as a version without this word
    EXPECT_TRUE(is_sound());
    EXPECT_NO_THROW(e.put("key 26", "new"));
    root().settle_at(e.tree().root() + 320);
    EXPECT_FALSE(is_sound());
    EXPECT_THROW(e.put("key 27", "new"), hf::damage);
    EXPECT_EQ(e.get("key 25"), "value");
    root().home = home;
    EXPECT_NO_THROW(e.put("key 27", "new"));
}

TEST_F(tree_with_damage, insert_into_a_leaf_of_another_layer_is_refused) {
    e.put("key 11 and a layer", "one");
    e.put("key 11 and a layers", "two");
    e.put("key 11 and no layer", "three");
    e.epochs().end_epoch();
    ASSERT_TRUE(is_sound());
    leaf_node& first = leaf(0);
    u64 below = 0;
    for (const tree::word& w : first.values) {
        const u64 value = tree::value_word::plain(tree::load(w));
        if (tree::value_word::is_layer(value)) below = tree::value_word::offset(value);
    }
    ASSERT_NE(below, 0U);
    auto& other = at<leaf_node>(below);
    EXPECT_FALSE(other.is_of_another_layer(below));
    EXPECT_TRUE(other.is_of_another_layer(e.tree().root()));
    EXPECT_FALSE(first.is_of_another_layer(e.tree().root()));
    first.lengths = first.lengths & ~leaf_node::home_field;  // as a version without this field
    EXPECT_TRUE(is_sound());
    EXPECT_NO_THROW(e.put("key 08", "new"));
    first.settle_in(below);
    EXPECT_FALSE(is_sound());
    first.settle_in(e.tree().root());
    const u64 before = root().children[0];
    root().children[0] = below;  // its range is that of the whole layer
    EXPECT_FALSE(is_sound());
    EXPECT_THROW(e.put("key 09", "new"), hf::damage);
    root().children[0] = before;
    EXPECT_NO_THROW(e.put("key 09", "new"));
}

TEST_F(tree_with_damage, permutation_with_a_matching_seal_must_have_the_right_sum) {
    leaf_node& n = leaf(0);
    const u64 before = n.order;
    const tree::leaf_permutation p(before);
    // Two slots change in the same bit, so the XOR is unchanged.
    const u64 changed = before ^ u64 { 1 } << 4 ^ u64 { 1 } << 8;
    ASSERT_TRUE(tree::seal::nibbles::fits(changed, n.place()));
    const bool sums_up = (p.slot(0) & 1) != (p.slot(1) & 1);  // one more, one less
    EXPECT_EQ(n.is_order(changed), sums_up);
    const u64 other = before ^ u64 { 2 } << 4 ^ u64 { 2 } << 8 ^ u64 { 2 } << 12 ^ u64 { 2 } << 16;
    int sum = 0;
    for (unsigned r = 0; r < 4; ++r) sum += (p.slot(r) & 2) != 0 ? -2 : 2;
    EXPECT_EQ(n.is_order(other), sum == 0);
    EXPECT_TRUE(n.is_order(before));
}

TEST_F(tree_with_damage, first_line_of_another_leaf_is_reported_as_damage) {
    leaf_node& n = leaf(0);
    const u64 before = n.node_epoch;
    n.node_epoch = leaf(1).node_epoch.load();
    ASSERT_TRUE(n.is_order(n.order));
    EXPECT_THROW((void)e.get("key 10"), hf::damage);
    EXPECT_THROW((void)scanned(), hf::damage);
    EXPECT_EQ(e.get("key 25"), "value");
    n.node_epoch = before;
    EXPECT_EQ(e.get("key 10"), "value");
}

TEST_F(tree_with_damage, root_of_an_emptied_layer_has_a_valid_home) {
    for (unsigned i = 10; i < 26; ++i) e.remove("key " + std::to_string(i));
    const auto& n = at<leaf_node>(e.tree().root());
    ASSERT_NE(n.version.load() & tree::version_word::leaf, 0U);
    EXPECT_EQ(n.lengths & leaf_node::home_field, n.home_in(e.tree().root()));
    EXPECT_NO_THROW(e.put("key 10", "new"));
}

// After the leaf list was undone, it skips a leaf that the interior node still refers to.
TEST(interior_node_recovery, missing_undo_image_is_reported_by_audit_scan_and_split) {
    const scratch_file file;
    constexpr unsigned keys = 16;
    const auto key = [](unsigned i) { return "key " + std::to_string(10 + i); };
    u64 failed = 0;
    {
        test_engine<incll_discipline> e(file.path(), by_hand());
        for (unsigned i = 0; i < keys; ++i) e.put(key(i), "value");
        e.epochs().end_epoch();
        failed = e.epochs().current_epoch();
        e.put(key(keys), "never");
    }  // no close(): a crash
    test_engine<incll_discipline> e(file.path(), by_hand());
    ASSERT_TRUE(e.checkpoint().failed().contains(failed));
    auto& root = *reinterpret_cast<inner_node*>(e.tree().base() + e.tree().root());
    ASSERT_EQ(root.key_count(), 1U);
    const u64 before = root.log_epoch;
    root.log_epoch = failed;
    EXPECT_FALSE(audit(e.machine()).ok());
    EXPECT_THROW((void)e.all(), hf::damage);
    EXPECT_FALSE(e.machine().run_pass().has_value());
    EXPECT_NE(e.checkpoint().horizon(), 0U);
    EXPECT_EQ(e.get(key(0)), "value");
    const auto split = [&] {
        operation op(e.checkpoint());
        for (unsigned i = 0; i < 2 * keys; ++i) {
            const std::string fresh = "key 2" + std::string(1, static_cast<char>('A' + i));
            const u64 r = must(e.tree().make_record(op, fresh, "value"));
            const auto done = e.tree().update(
                op, fresh, [&](const auto*) { return decision{decision::action::store, r}; });
            if (!done) {
                e.tree().drop_record(op, r);
                return done.error().code;
            }
        }
        return errc{};
    };
    EXPECT_EQ(split(), errc::corrupt);
    EXPECT_EQ(root.log_epoch, failed);
    root.log_epoch = before;
    EXPECT_TRUE(audit(e.machine()).ok());
    EXPECT_EQ(split(), errc{});
    EXPECT_TRUE(must(e.machine().run_pass()));
    EXPECT_EQ(e.checkpoint().horizon(), 0U);
}

/// A crash left a value of an unfinished epoch under every key; one key of a leaf is damaged.
class pass_over_damaged_keys : public ::testing::Test {
   protected:
    static constexpr unsigned keys = 1'000;
    static constexpr unsigned batch = 256;  ///< records that a pass visits in one operation
    static std::string key(unsigned i) { return std::to_string(100'000 + 7 * i); }
    pass_over_damaged_keys() {
        test_engine<incll_discipline> e(file.path(), by_hand());
        for (unsigned i = 0; i < keys; ++i) e.put(key(i), "value");
        e.epochs().end_epoch();
        for (unsigned i = 0; i < keys; ++i) e.put(key(i), "never");
    }
    /// The word that holds key number `wanted`, in ascending order.
    static tree::word& key_word(test_engine<incll_discipline>& e, unsigned wanted) {
        const auto* n = reinterpret_cast<tree::node*>(e.tree().base() + e.tree().root());
        while ((n->version.load() & tree::version_word::leaf) == 0) {
            const u64 child = tree::load(reinterpret_cast<const inner_node*>(n)->children[0]);
            n = reinterpret_cast<tree::node*>(e.tree().base() + child);
        }
        auto* l = reinterpret_cast<leaf_node*>(const_cast<tree::node*>(n));
        for (;;) {
            const tree::leaf_permutation p(tree::load(l->order));
            if (wanted < p.size()) return l->keys[p.slot(wanted)];
            wanted -= p.size();
            l = reinterpret_cast<leaf_node*>(e.tree().base() + tree::load(l->next));
        }
    }
    scratch_file file;
};

// A pass goes on after the last key of a batch. If that was damaged, it must not pass over leaves.
TEST_F(pass_over_damaged_keys, keeps_the_failed_epochs_unless_every_leaf_was_visited) {
    const std::string image = file.path() + ".image";
    std::filesystem::copy_file(file.path(), image);
    unsigned refused = 0;
    for (const unsigned damaged : {batch - 2, batch - 1, batch, 2 * batch, keys - 1}) {
        for (const unsigned bit : {57U, 41U, 25U, 17U}) {
            SCOPED_TRACE("key " + std::to_string(damaged) + ", bit " + std::to_string(bit));
            std::filesystem::copy_file(image, file.path(),
                                       std::filesystem::copy_options::overwrite_existing);
            test_engine<incll_discipline> e(file.path(), by_hand());
            tree::word& word = key_word(e, damaged);
            word = word ^ u64 { 1 } << bit;
            const bool done = e.machine().run_pass([] { return false; }).has_value();
            EXPECT_EQ(done, e.checkpoint().horizon() == 0);
            refused += done ? 0 : 1;
            word = word ^ u64 { 1 } << bit;
            unsigned undone = 0;
            for (unsigned i = 0; i < keys; ++i) undone += e.get(key(i)) != "value" ? 1 : 0;
            EXPECT_EQ(undone, 0U) << "a leaf was not visited, and its epoch was forgotten";
        }
    }
    std::filesystem::remove(image);
    EXPECT_GT(refused, 10U);
}

TEST_F(pass_over_damaged_keys, ends_and_forgets_the_failed_epochs_of_a_whole_tree) {
    test_engine<incll_discipline> e(file.path(), by_hand());
    EXPECT_TRUE(must(e.machine().run_pass([] { return false; })));
    EXPECT_EQ(e.checkpoint().horizon(), 0U);
}

TEST_F(tree_with_damage, leaf_is_never_mistaken_for_a_misplaced_interior_node) {
    for (const u64 epoch : {u64{1}, u64{1} << 40, ~u64{0} >> 1}) {
        root().home = epoch;
        EXPECT_FALSE(root().is_of_another_place(e.tree().root())) << epoch;
    }
}

TEST_F(tree_with_damage, scan_reports_slices_that_are_not_canonical) {
    leaf_node& n = leaf(0);
    const unsigned slot = tree::leaf_permutation(tree::load(n.order)).slot(3);
    const u64 slice = n.keys[slot];
    const u64 lengths = n.lengths;
    EXPECT_EQ(scanned(), keys);
    n.keys[slot] = slice | 1;  // after the key's end
    EXPECT_THROW((void)scanned(), hf::damage);
    n.keys[slot] = slice;
    for (const unsigned length : {7U, tree::longer, tree::longer + 1}) {
        n.lengths = tree::with_length_class(lengths, slot, length);
        // another key: its record's checksum contradicts it (src/checkpoint_map/read.cpp)
        if (length == 7) {
            EXPECT_EQ(scanned(), keys);
        } else {
            EXPECT_THROW((void)scanned(), hf::damage) << length;
        }
    }
    n.lengths = lengths;
    EXPECT_EQ(scanned(), keys);
}

TEST_F(tree_with_damage, wait_for_a_lock_without_holder_times_out) {
    leaf_node& n = leaf(0);
    const u64 generation = version_lock::generation_bits(e.machine().generation());
    const u64 word = n.version.load();
    constexpr u64 marked = version_lock::locked | version_lock::inserting;
    const auto set = [&n](u64 w) { reinterpret_cast<tree::word*>(&n.version)->store(w); };
    set((word & ~version_lock::generation_field) | generation | marked);
    EXPECT_THROW((void)e.get("key 10"), hf::damage);
    EXPECT_THROW((void)e.get("key 10"), hf::damage) << "and the second time at once";
    EXPECT_THROW((void)scanned(), hf::damage);
    EXPECT_THROW(e.put("key 10", "another"), hf::damage);
    EXPECT_EQ(e.get("key 25"), "value");
    set(word);
    EXPECT_EQ(e.get("key 10"), "value");
    set((word & ~version_lock::generation_field) | (generation + version_lock::generation_bits(1)) |
        marked);
    EXPECT_FALSE(is_sound()) << "locked by an opening to come";
    set(word);
}

}  // namespace
}  // namespace hf::test
