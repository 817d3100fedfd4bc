#include "art_fixture.hpp"
#include "index/common/index_model.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(art, index_model, art_family::all);

RC_GTEST_PROP(art_properties, any_keys_any_order, ()) {
    static art_family::transient_bytes t;
    any_keys_in_any_order(t);
}

}  // namespace
}  // namespace hf::test
