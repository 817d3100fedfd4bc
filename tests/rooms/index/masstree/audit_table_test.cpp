// Changes one word of a small tree: the audit must report it, and report nothing for a sound tree.
// Tests the limits of allowed values from both sides.
#include "index/masstree/inspection.hpp"
#include "index/masstree/tree_fixture.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hf::test {
namespace {

using masstree_detail::interior;
using masstree_detail::load;
using masstree_detail::store;
using masstree_detail::version_word;
using masstree_detail::word;
namespace value_word = masstree_detail::value_word;
using small_leaf = masstree_detail::durable_leaf;
using record_head = masstree_detail::record;

/// The first layer has three nodes (a root with two leaves), the second is a single leaf.
class small_tree : public ::testing::Test {
   protected:
    small_tree() : e(file.path(), by_hand()) {
        e.put("layered slice", "one");
        e.put("key 101", "value");
        for (unsigned i = 10; i < 26; ++i) e.put("key " + std::to_string(i), "value");
        e.put("layered sledge", "two");
        e.epochs().end_epoch();
    }
    template <class T>
    T& at(u64 offset) {
        return *reinterpret_cast<T*>(e.tree().base() + offset);
    }
    interior& root() { return at<interior>(e.tree().root()); }
    small_leaf& left() { return at<small_leaf>(load(root().children[0])); }
    small_leaf& right() { return at<small_leaf>(load(root().children[1])); }
    static unsigned slot(const small_leaf& n, unsigned rank) {
        return masstree_detail::leaf_permutation(load(n.order)).slot(rank);
    }
    static unsigned size(const small_leaf& n) {
        return masstree_detail::leaf_permutation(load(n.order)).size();
    }
    unsigned layer_slot() {
        small_leaf& n = right();
        for (unsigned r = 0; r < size(n); ++r) {
            if (value_word::is_layer(load(n.values[slot(n, r)]))) return slot(n, r);
        }
        ADD_FAILURE() << "no layer";
        return 0;
    }
    small_leaf& below() {
        return at<small_leaf>(value_word::offset(load(right().values[layer_slot()])));
    }
    record_head& record_of(const std::string& key) {
        operation op(e.checkpoint());
        return at<record_head>(e.tree().find(op, key));
    }

    void expect(const std::string& text, bool complete) {
        const audit_report report = audit(e.machine());
        EXPECT_NE(report.to_string().find(text), std::string::npos)
            << "not found: " << text << "\nin:\n"
            << report.to_string();
        EXPECT_EQ(report.complete(), complete) << report.to_string();
    }
    void expect_sound() {
        const audit_report report = audit(e.machine());
        EXPECT_TRUE(report.ok()) << report.to_string();
        EXPECT_TRUE(report.complete());
    }
    /// Changes the word, expects the finding `text` ("": none), restores the word, and expects
    /// none.
    void with(word& w, u64 v, const std::string& text, bool complete) {
        SCOPED_TRACE(text);
        const u64 before = w.load();
        w.store(v);
        if (text.empty()) {
            expect_sound();
        } else {
            expect(text, complete);
        }
        w.store(before);
        expect_sound();
    }
    void with(u64* w, u64 v, const std::string& text, bool complete) {
        with(*reinterpret_cast<word*>(w), v, text, complete);
    }

