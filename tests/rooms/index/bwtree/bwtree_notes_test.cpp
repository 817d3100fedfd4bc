// The references that operations show to the sweep, and merges that do not complete.
#include "bwtree_fixture.hpp"
#include "index/common/index_notes.hpp"

namespace hf::test {
namespace {

using bwtree_detail::cell;
using noted_numbers = telling_numbers<bwtree>;

class bwtree_notes : public on_tmpfs {
   protected:
    ~bwtree_notes() override {
        telling_operation::may_allocate = nullptr;
        telling_operation::at_persist = nullptr;
    }
};

TEST_F(bwtree_notes, references_copied_to_another_node_are_shown_to_the_sweep) {
    noted_numbers of_numbers(file);
    expect_references_to_be_shown(of_numbers);
    telling_bytes<bwtree> of_bytes(dir / "bytes.hf");
    expect_references_to_be_shown(of_bytes);
}

/// All cells, including the root's. Must not be called within an operation.
std::vector<cell*> cells_of(noted_numbers& t) {
    const region& file = t.space->file();
    std::vector<cell*> found{
        file.at<cell>(must(file.find_root(noted_numbers::tree::name))->value.load())};
    auto blocks = blocks_of(t);
    for (const auto& p : blocks["a cell"]) found.push_back(file.at<cell>(p.payload));
    return found;
}
bool is_frozen(const cell* c) { return (c->load() & cell::frozen) != 0; }
bool any_is_frozen(const std::vector<cell*>& cells) {
    return std::any_of(cells.begin(), cells.end(), is_frozen);
}

/// Makes small leaves, of which each remove may merge two.
void fill_leaves(noted_numbers& t) {
    for (u64 k = 0; k < 300; ++k) t.insert(k, k);
}
/// Removes all but every twentieth key. Calls the two functions around each remove.
template <class Before, class Behind>
void thin_out(noted_numbers& t, Before&& before, Behind&& behind) {
    for (u64 k = 0; k < 300; ++k) {
        if (k % 20 == 0) continue;
        before();
        ASSERT_TRUE(t.remove(k));
        behind();
    }
}
void expect_every_twentieth(noted_numbers& t) {
    noted_numbers::entries wanted;
    for (u64 k = 0; k < 300; k += 20) wanted.emplace_back(k, k);
    EXPECT_EQ(t.all(), wanted);
    t.expect_sound();
}

// The merge has frozen a leaf and removed it from its parent, but has no memory for the merged
// leaf.
TEST_F(bwtree_notes, merge_without_memory_leaves_no_leaf_frozen) {
    for (unsigned gets = 0; gets < 4; ++gets) {
        noted_numbers t(dir / std::to_string(gets));
        fill_leaves(t);
        unsigned left = 0;
        unsigned refused = 0;
        telling_operation::may_allocate = [&] {
            if (left-- > 0) return true;
            left = 0;
            ++refused;
            return false;
        };
        thin_out(t, [&] { left = gets; }, [&] { ASSERT_FALSE(any_is_frozen(cells_of(t))); });
        telling_operation::may_allocate = nullptr;
        EXPECT_TRUE(refused > 0 || gets > 2);
        expect_every_twentieth(t);
    }
}

// The parent changes after the merge has read it, for example because a damaged lock let another
// thread in.
TEST_F(bwtree_notes, merge_with_a_changed_parent_leaves_no_leaf_frozen) {
    noted_numbers t(file);
    fill_leaves(t);
    unsigned changed = 0;
    std::vector<cell*> cells;
    telling_operation::at_persist = [&] {
        // When a leaf is frozen and the parent locked, change the version of the parent's word, not
        // its offset.
        if (!any_is_frozen(cells)) return;
        for (cell* c : cells) {
            if (!c->lock.is_held(t.space->generation())) continue;
            const u64 word = c->load();
            if ((word & cell::hold) != 0 || !c->take_hold(word)) continue;
            c->end_hold(word | cell::hold);
            ++changed;
        }
    };
    thin_out(t, [&] { cells = cells_of(t); }, [&] { ASSERT_FALSE(any_is_frozen(cells_of(t))); });
    telling_operation::at_persist = nullptr;
    EXPECT_GT(changed, 0U);
    expect_every_twentieth(t);
}

}  // namespace
}  // namespace hf::test
