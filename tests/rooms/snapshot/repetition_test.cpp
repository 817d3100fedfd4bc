// The ways that name more pages than were stored to: what they capture again and again must not be
// all that ever changed.
#include "journalled.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

namespace hf {
namespace {

using test::must;

class repetition : public test::on_tmpfs,
                   public ::testing::WithParamInterface<page_tracker::way> {};

TEST_P(repetition, ends_when_the_base_has_everything) {
    constexpr u64 touched = u64{4} << 20;
    constexpr int checkpoints = 20;
    auto s = must(snapshot_machine::open(file, test::small_journal(2 * touched, GetParam())));
    const auto memory = s->memory();
    std::fill_n(memory.begin(), touched, std::byte{1});
    for (int i = 0; i < checkpoints; ++i) {
        memory[0] = static_cast<std::byte>(i + 2);
        must(s->epochs().wait_durable(must(s->checkpoint())));
    }
    // Once as changed, once as not applied yet, and then it was waited for.
    EXPECT_LT(s->epochs().journal()->redo()->numbers().journal_bytes(), 4 * touched);
    must(s->close());
}

INSTANTIATE_TEST_SUITE_P(ways, repetition,
                         ::testing::Values(page_tracker::way::written, page_tracker::way::copies,
                                           page_tracker::way::all));

}  // namespace
}  // namespace hf
