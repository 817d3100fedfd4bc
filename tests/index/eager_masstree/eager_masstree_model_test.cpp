#include "eager_masstree_fixture.hpp"
#include "index/common/index_model.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(eager_masstree, index_model, eager_masstree_family::all);

RC_GTEST_PROP(eager_masstree_properties, any_keys_any_order, ()) {
    static eager_masstree_family::transient_bytes t;
    any_keys_in_any_order(t);
}

}  // namespace
}  // namespace hf::test