    scratch_file file;
    test_engine<incll_discipline> e;
};

constexpr bool is_complete = true;
constexpr bool is_cut = false;

TEST_F(small_tree, sound_tree_has_no_findings_and_is_counted) {
    const audit_report report = audit(e.machine());
    EXPECT_TRUE(report.ok()) << report.to_string();
    EXPECT_EQ(report.tree.layers, 2U);
    EXPECT_EQ(report.tree.deepest_layer, 2U);
    EXPECT_EQ(report.tree.tallest_layer, 2U);
    EXPECT_EQ(report.tree.interiors, 1U);
    EXPECT_EQ(report.tree.leaves, 3U);
    EXPECT_EQ(report.tree.records, 19U);
    EXPECT_EQ(report.tree.large_records, 0U);
    EXPECT_EQ(report.tree.empty_leaves, 0U);
    EXPECT_EQ(report.tree.empty_layers, 0U);
    EXPECT_EQ(report.tree.key_bytes, 16U * 6 + 7 + 13 + 14);
    EXPECT_EQ(report.tree.value_bytes, 17U * 5 + 6);
}

TEST_F(small_tree, empty_leaves_and_layers_are_counted) {
    const auto empties = [&] {
        const audit_report report = audit(e.machine());
        return std::pair(report.tree.empty_leaves, report.tree.empty_layers);
    };
    const auto emptied = [&](small_leaf& n) {
        const u64 before = load(n.order);
        store(n.order, before & ~u64{15});
        const auto counted = empties();
        store(n.order, before);
        return counted;
    };
    EXPECT_EQ(emptied(left()), std::pair(u64{1}, u64{0}));
    EXPECT_EQ(emptied(below()), std::pair(u64{0}, u64{1}));
    EXPECT_EQ(empties(), std::pair(u64{0}, u64{0}));
}

TEST(tree_without_records, has_no_empty_layer) {
    scratch_file file;
    engine_options o;
    o.epochs.epoch = std::chrono::microseconds(0);
    test_engine<incll_discipline> e(file.path(), o);
    const audit_report report = audit(e.machine());
    EXPECT_EQ(report.tree.empty_layers, 0U) << "the first one does not count";
    EXPECT_EQ(report.tree.empty_leaves, 0U);
    EXPECT_EQ(report.tree.layers, 1U);
    EXPECT_EQ(report.tree.deepest_layer, 1U);
    EXPECT_EQ(report.tree.tallest_layer, 1U);
}

TEST_F(small_tree, words_of_an_interior_node_are_checked) {
    interior& n = root();
    with(n.count, 16, "has 16 keys", is_cut);
    with(n.count, 15, "is not that of a node", is_cut);
    with(n.keys[0], 0, "keys of an interior node do not ascend", is_complete);
    with(n.keys[0], load(left().low_key), "keys of an interior node do not ascend", is_complete);
    with(n.keys[0], load(n.keys[0]) - 1, "low key is not that of the nodes above", is_complete);
    with(n.keys[0], load(n.keys[0]) + 1, "outside of its leaf's range", is_complete);
    with(n.children[0], load(n.children[0]) + 16, "is not that of a node", is_cut);
    with(n.children[0], value_word::offset(load(left().values[slot(left(), 0)])),
         "is not that of a node", is_cut);
    with(n.children[0], e.tree().root(), "owned by another reference", is_cut);
    with(n.log_epoch, e.epochs().current_epoch(), "", is_complete);
    with(n.log_epoch, e.epochs().current_epoch() + 1, "but it is only", is_complete);
}

TEST_F(small_tree, links_and_low_keys_of_leaves_are_checked) {
    with(left().next, 0, "but its link says 0", is_complete);
    with(left().next, load(root().children[0]), "but its link says", is_complete);
    with(right().next, load(root().children[0]), "has a right neighbour", is_complete);
    with(below().next, load(root().children[0]), "has a right neighbour", is_complete);
    with(left().low_key, 1, "low key is not that of the nodes above", is_complete);
    with(right().low_key, load(right().low_key) - 1, "low key is not", is_complete);
    with(below().low_key, 1, "low key is not", is_complete);
}

/// If a leaf cannot be read, the links around it must not be reported.
TEST_F(small_tree, unreadable_leaf_causes_no_findings_about_links) {
    const auto lost = [&](unsigned child) {
        word& w = root().children[child];
        const u64 before = w.load();
        w.store(before + 16);
        const std::string found = audit(e.machine()).to_string();
        w.store(before);
        return found;
    };
    for (const unsigned child : {0U, 1U}) {
        const std::string found = lost(child);
        EXPECT_NE(found.find("is not that of a node"), std::string::npos) << found;
        EXPECT_EQ(found.find("neighbour"), std::string::npos) << found;
    }
}

/// The unreadable leaf is the middle one of three.
TEST(wide_tree, unreadable_middle_leaf_causes_no_findings_about_links) {
    scratch_file file;
    test_engine<incll_discipline> e(file.path(), by_hand());
    for (unsigned i = 10; i < 50; ++i) e.put("key " + std::to_string(i), "value");
    e.epochs().end_epoch();
    auto& root = *object_at<interior>(e.tree().base(), e.tree().root());
    ASSERT_GE(load(root.count), 2U);
    store(root.children[1], load(root.children[1]) + 16);
    const std::string found = audit(e.machine()).to_string();
    EXPECT_NE(found.find("is not that of a node"), std::string::npos) << found;
    EXPECT_EQ(found.find("neighbour"), std::string::npos) << found;
}

TEST(wide_layer, empty_leaves_do_not_make_the_layer_empty) {
    scratch_file file;
    test_engine<incll_discipline> e(file.path(), by_hand());
    for (unsigned i = 10; i < 30; ++i) e.put("layered " + std::to_string(i), "value");
    e.epochs().end_epoch();
    const auto& top = *object_at<small_leaf>(e.tree().base(), e.tree().root());
    const u64 below = value_word::offset(
        load(top.values[masstree_detail::leaf_permutation(load(top.order)).slot(0)]));
    const auto& root = *object_at<interior>(e.tree().base(), below);
    auto& leaf = *object_at<small_leaf>(e.tree().base(), load(root.children[1]));
    store(leaf.order, load(leaf.order) & ~u64{15});
    const audit_report report = audit(e.machine());
    EXPECT_EQ(report.tree.empty_leaves, 1U);
    EXPECT_EQ(report.tree.empty_layers, 0U);
}

TEST_F(small_tree, keys_out_of_order_or_range_are_reported) {
    for (small_leaf* n : {&left(), &right()}) {
        const unsigned last = size(*n) - 1;
        word& first_key = n->keys[slot(*n, 0)];
        word& last_key = n->keys[slot(*n, last)];
        const u64 low = load(n->low_key);
        if (low > 0) with(first_key, low - 1, "outside of its leaf's range", is_complete);
        if (n == &left()) {
            const u64 high = load(root().keys[0]);
            with(last_key, high, "outside of its leaf's range", is_complete);
            with(first_key, high - 1, "do not ascend", is_complete);
        }
        const std::string not_ascending = "the keys of a leaf do not ascend";
        with(n->keys[slot(*n, 3)], load(n->keys[slot(*n, 2)]), not_ascending, is_complete);
        with(n->keys[slot(*n, 1)], load(first_key) - 1, not_ascending, is_complete);
    }
    // Equal slices are ordered by length.
    small_leaf& n = left();
    const u64 order = load(n.order);
    with(n.order, 0x11111111111111f, "permutation is none", is_cut);
    with(n.order, (order & ~u64{15}) | 15, "permutation is none", is_cut);
    with(n.order, order ^ 0x10, "permutation is none", is_cut);
}

/// A tree as written by a version without seals and checksums.
TEST_F(small_tree, format_1_needs_neither_seals_nor_checksums) {
    const auto plain_words = [&](small_leaf& n) {
        store(n.order, masstree_detail::leaf_permutation(load(n.order)).word());
        store(n.permutation_log, masstree_detail::leaf_permutation(load(n.permutation_log)).word());
        store(n.node_epoch, n.epoch());
        for (word* w : {&n.value_log_0, &n.value_log_1}) {
            store(*w, load(*w) & ~masstree_detail::seal::narrow::bits);
        }
        for (word& w : n.values) store(w, value_word::plain(load(w)));
    };
    record_head& r = record_of("key 10");
    r.head = masstree_detail::record_word(r.head.value_size(), r.head.tail_size(), 0);
    for (small_leaf* n : {&left(), &right(), &below()}) plain_words(*n);

    masstree<incll_discipline> old(e.machine().memory(), e.tree().root(),
                                   e.machine().file().super().generation, 1);
    {
        operation op(e.checkpoint());
        EXPECT_THROW((void)e.tree().find(op, "key 10"), hf::damage);
        for (const char* key : {"key 10", "key 25", "layered sledge"}) {
            const u64 at = old.find(op, key);
            ASSERT_NE(at, 0U) << key;
            const record_head& found = old.sized_record(at);
            EXPECT_NO_THROW(old.check_value(key, found.head, found.value(), at)) << key;
        }
        const u64 fresh = must(old.make_record(op, "key 11", "changed"));
        must(old.update(op, "key 11",
                        [&](const auto*) { return decision{decision::action::store, fresh}; }));
        EXPECT_EQ(old.find(op, "key 11"), fresh);
    }
    EXPECT_FALSE(audit(e.machine()).ok());
    const audit_report report = audit<incll_discipline>(
        e.machine().file(), e.machine().checkpoint(), e.tree().root(), 0, {}, 1);
    EXPECT_TRUE(report.ok()) << report.to_string();
}

TEST_F(small_tree, marks_and_stamps_of_leaves_are_checked) {
    for (small_leaf* n : {&left(), &right(), &below()}) {
        auto* version = reinterpret_cast<u64*>(&n->version);
        with(version, *version | version_word::deleted, "marked deleted", is_complete);
        with(n->log_epoch, e.epochs().current_epoch() + 1, "but it is only", is_complete);
    }
    auto* version = reinterpret_cast<u64*>(&root().version);
    with(version, *version | version_word::deleted, "marked deleted", is_complete);
}

TEST_F(small_tree, forms_of_slots_are_checked) {
    small_leaf& n = left();
    const unsigned s = slot(n, 0);
    const u64 lengths = load(n.lengths);
    const u64 value = load(n.values[s]);
    const auto length = [&](unsigned c) {
        return masstree_detail::with_length_class(lengths, s, c);
    };
    with(n.lengths, length(10), "length class is 10", is_cut);
    with(n.lengths, length(9), "key is not the one under which it lies", is_complete);
    with(n.lengths, length(5), "not padded with zeros", is_complete);
    with(n.lengths, length(8), "checksum is not that", is_complete);  // two more zero bytes
    with(n.values[s], value ^ u64{1} << 48, "unknown form", is_cut);
    with(n.values[s], value & ~u64{15}, "unknown form", is_cut);
    with(n.values[s], (value & ~u64{15}) | 13, "unknown form", is_cut);
    const u64 plain = value_word::plain(value);
    with(n.values[s], value ^ 16, "unknown form", is_cut);  // the seal is for another value
    with(n.values[s], right().sealed_value(plain), "unknown form", is_cut);
    with(n.values[s], n.sealed_value(plain | 15), "a layer lies below a key that does not go on",
         is_cut);
    with(n.values[s], n.sealed_value(plain + 16), "is not that of a record", is_cut);
    with(n.values[s], load(n.values[slot(n, 1)]), "owned by another reference", is_complete);
}

TEST_F(small_tree, layer_below_a_key_that_ends_is_reported) {
    small_leaf& n = right();
    const unsigned s = layer_slot();
    const u64 lengths = load(n.lengths);
    with(n.lengths, masstree_detail::with_length_class(lengths, s, 8), "does not go on",
         is_complete);
    const u64 value = load(n.values[s]);
    with(n.values[s], n.sealed_value(value_word::plain(value) & ~u64{1}),
         "does not have the size of its block", is_complete);
}

void set_bytes(record_head& r, std::size_t at, char c) { r.bytes()[at] = c; }

/// Changes the sizes of a record but not its checksum.
void resize(record_head& r, u64 value_size, u64 tail_size) {
    r.head = masstree_detail::record_word(value_size, tail_size, r.head.checksum());
}

TEST_F(small_tree, records_with_wrong_size_or_key_are_reported) {
    record_head& r = record_of("layered slice");  // in the second layer; its tail is "slice"
    ASSERT_EQ(r.tail(), "slice");
    const std::string wrong_size = "does not have the size of its block";
    const std::string wrong_key = "key is not the one under which it lies";
    const std::string wrong_checksum = "checksum is not that of its key and value";
    const record_head sound = r;
    const auto told = [&](const std::string& text) {
        expect(text, is_complete);
        r.head = sound.head;
        expect_sound();
    };
    resize(r, 3 + 4096, 5);
    told(wrong_size);
    resize(r, (u64{1} << 27) - 1, 5);
    told(wrong_size);
    resize(r, 3, 4);
    told(wrong_key);
    resize(r, 3, 6);  // the block is full
    told(wrong_size);
    resize(r, 2, 6);
    told(wrong_key);
    r.head = masstree_detail::record_word(3, 5, sound.head.checksum() ^ 1);
    told(wrong_checksum);
    for (std::size_t i = 0; i < 3; ++i) {
        const char before = r.bytes()[i];
        set_bytes(r, i, static_cast<char>(before ^ 1));
        expect(wrong_checksum, is_complete);
        set_bytes(r, i, before);
    }
    for (std::size_t i = 0; i < 5; ++i) {
        const char before = r.bytes()[3 + i];
        set_bytes(r, 3 + i, static_cast<char>(before ^ 1));
        expect(wrong_key, is_complete);
        set_bytes(r, 3 + i, before);
    }
    expect_sound();
    record_head& s = record_of("key 10");
    resize(s, 5, 1);
    expect(wrong_key, is_complete);
    resize(s, 5, 0);
    expect_sound();
}

/// The value consists of zeros, so that the file has a hole.
TEST(record_audit, largest_value_is_accepted_and_a_larger_one_reported) {
    scratch_file file;
    test_engine<incll_discipline> e(file.path(), by_hand());
    u64 at = 0;
    {
        const u64 payload = masstree_detail::record_payload("large", max_value_size);
        operation op(e.checkpoint());
        at = must(e.machine().memory().reserve_large(op, payload));
        const std::string_view zeros(e.tree().record_at(at)->bytes(), max_value_size);
        e.tree().record_at(at)->head = masstree_detail::record_word(
            max_value_size, 0, masstree_detail::record_word::checksum_of("large", zeros, at));
        e.machine().memory().commit_large(op, at, payload);
        must(e.tree().update(op, "large",
                             [&](const auto*) { return decision{decision::action::store, at}; }));
    }
    const audit_report report = audit(e.machine());
    EXPECT_TRUE(report.ok()) << report.to_string();
    EXPECT_EQ(report.tree.value_bytes, max_value_size);
    resize(*e.tree().record_at(at), max_value_size + 1, 0);
    EXPECT_NE(audit(e.machine()).to_string().find("does not have the size of its block"),
              std::string::npos);
}

/// A record alone below its slice: its tail continues after the slices of the layers above.
TEST(record_audit, tail_must_begin_with_the_slices_above) {
    scratch_file file;
    test_engine<incll_discipline> e(file.path(), by_hand());
    const std::string longest(max_key_size, 'x');
    const std::string eight = "8 bytes.";
    const std::string key = "slice 00slice 11 and on";
    e.put(key, "v");
    e.put("slice 00slice 11", "v");
    e.put("slice 00slice 22 and on", "v");
    e.put(longest, eight);
    e.epochs().end_epoch();
    EXPECT_TRUE(audit(e.machine()).ok()) << audit(e.machine()).to_string();
    u64 found = 0;
    {
        operation op(e.checkpoint());
        found = e.tree().find(op, key);
    }
    auto& r = *object_at<record_head>(e.tree().base(), found);
    const auto is_told = [&] {
        return audit(e.machine()).to_string().find("key is not the one under which it lies") !=
               std::string::npos;
    };
    const u64 whole = r.head.tail_size();
    for (std::size_t i = 0; i < whole; ++i) {
        r.bytes()[1 + i] ^= 1;
        // Bytes after the last slice are covered only by the record's checksum.
        EXPECT_EQ(is_told(), i < 8) << i;
        EXPECT_FALSE(audit(e.machine()).ok()) << "it has a checksum";
        r.bytes()[1 + i] ^= 1;
    }
    u64 at_longest = 0;
    {
        operation op(e.checkpoint());
        at_longest = e.tree().find(op, longest);
    }
    auto& l = *object_at<record_head>(e.tree().base(), at_longest);
    const auto sound = l.head;
    resize(l, 0, l.head.tail_size() + 7);
    EXPECT_TRUE(is_told()) << "no key is so long";
    l.head = sound;
    EXPECT_FALSE(is_told());
    resize(r, 1, 9);
    EXPECT_FALSE(is_told()) << "one byte goes on";
    resize(r, 1, 8);
    EXPECT_TRUE(is_told()) << "a key that goes on ends";
    resize(r, 1, whole);
    EXPECT_TRUE(audit(e.machine()).ok()) << audit(e.machine()).to_string();
}

}  // namespace
}  // namespace hf::test
