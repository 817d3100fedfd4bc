// Sparse leaves are joined with a neighbour: which, when, and that nothing else changes.
#include "index/masstree/adapters.hpp"
#include "index/masstree/audit.hpp"
#include "index/masstree/tree_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace hf::test {
namespace {

namespace parts = masstree_detail;
using leaf_node = parts::durable_leaf;
using inner_node = parts::interior;

constexpr unsigned leaf_width = leaf_node::width;

/// A root with three leaves, each of them full but the last one, which has half.
class joined_leaves : public ::testing::Test {
   protected:
    joined_leaves() : e(file.path(), by_hand()) {
        for (unsigned i = 0; i < keys; ++i) e.put(key(i), value(i));
        e.epochs().end_epoch();
    }
    static std::string key(unsigned n) {
        char text[16];
        std::snprintf(text, sizeof text, "k%05u", n);
        return text;
    }
    static std::string value(unsigned n) { return "value " + std::to_string(n); }
    template <class T>
    T& at(u64 offset) {
        return *object_at<T>(e.tree().base(), offset);
    }
    inner_node& root() { return at<inner_node>(e.tree().root()); }
    unsigned leaves() { return root().key_count() + 1; }
    leaf_node& leaf(unsigned child) { return at<leaf_node>(parts::load(root().children[child])); }
    unsigned size_of(unsigned child) {
        return parts::permutation<leaf_width>(parts::load(leaf(child).order)).size();
    }
    /// Removes all but `left` of a leaf's first keys.
    void thin(unsigned first, unsigned left) {
        for (unsigned i = first + left; i < first + leaf_width; ++i) {
            if (e.get(key(i))) e.remove(key(i));
        }
    }
    /// Keys removed by the test are absent, all others have their values, in both directions.
    void expect_all(const std::vector<std::pair<std::string, std::string>>& before) {
        EXPECT_EQ(e.all(), before);
        for (const auto& [k, v] : before) EXPECT_EQ(e.get(k), v);
        const audit_report report = audit(e.machine());
        EXPECT_TRUE(report.ok()) << report.to_string();
    }

