// The lines that operations record, the references that they show to the sweep, and nodes' counts.
#include "art_fixture.hpp"
#include "index/common/index_notes.hpp"

namespace hf::test {
namespace {

class art_notes : public on_tmpfs {
   protected:
    ~art_notes() override { telling_operation::may_allocate = nullptr; }
};
using noted_numbers = telling_numbers<art>;
using noted_bytes = telling_bytes<art>;

TEST_F(art_notes, reclaiming_a_stale_lock_records_everything_under_it) {
    noted_numbers of_numbers(file);
    fill_for_audit(of_numbers);
    expect_who_takes_over_to_note_all(of_numbers, "a node of an ART");
    noted_bytes of_bytes(dir / "bytes.hf");
    fill_for_audit(of_bytes);
    expect_who_takes_over_to_note_all(of_bytes, "a node of an ART");
}

TEST_F(art_notes, references_copied_to_another_node_are_shown_to_the_sweep) {
    noted_numbers of_numbers(file);
    expect_references_to_be_shown(of_numbers);
    noted_bytes of_bytes(dir / "bytes.hf");
    expect_references_to_be_shown(of_bytes);
}

/// The number of nodes whose count differs from their used slots. Only nodes with hints of this
/// session.
template <class Tree>
unsigned nodes_that_miscount(Tree& t) {
    using namespace art_detail;
    const region& file = t.space->file();
    std::vector<u64> left{
        slot_word::of(0, what::n256, must(file.find_root(Tree::tree::name))->value.load())};
    unsigned wrong = 0;
    while (!left.empty()) {
        const u64 word = left.back();
        left.pop_back();
        node* const at = file.template at<node>(slot_word::offset_of(word));
        visit_node(at, slot_word::what_of(word), [&](auto& n) {
            wrong += n.count() == count_words(n.slots) ? 0 : 1;
            for (const published& s : n.slots) {
                if (slot_word::is_node(s.load())) left.push_back(s.load());
            }
        });
    }
    return wrong;
}

constexpr u64 parts = 12;
constexpr u64 most_of_a_part = 250;

/// Adds and removes many keys of one node at a time, so that it grows and shrinks.
template <class Tree, class Key>
void expect_right_counts(Tree& t, Key&& key) {
    xoshiro256ss random(1);
    const auto remove_from = [&](u64 first) {
        for (u64 part = 0; part < parts; ++part) {
            for (u64 n = first; n < most_of_a_part; ++n) t.remove(key(part, n));
            ASSERT_EQ(nodes_that_miscount(t), 0U);
        }
    };
    for (const u64 most : {2U, 10U, 30U, 60U, 250U, 60U, 20U, 3U}) {
        for (u64 n = 0; n < 2 * most + 200; ++n) {
            const auto k = key(random.below(3), random.below(most));
            random.below(2) == 0 ? t.upsert(k, k) : t.remove(k);
            ASSERT_EQ(nodes_that_miscount(t), 0U) << "operation " << n << " of " << most;
        }
        ASSERT_NO_FATAL_FAILURE(remove_from(most / 3));
    }
    for (u64 part = 0; part < parts; ++part) {
        for (u64 n = 0; n < 40; ++n) t.insert(key(part, n), key(part, n));
    }
    // Without memory nodes keep their size until they are removed as a whole.
    telling_operation::may_allocate = [] { return false; };
    ASSERT_NO_FATAL_FAILURE(remove_from(1));
    for (u64 part = 0; part < parts; ++part) {
        t.remove(key(part, 0));
        ASSERT_EQ(nodes_that_miscount(t), 0U) << "part " << part;
    }
}

// With a count that is too high, a node grows before it is full, or never shrinks; with one that is
// too low, it shrinks to a node that is too small.
TEST_F(art_notes, count_matches_the_used_slots) {
    noted_numbers of_numbers(file);
    expect_right_counts(of_numbers, [](u64 part, u64 n) { return part << 48 | n << 16; });
    telling_operation::may_allocate = nullptr;
    noted_bytes of_bytes(dir / "bytes.hf");
    expect_right_counts(of_bytes, [](u64 part, u64 n) {
        return std::string(part % 2, 'p') + static_cast<char>('a' + part) + static_cast<char>(n) +
               std::string(n % 2, 'e');
    });
}

}  // namespace
}  // namespace hf::test
