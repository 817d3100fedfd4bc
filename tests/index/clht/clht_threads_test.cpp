#include "clht_fixture.hpp"
#include "index/common/index_threads.hpp"

namespace hf::test {
namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(index_scans);
INSTANTIATE_TYPED_TEST_SUITE_P(clht, index_threads, clht_family::durable);

}  // namespace
}  // namespace hf::test
