#include "eager_masstree_fixture.hpp"
#include "index/common/index_damage.hpp"
#include "index/common/index_model.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(eager_masstree, index_model, eager_masstree_family::all);

RC_GTEST_PROP(eager_masstree_properties, any_keys_any_order, ()) {
    static eager_masstree_family::transient_bytes t;
    any_keys_in_any_order(t);
}

TEST(eager_masstree_beside_damage, no_writer_waits_for_ever) {
    ASSERT_NO_FATAL_FAILURE(
        writers_end_beside_damage<eager_masstree_family::numbers_in_file>(scaled(60)));
    ASSERT_NO_FATAL_FAILURE(
        writers_end_beside_damage<eager_masstree_family::bytes_in_file>(scaled(60)));
}

}  // namespace
}  // namespace hf::test