    static constexpr unsigned keys = 2 * leaf_width + leaf_width / 2;
    scratch_file file;
    test_engine<incll_discipline> e;
};

TEST_F(joined_leaves, a_leaf_whose_entries_fit_goes_into_its_left_neighbour) {
    ASSERT_EQ(leaves(), 3U);
    thin(0, 5);
    thin(leaf_width, 9);
    const auto before = e.all();
    EXPECT_TRUE(e.join(key(leaf_width)));
    EXPECT_EQ(leaves(), 2U);
    EXPECT_EQ(size_of(0), leaf_width) << "5 and 9";
    expect_all(before);
    EXPECT_FALSE(e.join(key(0))) << "it is full";
    e.put(key(leaf_width) + "a", "of a key between those that were joined");
    EXPECT_EQ(leaves(), 3U);
    EXPECT_EQ(e.all().size(), before.size() + 1);
}

TEST_F(joined_leaves, the_first_leaf_goes_into_its_right_neighbour) {
    thin(0, 6);
    thin(leaf_width, 8);
    const auto before = e.all();
    EXPECT_TRUE(e.join(key(2)));
    EXPECT_EQ(leaves(), 2U);
    EXPECT_EQ(parts::load(leaf(0).low_key), 0U);
    expect_all(before);
}

TEST_F(joined_leaves, leaves_whose_entries_do_not_fit_stay) {
    thin(0, 6);
    thin(leaf_width, 9);
    const auto before = e.all();
    EXPECT_FALSE(e.join(key(0)));
    EXPECT_FALSE(e.join(key(leaf_width)));
    EXPECT_EQ(leaves(), 3U);
    expect_all(before);
}

TEST_F(joined_leaves, a_leaf_without_a_neighbour_stays) {
    thin(0, 3);
    thin(leaf_width, 3);
    EXPECT_TRUE(e.join(key(leaf_width)));
    EXPECT_TRUE(e.join(key(2 * leaf_width)));
    const auto before = e.all();
    EXPECT_EQ(leaves(), 1U);
    EXPECT_FALSE(e.join(key(0)));
    EXPECT_FALSE(e.join("another key"));
    expect_all(before);
}

TEST_F(joined_leaves, a_crash_in_the_same_epoch_undoes_it) {
    thin(0, 5);
    thin(leaf_width, 5);
    e.epochs().end_epoch();
    const auto before = e.all();
    EXPECT_TRUE(e.join(key(leaf_width)));
    e.put(key(1), "another value");
    const scratch_file copy;
    std::filesystem::copy_file(file.path(), copy.path());
    test_engine<incll_discipline> recovered(copy.path(), by_hand());
    EXPECT_EQ(recovered.all(), before);
    const audit_report report = audit(recovered.machine());
    EXPECT_TRUE(report.ok()) << report.to_string();
}

TEST_F(joined_leaves, a_hint_to_a_leaf_that_is_gone_finds_the_key) {
    const scratch_file other;
    engine_options o = by_hand();
    o.hint_memory = u64{1} << 20;
    test_engine<incll_discipline> hinted(other.path(), o);
    for (unsigned i = 0; i < keys; ++i) hinted.put(key(i), value(i));
    for (unsigned i = 3; i < 2 * leaf_width - 3; ++i) hinted.remove(key(i));
    for (unsigned i = 2 * leaf_width - 3; i < keys; ++i) ASSERT_TRUE(hinted.get(key(i)));
    EXPECT_TRUE(hinted.join(key(2 * leaf_width - 2)));
    for (unsigned i = 2 * leaf_width - 3; i < keys; ++i) EXPECT_EQ(hinted.get(key(i)), value(i));
    hinted.put(key(2 * leaf_width - 2), "newer");
    EXPECT_EQ(hinted.get(key(2 * leaf_width - 2)), "newer");
}

TEST_F(joined_leaves, damaged_neighbours_stay) {
    thin(0, 5);
    thin(leaf_width, 5);
    const std::vector<std::function<void()>> damages = {
        [&] {
            leaf(0).keys[parts::permutation<leaf_width>(parts::load(leaf(0).order)).slot(2)] = 0;
        },
        [&] {
            leaf(1).keys[parts::permutation<leaf_width>(parts::load(leaf(1).order)).slot(2)] = 0;
        },
        [&] {  // the last key of the first leaf is one of the second's
            auto& n = leaf(0);
            n.keys[parts::permutation<leaf_width>(parts::load(n.order)).slot(4)] =
                parts::load(leaf(1).keys[0]);
        },
        [&] { leaf(0).values[0] = parts::load(leaf(0).values[0]) ^ u64 { 1 } << 50; },
        [&] { leaf(1).values[0] = parts::load(leaf(1).values[0]) ^ u64 { 1 } << 50; },
    };
    std::array<std::byte, parts::node_payload> saved[2];
    for (std::size_t i = 0; i < damages.size(); ++i) {
        for (unsigned child = 0; child < 2; ++child) {
            std::memcpy(saved[child].data(), static_cast<void*>(&leaf(child)), sizeof saved[child]);
        }
        damages[i]();
        EXPECT_THROW((void)e.join(key(leaf_width)), hf::damage) << i;
        EXPECT_EQ(leaves(), 3U) << i;
        for (unsigned child = 0; child < 2; ++child) {
            std::memcpy(static_cast<void*>(&leaf(child)), saved[child].data(), sizeof saved[child]);
        }
    }
    EXPECT_TRUE(e.join(key(leaf_width))) << "the locks are free";
}

TEST_F(joined_leaves, the_entries_after_the_key_need_not_be_tried) {
    thin(0, 6);
    const auto entries_after = [&](const std::string& k) {
        operation op(e.checkpoint());
        const auto tried = must(e.tree().join(op, k));
        EXPECT_FALSE(tried.joined);
        return tried.entries_after;
    };
    EXPECT_EQ(entries_after(key(0)), 5U);
    EXPECT_EQ(entries_after(key(4)), 1U);
    EXPECT_EQ(entries_after(key(5)), 0U);
    EXPECT_EQ(entries_after(key(5) + "a"), 0U) << "of a key that is absent";
    EXPECT_EQ(entries_after(key(leaf_width + 1)), leaf_width - 2) << "of a full leaf";
}

TEST_F(joined_leaves, a_leaf_that_links_past_its_neighbour_stays) {
    thin(0, 5);
    thin(leaf_width, 5);
    const auto before = e.all();
    const u64 next = parts::load(leaf(0).next);
    leaf(0).next = parts::load(leaf(1).next);
    EXPECT_THROW((void)e.join(key(0)), hf::damage) << "the third leaf has room for its entries";
    leaf(0).next = next;
    EXPECT_EQ(leaves(), 3U);
    expect_all(before);
    EXPECT_TRUE(e.join(key(0)));
    expect_all(before);
}

}  // namespace
}  // namespace hf::test
