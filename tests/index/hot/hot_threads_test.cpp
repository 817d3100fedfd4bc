#include "../common/index_threads.hpp"
#include "hot_fixture.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(hot, index_threads, hot_family::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(hot, index_scans, hot_family::durable);

}  // namespace
}  // namespace hf::test
