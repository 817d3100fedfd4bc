// The lines that operations record, and the references that they show to the sweep.
#include "hot_fixture.hpp"
#include "index/common/index_notes.hpp"

namespace hf::test {
namespace {

class hot_notes : public on_tmpfs {};

TEST_F(hot_notes, reclaiming_a_stale_lock_records_everything_under_it) {
    telling_numbers<hot> numbers(file);
    fill_for_audit(numbers);
    expect_who_takes_over_to_note_all(numbers, "a node of a HOT");
    telling_bytes<hot> bytes(dir / "bytes.hf");
    fill_for_audit(bytes);
    expect_who_takes_over_to_note_all(bytes, "a node of a HOT");
}

TEST_F(hot_notes, references_copied_to_another_node_are_shown_to_the_sweep) {
    telling_numbers<hot> numbers(file);
    expect_references_to_be_shown(numbers);
    telling_bytes<hot> bytes(dir / "bytes.hf");
    expect_references_to_be_shown(bytes);
}

}  // namespace
}  // namespace hf::test
