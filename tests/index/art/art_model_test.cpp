#include "art_fixture.hpp"
#include "index/common/index_damage.hpp"
#include "index/common/index_model.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(art, index_model, art_family::all);

RC_GTEST_PROP(art_properties, any_keys_any_order, ()) {
    static art_family::transient_bytes t;
    any_keys_in_any_order(t);
}

TEST(art_beside_damage, no_writer_waits_for_ever) {
    ASSERT_NO_FATAL_FAILURE(writers_end_beside_damage<art_family::numbers_in_file>(scaled(60)));
    ASSERT_NO_FATAL_FAILURE(writers_end_beside_damage<art_family::bytes_in_file>(scaled(60)));
}

}  // namespace
}  // namespace hf::test
