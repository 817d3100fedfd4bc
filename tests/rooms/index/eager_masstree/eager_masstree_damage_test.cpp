// An operation that finds damage reports it before it writes anything, and releases its locks.
#include "eager_masstree_fixture.hpp"
#include "index/common/index_audit.hpp"

#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace hf::test {
namespace {

using namespace eager_masstree_detail;

class damaged_masstree : public on_tmpfs {
   protected:
    template <class Tree>
    static std::vector<node*> nodes_of(Tree& t) {
        std::vector<node*> found;
        const auto blocks = blocks_of(t);
        for (const auto& p : blocks.at("a node of a Masstree")) {
            found.push_back(t.space->file().template at<node>(p.payload));
        }
        return found;
    }
    /// The pair in any node with this slice and length class.
    template <class Tree>
    static pair& pair_of(Tree& t, std::string_view slice, unsigned length_class) {
        const u64 key = key_cursor(slice).slice();
        for (node* n : nodes_of(t)) {
            const order_word o = n->used();
            for (unsigned r = 0; r < o.size(); ++r) {
                pair& p = n->pairs[o.slot(r)];
                if (p.key.load() == key && entry_word::class_of(p.word.load()) == length_class) {
                    return p;
                }
            }
        }
        throw std::logic_error("there is no such pair");
    }
    template <class Tree>
    static void expect_no_lock(Tree& t, const std::vector<node*>& nodes) {
        for (const node* n : nodes) EXPECT_FALSE(n->lock.is_held(t.space->generation()));
    }
    /// Expects each writing operation on the key to throw damage, and to release its locks.
    template <class Tree>
    static void expect_writes_meet_damage(Tree& t, const typename Tree::kept& k) {
        const auto nodes = nodes_of(t);
        EXPECT_THROW(t.upsert(k, k), damage);
        expect_no_lock(t, nodes);
        EXPECT_THROW(t.insert(k, k), damage);
        expect_no_lock(t, nodes);
        EXPECT_THROW(t.update(k, k), damage);
        expect_no_lock(t, nodes);
    }
};

TEST_F(damaged_masstree, write_reports_an_order_without_a_free_pair) {
    eager_masstree_family::numbers_in_file t(file);
    for (u64 k = 1; k < 9; ++k) t.insert(10 * k, k);
    node& n = *nodes_of(t).front();
    const u64 whole = n.order.load();
    const auto with_slot = [&](u64 slot) { return (whole & ~u64{0xf0}) | slot << 4; };
    for (const u64 order : {with_slot(width), with_slot(width + 1), whole | 15}) {
        SCOPED_TRACE(order);
        n.order.fill(order);
        EXPECT_THROW(t.upsert(5, 5), damage);
        EXPECT_THROW(t.insert(5, 5), damage);
        EXPECT_THROW(t.update(5, 5), damage);
        EXPECT_FALSE(n.lock.is_held(t.space->generation()));
        EXPECT_EQ(n.order.load(), order) << "nothing is written";
        n.order.fill(whole);
    }
    t.expect_sound();
}

TEST_F(damaged_masstree, write_reports_a_layer_below_a_key_that_ends) {
    eager_masstree_family::bytes_in_file t(file);
    const std::string beginning = "12345678";
    for (const char* more : {"abc", "abd"}) t.insert(beginning + more, "value");
    pair& p = pair_of(t, beginning, longer);
    const u64 whole = p.word.load();
    ASSERT_TRUE(entry_word::is_layer(whole));
    p.word.fill(entry_word::of(8, true, entry_word::offset_of(whole)));
    expect_writes_meet_damage(t, beginning);
    EXPECT_THROW(std::ignore = t.get(beginning), damage);
    EXPECT_THROW(t.remove(beginning), damage);
    p.word.fill(whole);
    t.expect_sound();
    EXPECT_EQ(t.all().size(), 2U);
}

// A key is led to the record of another key, which is no longer than the path to it.
TEST_F(damaged_masstree, write_reports_a_record_that_is_too_short_for_its_path) {
    for (const std::string other : {"1234567", "12345678"}) {
        SCOPED_TRACE(other);
        eager_masstree_family::bytes_in_file t(dir / other);
        t.insert("12345678abc", "value");
        t.insert(other, "other");
        pair& p = pair_of(t, "12345678", longer);
        const u64 whole = p.word.load();
        const auto shorter = static_cast<unsigned>(other.size());
        const u64 there = entry_word::offset_of(pair_of(t, other, shorter).word.load());
        p.word.fill(entry_word::of(longer, false, there));
        const auto nodes = nodes_of(t);
        {
            eager_discipline::operation op(*t.space);
            const auto done = t.index->insert(op, "12345678xyz", "value");
            ASSERT_FALSE(done);
            EXPECT_EQ(done.error().code, errc::corrupt) << done.error().to_string();
        }
        expect_no_lock(t, nodes);
        p.word.fill(whole);
        t.expect_sound();
        EXPECT_EQ(t.all().size(), 2U);
    }
}

// Two nodes with an equal `last` are valid: an interrupted split leaves them.
TEST_F(damaged_masstree, audit_reports_a_node_that_ends_before_its_left_neighbour) {
    eager_masstree_family::numbers_in_file t(file);
    for (u64 k = 0; k < 60; ++k) t.insert(k, k);
    const auto says_so = [&] {
        return t.audit().to_string().find("a node's last key is below the one before") !=
               std::string::npos;
    };
    u64 tried = 0;
    for (node* left : nodes_of(t)) {
        if (left->level() != 0 || left->next.load() == 0) continue;
        node& right = *t.space->file().at<node>(left->next.load());
        const u64 whole = right.last.load();
        right.last.fill(left->last.load() - 1);
        EXPECT_TRUE(says_so());
        right.last.fill(left->last.load());
        EXPECT_FALSE(says_so());
        right.last.fill(whole);
        ++tried;
    }
    EXPECT_GT(tried, 2U);
    t.expect_sound();
}

}  // namespace
}  // namespace hf::test
