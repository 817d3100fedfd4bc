// Uses of a heap that only run time can see are wrong: each is an error, and the heap goes on.
#include "heap_of_nodes.hpp"

#include <optional>

namespace hf::test {
namespace {

class refused_use : public on_tmpfs {
   protected:
    void SetUp() override {
        auto heap = open_heap(file);
        auto head = must(heap.root<node>("head"));
        must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, tx.make<node>(7)); }));
        must(heap.close());
    }
};

TEST_F(refused_use, a_heap_that_is_inspected_is_read_and_refuses_atomic_and_later) {
    nv::heap_options o = small_heap();
    o.region.mode = open_mode::inspect;
    auto heap = open_heap(file, o);
    auto head = must(heap.root<node>("head"));
    must(heap.read([&](nv::tx<>&) { EXPECT_EQ(head->value, 7); }));
    const auto changed = heap.atomic([&](nv::tx<>& tx) { head->value.set(tx, 8); });
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, errc::denied);
    ticket when = 0;
    const auto later = heap.later([&](nv::tx<>& tx) { head->value.set(tx, 8); }, when);
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code, errc::denied);
    must(heap.read([&](nv::tx<>&) { EXPECT_EQ(head->value, 7); }));
    must(heap.close());
}

TEST_F(refused_use, close_within_a_transaction_is_an_error_and_the_heap_stays_open) {
    auto heap = open_heap(file);
    auto head = must(heap.root<node>("head"));
    must(heap.atomic([&](nv::tx<>& tx) {
        const auto closed = heap.close();
        ASSERT_FALSE(closed);
        EXPECT_EQ(closed.error().code, errc::usage);
        head->value.set(tx, 8);
    }));
    must(heap.read([&](nv::tx<>&) { EXPECT_EQ(head->value, 8); }));
    must(heap.close());
}

TEST_F(refused_use, a_child_of_fork_changes_nothing_of_its_parents_heap) {
    auto heap = open_heap(file);
    auto head = must(heap.root<node>("head"));
    const auto set = [&](int to) {
        return heap.atomic([&](nv::tx<>& tx) { head.set(tx, tx.make<node>(to)); });
    };
    must(set(7));
    EXPECT_DEATH((void)set(8), "holdfast: fatal: .*child of fork");
    EXPECT_DEATH((void)heap.read([&](nv::tx<>&) {}), "child of fork");
    EXPECT_EQ(test::in_child([&] {
                  const auto closed = heap.close();
                  return !closed && closed.error().code == errc::usage ? 0 : 1;
              }),
              0);
    EXPECT_EQ(test::in_child([&] {
                  {
                      const auto inherited = std::move(heap);
                  }  // its destructor does nothing
                  return 0;
              }),
              0);
    must(heap.read([&](nv::tx<>&) { EXPECT_EQ(head->value, 7); }));
    must(heap.close());
}

TEST_F(refused_use, a_heap_that_is_destroyed_within_a_transaction_ends_the_process) {
    EXPECT_DEATH(
        {
            std::optional<nv::heap<>> heap(open_heap(file));
            (void)heap->atomic([&](nv::tx<>&) { heap.reset(); });
        },
        "destroyed within a transaction");
}

}  // namespace
}  // namespace hf::test
