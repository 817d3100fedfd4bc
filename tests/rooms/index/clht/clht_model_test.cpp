#include "clht_fixture.hpp"
#include "index/common/index_model.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(clht, index_model, clht_family::all);

using colliding =
    index_in_memory<clht<eager_discipline, colliding_keys, small_clht_shape>, discipline::eager>;
INSTANTIATE_TYPED_TEST_SUITE_P(clht_of_equal_hashes, index_model, ::testing::Types<colliding>);

RC_GTEST_PROP(clht_properties, any_keys_any_order, ()) {
    static clht_family::transient_bytes t;
    any_keys_in_any_order(t);
}

}  // namespace
}  // namespace hf::test
