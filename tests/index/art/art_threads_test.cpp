#include "art_fixture.hpp"
#include "index/common/index_threads.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(art, index_threads, art_family::durable);
INSTANTIATE_TYPED_TEST_SUITE_P(art, index_scans, art_family::durable);

}  // namespace
}  // namespace hf::test
