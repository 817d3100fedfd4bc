#include "eager_masstree_fixture.hpp"
#include "index/common/index_store.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(eager_masstree, index_store,
                               ::testing::Types<eager_masstree_family>);

class eager_masstree_store : public on_tmpfs {};

// A pair in a line of its own, and the order word; one line and one fence where they share it.
TEST_F(eager_masstree_store, operations_flush_and_fence_as_often_as_they_say) {
    eager_masstree_family::numbers_in_file t(file);
    using cost = std::pair<u64, u64>;
    EXPECT_EQ(cost_of([&] { t.insert(0, 1); }), cost(1, 1));
    for (u64 k = 1; k < 8; ++k) t.insert(k, k);
    EXPECT_EQ(cost_of([&] { t.insert(8, 1); }), cost(2, 2));
    EXPECT_EQ(cost_of([&] { t.update(8, 2); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.remove(8); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(7); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(8); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.scan(0, 100); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { t.insert(5, 1); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { t.remove(100); }), cost(0, 0));
}

}  // namespace
}  // namespace hf::test
