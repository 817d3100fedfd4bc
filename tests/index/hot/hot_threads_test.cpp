#include "hot_fixture.hpp"
#include "index/common/index_threads.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(hot, index_threads, hot_family::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(hot, index_scans, hot_family::durable);

}  // namespace
}  // namespace hf::test
