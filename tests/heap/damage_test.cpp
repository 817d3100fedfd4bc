// What check() and an opening say of a heap that was damaged.
#include "heap/core.hpp"
#include "heap/testing.hpp"
#include "heap_of_nodes.hpp"

namespace hf::test {
namespace {

class damaged_heap : public on_tmpfs {
   protected:
    /// Three nodes in a list; gives the offsets in the file of the first two.
    void SetUp() override {
        auto heap = open_heap(file);
        auto head = must(heap.root<node>("head"));
        must(heap.atomic([&](nv::tx<>& tx) {
            head.set(tx, tx.make<node>(3, tx.make<node>(2, tx.make<node>(1))));
        }));
        must(heap.read([&](nv::tx<>&) {
            auto& core = nv::heap_testing::inner(heap);
            first = core.file().offset_of(head.get().address());
            second = core.file().offset_of(head->next.get().address());
            control = core.file().offset_of(&core.control());
        }));
        must(heap.close());
    }
    [[nodiscard]] std::string told() {
        const auto heap = nv::heap<>::open(file, small_heap());
        if (!heap) return heap.error().to_string();
        const auto report = heap->check();
        if (!report) return report.error().to_string();
        std::string all;
        for (const std::string& v : report->violations) all += v + '\n';
        return all;
    }
    void expect(const std::string& text) {
        const std::string found = told();
        EXPECT_NE(found.find(text), std::string::npos) << found;
    }
    void write(u64 at, u64 value) { patch(file, at, &value, sizeof value); }
    u64 first = 0;
    u64 second = 0;
    u64 control = 0;
};

TEST_F(damaged_heap, a_whole_one_is_told_so) { EXPECT_EQ(told(), ""); }

TEST_F(damaged_heap, a_wrong_count_is_told) {
    write(first - 16, nv::state_word{2, nv::first_type, 0}.pack());
    expect("the count is 2, but 1 pointers lead here");
}
TEST_F(damaged_heap, a_pointer_into_nothing_is_told) {
    write(first + 8, second + 16);
    expect("where no object lives");
}
TEST_F(damaged_heap, an_unknown_type_is_told) {
    write(second - 16, nv::state_word{1, 77, 0}.pack());
    expect("type is not described");
}
TEST_F(damaged_heap, a_lost_object_is_told) {
    write(second - 16, nv::state_word{0, nv::first_type, 0}.pack());
    write(first + 8, 0);
    expect("neither an orphan nor doomed");
}
TEST_F(damaged_heap, a_damaged_control_block_is_refused) {
    write(control + 16, 1);
    expect("control block is damaged");
}
TEST_F(damaged_heap, a_damaged_list_of_types_is_refused) {
    write(control + offsetof(nv::control_block, types), 48);
    EXPECT_NE(told(), "");
    write(control + offsetof(nv::control_block, types), u64{1} << 60);
    EXPECT_NE(told(), "");
}

}  // namespace
}  // namespace hf::test
