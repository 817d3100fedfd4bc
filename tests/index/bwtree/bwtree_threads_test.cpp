#include "bwtree_fixture.hpp"
#include "index/common/index_threads.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(bwtree, index_threads, bwtree_family::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(bwtree, index_scans, bwtree_family::durable);

}  // namespace
}  // namespace hf::test
