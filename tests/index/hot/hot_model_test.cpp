#include "hot_fixture.hpp"
#include "index/common/index_model.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(hot, index_model, hot_family::all);

RC_GTEST_PROP(hot_properties, any_keys_any_order, ()) {
    static hot_family::transient_bytes t;
    any_keys_in_any_order(t);
}

}  // namespace
}  // namespace hf::test
