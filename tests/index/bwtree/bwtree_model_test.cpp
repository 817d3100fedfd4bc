#include "bwtree_fixture.hpp"
#include "index/common/index_model.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(bwtree, index_model, bwtree_family::all);

RC_GTEST_PROP(bwtree_properties, any_keys_any_order, ()) {
    static bwtree_family::transient_bytes t;
    any_keys_in_any_order(t);
}

}  // namespace
}  // namespace hf::test
