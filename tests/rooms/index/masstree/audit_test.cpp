// The audit reports no damage in sound trees, whatever operations created them, and finds each kind
// of damage.
#include "base/random.hpp"
#include "index/masstree/inspection.hpp"
#include "index/masstree/tree_fixture.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace hf::test {
namespace {

constexpr inspection::root_name tree_root{engine<incll_discipline>::root_name,
                                          engine<incll_discipline>::root_type};

/// Keys of 0 to 60 bytes that share slices and layers.
std::string some_key(xoshiro256ss& r, unsigned universe) {
    const u64 n = r.below(universe);
    switch (n % 5) {
        case 0:
            return std::string(n % 17, 'a');
        case 1:
            return "prefix__" + std::to_string(n % 500);
        case 2:
            return "prefix__prefix__" + std::to_string(n % 50) + std::string(n % 9, '\0');
        case 3:
            return std::to_string(n * 2654435761U);
        default:
            return std::string(8 * (n % 7), 'x') + std::to_string(n % 13);
    }
}

template <class D>
void change_things(test_engine<D>& e, xoshiro256ss& r, unsigned count, unsigned universe) {
    for (unsigned i = 0; i < count; ++i) {
        const std::string key = some_key(r, universe);
        if (r.below(100) < 60) {
            e.put(key, std::string(r.below(300), 'v'));
        } else {
            e.remove(key);
        }
        if (r.below(300) == 0) e.epochs().end_epoch();
    }
}

void put_large(engine<incll_discipline>& e, std::string_view key, u64 size) {
    const u64 payload = masstree_detail::record_payload(key, size);
    operation op(e.checkpoint());
    const u64 at = must(e.memory().reserve_large(op, payload));
    masstree_detail::fill_record(e.tree().record_at(at), key, std::string(size, 'l'), at);
    e.memory().commit_large(op, at, payload);
    must(e.tree().update(op, key,
                         [&](const auto*) { return decision{decision::action::store, at}; }));
}

template <class D>
class sound_tree : public ::testing::Test {};
using disciplines = ::testing::Types<transient_discipline, logged_discipline, incll_discipline>;
TYPED_TEST_SUITE(sound_tree, disciplines);

TYPED_TEST(sound_tree, audit_accepts_trees_after_random_operations) {
    for (u64 seed = 1; seed <= 4; ++seed) {
        scratch_file file;
        test_engine<TypeParam> e(file.path(), by_hand());
        xoshiro256ss r(seed);
        for (int round = 0; round < 10; ++round) {
            change_things(e, r, 2000, seed % 2 == 0 ? 100 : 20000);
            const audit_report report = audit(e.machine());
            ASSERT_TRUE(report.ok()) << "seed " << seed << "\n" << report.to_string();
            ASSERT_TRUE(report.complete());
            ASSERT_EQ(report.tree.records, e.all().size());
        }
    }
}

TYPED_TEST(sound_tree, audit_accepts_a_tree_without_records) {
    scratch_file file;
    test_engine<TypeParam> e(file.path(), by_hand());
    EXPECT_TRUE(audit(e.machine()).ok()) << audit(e.machine()).to_string();
    EXPECT_EQ(audit(e.machine()).tree.leaves, 1U);
    for (int i = 0; i < 5000; ++i) e.put("key" + std::to_string(i), "value");
    for (int i = 0; i < 5000; ++i) e.remove("key" + std::to_string(i));
    const audit_report report = audit(e.machine());
    EXPECT_TRUE(report.ok()) << report.to_string();
    EXPECT_EQ(report.tree.records, 0U);
}

template <class D>
class crashed_tree : public ::testing::Test {};
using durable_disciplines = ::testing::Types<logged_discipline, incll_discipline>;
TYPED_TEST_SUITE(crashed_tree, durable_disciplines);

TYPED_TEST(crashed_tree, audit_accepts_crashed_trees_before_and_after_recovery) {
    for (u64 seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        scratch_file file;
        xoshiro256ss r(seed);
        for (int life = 0; life < 8; ++life) {
            std::size_t records = 0;
            {
                test_engine<TypeParam> e(file.path(), by_hand());
                if (r.below(3) == 0) must(e.machine().run_pass());
                change_things(e, r, static_cast<unsigned>(r.below(3000)), 5000);
                e.epochs().end_epoch();
                records = e.all().size();
                for (int i = 0; i < 300; ++i) {
                    const std::string key = some_key(r, 5000);
                    r.below(2) != 0 ? (void)e.put(key, "lost") : (void)e.remove(key);
                }
                const audit_report live = audit(e.machine());
                ASSERT_TRUE(live.ok()) << live.to_string();
            }  // no close(): a crash
            const inspection looked = inspection::open(file.path(), tree_root);
            ASSERT_FALSE(looked.refusal()) << looked.refusal()->to_string();
            const audit_report report = looked.audit();
            ASSERT_TRUE(report.ok()) << "life " << life << "\n" << report.to_string();
            ASSERT_TRUE(report.complete());
            ASSERT_EQ(report.tree.records, records);
        }
    }
}

TEST(audit, counts_nodes_and_records) {
    scratch_file file;
    test_engine<incll_discipline> e(file.path(), by_hand());
    for (int i = 0; i < 1000; ++i) e.put("shared__" + std::to_string(i), "12345");
    put_large(e.machine(), "large", 200'000);
    const audit_report report = audit(e.machine());
    EXPECT_TRUE(report.ok()) << report.to_string();
    EXPECT_EQ(report.tree.records, 1001U);
    EXPECT_EQ(report.tree.large_records, 1U);
    EXPECT_EQ(report.tree.layers, 2U);
    EXPECT_EQ(report.tree.deepest_layer, 2U);
    EXPECT_EQ(report.tree.value_bytes, 1000U * 5 + 200'000);
    EXPECT_EQ(report.tree.key_bytes, 1000U * 8 + 10 + 180 + 2700 + 5);
    EXPECT_EQ(report.heap.extents, 1U);
    EXPECT_EQ(report.heap.extent_pages_handed_out, 4U);
}

TEST(audit, reports_progress_repeatedly_and_at_the_end) {
    scratch_file file;
    test_engine<incll_discipline> e(file.path(), by_hand());
    for (int i = 0; i < 10'000; ++i) e.put("key " + std::to_string(i), "12345");
    std::vector<std::pair<u64, u64>> told;
    const audit_report report =
        audit<incll_discipline>(e.machine().file(), e.machine().checkpoint(), e.tree().root(), 0,
                                [&](u64 done, u64 total) { told.emplace_back(done, total); });
    const u64 all = report.tree.records + report.tree.leaves + report.tree.interiors;
    const std::vector<u64> when{4096, 8192, all};
    ASSERT_EQ(told.size(), when.size());
    for (std::size_t i = 0; i < when.size(); ++i) {
        EXPECT_EQ(told[i].first, when[i]);
        EXPECT_GE(told[i].second, told[i].first);
    }
    EXPECT_TRUE(audit(e.machine()).ok()) << "nobody wants to be told";
}

TEST(audit, counts_leaves_that_it_rolls_back) {
    scratch_file file;
    {
        test_engine<incll_discipline> e(file.path(), by_hand());
        for (int i = 0; i < 1000; ++i) e.put("key " + std::to_string(i), "12345");
        e.epochs().end_epoch();
        e.put("key 500", "lost");
    }
    const audit_report report = inspection::open(file.path(), tree_root).audit();
    EXPECT_TRUE(report.ok()) << report.to_string();
    EXPECT_GT(report.tree.leaves, 50U);
    EXPECT_EQ(report.tree.recovered_leaves, 1U);
}

TEST(audit, fresh_region_has_no_findings) {
    scratch_file file;
    region_options options;
    options.initial_size = u64{16} << 20;
    (void)must(open_region(file.path(), options));
    const inspection looked = inspection::open(file.path(), tree_root);
    EXPECT_TRUE(looked.is_fresh());
    EXPECT_FALSE(looked.refusal());
    EXPECT_TRUE(looked.audit().ok());
}

TEST(audit, region_too_small_for_a_heap_is_refused) {
    const auto heap_is_refused = [](u64 pages) {
        scratch_file file;
        region_options options;
        options.initial_size = pages * page_size;
        {
            const auto opened = must(open_region(file.path(), options));
            must(opened.file->update_super([](layout::superblock& s) { s.generation = 1; }));
        }
        const inspection looked = inspection::open(file.path(), tree_root);
        EXPECT_TRUE(looked.refusal()) << "there is no tree in it";
        return looked.refusal() &&
               looked.refusal()->why.find("missing, or too small") != std::string::npos;
    };
    EXPECT_TRUE(heap_is_refused(1));
    EXPECT_TRUE(heap_is_refused(2));
    EXPECT_FALSE(heap_is_refused(3)) << "header, descriptors, root";
}

TEST(audit, region_without_root_is_refused) {
    scratch_file file;
    {
        test_engine<incll_discipline> e(file.path(), by_hand());
    }
    {
        std::fstream out(file.path(), std::ios::binary | std::ios::in | std::ios::out);
        out.seekp(0x3000);
        out.write(std::string(64, '\0').data(), 64);
        ASSERT_TRUE(out.good());
    }
    const inspection looked = inspection::open(file.path(), tree_root);
    ASSERT_TRUE(looked.refusal());
    EXPECT_EQ(looked.refusal()->code, errc::corrupt);
}

TEST(audit, root_of_another_type_or_format_is_refused) {
    scratch_file file;
    {
        test_engine<incll_discipline> e(file.path(), by_hand());
    }
    const auto refusal = [&] {
        const inspection looked = inspection::open(file.path(), tree_root);
        return looked.refusal() ? std::optional(looked.refusal()->code) : std::nullopt;
    };
    ASSERT_EQ(refusal(), std::nullopt);
    for (const std::size_t field : {offsetof(layout::root, type), offsetof(layout::root, format)}) {
        std::fstream bytes(file.path(), std::ios::binary | std::ios::in | std::ios::out);
        // Remove the checksum, as in a version without one.
        bytes.seekp(offsetof(layout::header, roots) + offsetof(layout::root, checksum));
        bytes.write("\0\0\0\0\0\0\0", 8);
        const auto at = static_cast<std::streamoff>(offsetof(layout::header, roots) + field);
        bytes.seekg(at);
        const auto before = static_cast<char>(bytes.get());
        bytes.seekp(at);
        bytes.put(static_cast<char>(before ^ 4)).flush();
        EXPECT_EQ(refusal(), errc::incompatible) << "field at " << field;
        bytes.seekp(at);
        bytes.put(before).flush();
        EXPECT_EQ(refusal(), std::nullopt);
    }
}

// ------------------------------------------------------------------------------ damage, one by one

/// A tree with several layers and interior nodes, whose words the test changes.
class damaged_tree : public ::testing::Test {
   protected:
    using leaf = masstree_detail::durable_leaf;
    using interior = masstree_detail::interior;

    damaged_tree() : e(file.path(), by_hand()) {
        for (int i = 0; i < 2000; ++i) e.put("shared__" + std::to_string(i), std::string(50, 'v'));
        for (int i = 0; i < 2000; ++i) e.put(std::to_string(i), "v");
        for (int i = 0; i < 500; ++i) e.remove(std::to_string(i));
        put_large(e.machine(), "large", 200'000);
        e.epochs().end_epoch();
    }

    template <class T>
    T& at(u64 offset) {
        return *reinterpret_cast<T*>(e.tree().base() + offset);
    }
    interior& root() { return at<interior>(e.tree().root()); }
    /// The leftmost leaf of the first layer.
    leaf& first_leaf() {
        u64 at_ = e.tree().root();
        while ((at<masstree_detail::node>(at_).version.load() &
                masstree_detail::version_word::leaf) == 0) {
            at_ = masstree_detail::load(at<interior>(at_).children[0]);
        }
        return at<leaf>(at_);
    }
    static unsigned slot(leaf& n, unsigned rank) {
        return masstree_detail::leaf_permutation(masstree_detail::load(n.order)).slot(rank);
    }
    template <class T>
    void set(std::atomic<T>& w, T v) {
        w.store(v);
    }

    void expect(std::string_view text) {
        const audit_report report = audit(e.machine());
        EXPECT_FALSE(report.ok());
        EXPECT_NE(report.to_string().find(text), std::string::npos)
            << "not found: " << text << "\nin:\n"
            << report.to_string();
    }

    scratch_file file;
    test_engine<incll_discipline> e;
};

TEST_F(damaged_tree, audit_reports_an_unsorted_leaf) {
    leaf& n = first_leaf();
    std::swap(reinterpret_cast<u64&>(n.keys[slot(n, 0)]),
              reinterpret_cast<u64&>(n.keys[slot(n, 1)]));
    expect("keys of a leaf do not ascend");
}
TEST_F(damaged_tree, audit_reports_a_key_outside_of_its_leaf) {
    leaf& n = first_leaf();
    set(n.keys[slot(n, 2)], ~u64{0});
    expect("outside of its leaf's range");
}
TEST_F(damaged_tree, audit_reports_a_broken_permutation) {
    set(first_leaf().order, u64{0x1111111111111115});
    expect("permutation is none");
}
TEST_F(damaged_tree, audit_reports_a_wrong_link_to_the_right) {
    leaf& n = first_leaf();
    set(n.next, masstree_detail::load(at<leaf>(masstree_detail::load(n.next)).next));
    expect("but its link says");
}
TEST_F(damaged_tree, audit_reports_a_wrong_low_key) {
    set(first_leaf().low_key, u64{1});
    expect("low key");
}
TEST_F(damaged_tree, audit_reports_unsorted_separators) {
    std::swap(reinterpret_cast<u64&>(root().keys[0]), reinterpret_cast<u64&>(root().keys[1]));
    expect("keys of an interior node do not ascend");
}
TEST_F(damaged_tree, audit_reports_too_many_keys_in_an_interior_node) {
    set(root().count, u64{16});
    expect("has 16 keys");
}
TEST_F(damaged_tree, audit_reports_a_cycle) {
    set(root().children[1], e.tree().root());
    expect("the node at offset " + std::to_string(e.tree().root()) +
           " is referred to, but it is owned by another reference");
}
TEST_F(damaged_tree, audit_reports_a_child_outside_of_the_region) {
    set(root().children[1], u64{1} << 47);
    expect("is not that of a node");
}
TEST_F(damaged_tree, audit_reports_a_child_that_is_a_record) {
    leaf& n = first_leaf();
    set(root().children[1],
        masstree_detail::value_word::offset(masstree_detail::load(n.values[slot(n, 0)])));
    expect("is not that of a node");
}
TEST_F(damaged_tree, audit_reports_a_deleted_node) {
    auto& word = reinterpret_cast<u64&>(first_leaf().version);
    word |= masstree_detail::version_word::deleted;
    expect("marked deleted");
}
TEST_F(damaged_tree, audit_reports_two_slots_for_one_record) {
    leaf& n = first_leaf();
    set(n.values[slot(n, 1)], masstree_detail::load(n.values[slot(n, 0)]));
    expect("owned by another reference");
    expect("neither free nor referred to");
}
TEST_F(damaged_tree, audit_reports_a_record_of_the_wrong_size) {
    leaf& n = first_leaf();
    at<masstree_detail::record>(
        masstree_detail::value_word::offset(masstree_detail::load(n.values[slot(n, 0)])))
        .head = masstree_detail::record_word(u64{1} << 26, 0, 1);
    expect("does not have the size of its block");
}
TEST_F(damaged_tree, audit_reports_a_record_under_another_key) {
    // "shared__<n>" is in the second layer, without its first eight bytes.
    u64 found = 0;
    {
        operation op(e.checkpoint());
        found = e.tree().find(op, "shared__77");
    }
    auto& r = at<masstree_detail::record>(found);
    r.bytes()[r.head.value_size()] = '8';
    expect("key is not the one under which it lies");
}
TEST_F(damaged_tree, audit_reports_an_unknown_value_word) {
    leaf& n = first_leaf();
    set(n.values[slot(n, 0)], u64{3});
    expect("value word has an unknown form");
}
TEST_F(damaged_tree, audit_reports_a_stamp_of_the_future) {
    set(first_leaf().log_epoch, u64{1} << 50);
    expect("but it is only");
}
TEST_F(damaged_tree, audit_reports_a_value_log_of_the_future) {
    e.remove("1000");  // gives its leaf the running epoch's stamp
    leaf& n = first_leaf();
    ASSERT_EQ(n.epoch(), e.epochs().current_epoch());
    const u64 log = masstree_detail::log_word::stamp(e.epochs().current_epoch() + 1, n.place());
    set(n.value_log_1, log);
    expect("a leaf's value log");
}
TEST_F(damaged_tree, audit_reports_a_lost_record) {
    {
        operation op(e.checkpoint());
        (void)must(e.tree().make_record(op, "nowhere", std::string(50, 'v')));
    }
    expect("neither free nor referred to");
}
TEST_F(damaged_tree, audit_reports_a_freed_record_that_is_still_there) {
    u64 found = 0;
    {
        operation op(e.checkpoint());
        found = e.tree().find(op, "shared__77");
        e.tree().drop_record(op, found);
    }
    expect("but it is in a list of free blocks");
}

}  // namespace
}  // namespace hf::test
