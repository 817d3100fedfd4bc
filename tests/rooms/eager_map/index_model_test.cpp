// Every ordered index, as users get it: it does what a map does.
#include "index/common/index_model.hpp"

#include "index_in_room.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(art, index_model, room_family<art_in_room>::all);
INSTANTIATE_TYPED_TEST_SUITE_P(hot, index_model, room_family<hot_in_room>::all);
INSTANTIATE_TYPED_TEST_SUITE_P(bwtree, index_model, room_family<bwtree_in_room>::all);
INSTANTIATE_TYPED_TEST_SUITE_P(masstree, index_model, room_family<masstree_in_room>::all);

RC_GTEST_PROP(art_properties, any_keys_any_order, ()) {
    static room_family<art_in_room>::transient_bytes t;
    any_keys_in_any_order(t);
}

RC_GTEST_PROP(hot_properties, any_keys_any_order, ()) {
    static room_family<hot_in_room>::transient_bytes t;
    any_keys_in_any_order(t);
}

RC_GTEST_PROP(bwtree_properties, any_keys_any_order, ()) {
    static room_family<bwtree_in_room>::transient_bytes t;
    any_keys_in_any_order(t);
}

RC_GTEST_PROP(masstree_properties, any_keys_any_order, ()) {
    static room_family<masstree_in_room>::transient_bytes t;
    any_keys_in_any_order(t);
}

}  // namespace
}  // namespace hf::test
