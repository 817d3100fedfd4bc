// Lines that are stored to again and again while a log is replayed.
#include "transaction/late_flushes.hpp"

#include "persist/counters.hpp"
#include "region_of_words.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

namespace hf::test {

class late_flushes_test : public on_tmpfs {};

TEST_F(late_flushes_test, write_a_line_back_once_however_often_it_is_stored_to) {
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    region_of_words::how always;
    always.flush = flush_policy::always;
    const region_of_words r(file, always);
    late_flushes waiting(r.up->file());
    const u64 before = thread_persist_counters().flushes;
    const auto flushes = [&] { return thread_persist_counters().flushes - before; };
    for (int i = 0; i < 100; ++i) waiting.add(7);
    waiting.add(8);
    EXPECT_EQ(flushes(), 0U);
    waiting.add(7 + late_flushes::places);  // takes the place of 7
    EXPECT_EQ(flushes(), 1U);
    waiting.finish();
    EXPECT_EQ(flushes(), 3U);
    waiting.finish();
    EXPECT_EQ(flushes(), 3U);
}

}  // namespace hf::test
