// Every ordered index, as users get it: threads beside each other.
#include "index/common/index_threads.hpp"

#include "index_in_room.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(art, index_threads, room_family<art_in_room>::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(art, index_scans, room_family<art_in_room>::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(hot, index_threads, room_family<hot_in_room>::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(hot, index_scans, room_family<hot_in_room>::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(bwtree, index_threads, room_family<bwtree_in_room>::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(bwtree, index_scans, room_family<bwtree_in_room>::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(masstree, index_threads, room_family<masstree_in_room>::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(masstree, index_scans, room_family<masstree_in_room>::durable);

}  // namespace
}  // namespace hf::test
