// The references that operations show to the sweep.
#include "eager_masstree_fixture.hpp"
#include "index/common/index_notes.hpp"

namespace hf::test {
namespace {

class eager_masstree_notes : public on_tmpfs {};

/// The audit reaches nodes only by their left neighbours; this adds the references from roots and
/// inner nodes.
template <class Tree>
auto inner_links_of(Tree& t) {
    return [&t](holders& found, const std::set<u64>& blocks) {
        using namespace eager_masstree_detail;
        const region& file = t.space->file();
        auto by_name = blocks_of(t);
        for (const auto& p : by_name["the root of a layer"]) {
            found[file.template at<root_block>(p.payload)->word.load()].insert(p.payload);
        }
        for (const auto& p : by_name["a node of a Masstree"]) {
            const node& n = *file.template at<node>(p.payload);
            if (n.level() == 0) continue;
            const order_word o = n.used();
            for (unsigned r = 0; r < o.size(); ++r) {
                const u64 child = n.pair_at(o, r).word.load();
                if (n.key_at(o, r) <= n.last.load() && blocks.contains(child)) {
                    found[child].insert(p.payload);
                }
            }
        }
    };
}

TEST_F(eager_masstree_notes, references_copied_to_another_node_are_shown_to_the_sweep) {
    telling_numbers<eager_masstree> numbers(file);
    expect_references_to_be_shown(numbers, inner_links_of(numbers));
    telling_bytes<eager_masstree> bytes(dir / "bytes.hf");
    expect_references_to_be_shown(bytes, inner_links_of(bytes));
}

}  // namespace
}  // namespace hf::test
