#include "eager_masstree_fixture.hpp"
#include "index/common/index_threads.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(eager_masstree, index_threads, eager_masstree_family::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(eager_masstree, index_scans, eager_masstree_family::durable);

}  // namespace
}  // namespace hf::test
