#include "bwtree_fixture.hpp"
#include "index/common/index_damage.hpp"
#include "index/common/index_model.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(bwtree, index_model, bwtree_family::all);

RC_GTEST_PROP(bwtree_properties, any_keys_any_order, ()) {
    static bwtree_family::transient_bytes t;
    any_keys_in_any_order(t);
}

TEST(bwtree_beside_damage, no_writer_waits_for_ever) {
    ASSERT_NO_FATAL_FAILURE(writers_end_beside_damage<bwtree_family::numbers_in_file>(scaled(20)));
    ASSERT_NO_FATAL_FAILURE(writers_end_beside_damage<bwtree_family::bytes_in_file>(scaled(20)));
}

}  // namespace
}  // namespace hf::test
