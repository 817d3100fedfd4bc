#include "crashlab/lint/lint.hpp"

#include "trace_maker.hpp"

#include <gtest/gtest.h>

namespace hf::lab {
namespace {

constexpr u64 line = 640;
constexpr u64 lock_pc = 77;
constexpr u64 mark_pc = 78;

source_places places() {
    source_places p;
    const std::string version = "src/sync/version_lock.hpp";
    p.add(lock_pc, {{"store", "/usr/include/c++/12/bits/atomic_base.h", 464},
                    {"unlock", version, 102},
                    {"put", "src/index/masstree/update.hpp", 9}});
    p.add(mark_pc, {{"store", "/usr/include/c++/12/bits/atomic_base.h", 464},
                    {"set", version, 107},
                    {"hf::version_lock::mark_splitting_with(unsigned long)", version, 90}});
    p.add(1, {{"put", "src/index/masstree/update.hpp", 25}});
    return p;
}

u64 count_of(const std::vector<lint_finding>& all, rule r) {
    u64 n = 0;
    for (const lint_finding& f : all) n += f.broken == r ? f.count : 0;
    return n;
}

u64 fires(const trace_maker& t, rule r) { return count_of(lint(t.events, places()), r); }

TEST(lint_unnoted, fires_for_a_store_nobody_heard_of) {
    const auto all = lint(trace_maker().store(line, 1).announced().events, places());
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].broken, rule::unnoted);
    EXPECT_EQ(all[0].place, "src/index/masstree/update.hpp:25");
    EXPECT_TRUE(has_errors(all));
}

TEST(lint_unnoted, fires_for_a_store_behind_the_flush) {
    EXPECT_EQ(fires(trace_maker().store(line, 1).flush(line).fence().store(line, 2).announced(),
                    rule::unnoted),
              1U);
}

TEST(lint_unnoted, fires_for_a_note_of_another_epoch) {
    EXPECT_EQ(fires(trace_maker()
                        .noted(line, 8)
                        .store(line, 1)
                        .flush(line)
                        .fence()
                        .announced(1)
                        .store(line, 2)
                        .announced(2),
                    rule::unnoted),
              1U);
}

TEST(lint_unnoted, is_told_once) {
    EXPECT_EQ(fires(trace_maker().store(line, 1).announced(1).announced(2), rule::unnoted), 1U);
}

TEST(lint_unnoted, does_not_fire_before_anything_is_announced) {
    EXPECT_TRUE(lint(trace_maker().store(line, 1).events, places()).empty());
}

TEST(lint_unnoted, does_not_fire_for_what_is_flushed_and_fenced) {
    EXPECT_TRUE(lint(trace_maker().store(line, 1).flush(line).fence().announced().events, places())
                    .empty());
}

TEST(lint_unnoted, does_not_fire_for_a_lock) {
    EXPECT_TRUE(lint(trace_maker().store(line, 1, lock_pc).announced().events, places()).empty());
}

TEST(lint_unnoted, fires_for_what_a_lock_word_holds_durably) {
    EXPECT_EQ(fires(trace_maker().store(line, 1, mark_pc).announced(), rule::unnoted), 1U);
}

TEST(lint_unnoted, fires_for_a_store_beside_a_lock) {
    EXPECT_EQ(
        fires(trace_maker().store(line, 1, lock_pc).store(line + 8, 1).announced(), rule::unnoted),
        1U);
}

TEST(lint_unnoted, does_not_fire_for_what_a_crash_has_undone) {
    EXPECT_EQ(
        fires(trace_maker().store(line, 1).point("epoch O1: test").announced(), rule::unnoted), 0U);
}

TEST(lint_acknowledged_early, fires_for_a_noted_line_that_is_not_written_back) {
    EXPECT_EQ(
        fires(trace_maker().store(line, 1).noted(line, 8).announced(), rule::acknowledged_early),
        1U);
}

TEST(lint_acknowledged_early, fires_for_a_flush_without_fence) {
    const auto t = trace_maker().store(line, 1).flush(line).announced();
    EXPECT_EQ(fires(t, rule::acknowledged_early), 1U);
    EXPECT_EQ(fires(t, rule::unnoted), 0U);
}

TEST(lint_acknowledged_early, fires_for_a_fence_of_another_thread) {
    EXPECT_EQ(fires(trace_maker().store(line, 1).flush(line).by(1).fence().announced(),
                    rule::acknowledged_early),
              1U);
}

TEST(lint_acknowledged_early, does_not_fire_for_another_threads_flush_and_fence) {
    EXPECT_TRUE(lint(trace_maker()
                         .store(line, 1)
                         .noted(line, 8)
                         .by(1)
                         .flush(line)
                         .fence()
                         .announced()
                         .events,
                     places())
                    .empty());
}

TEST(lint_acknowledged_early, is_about_unfenced_streams_and_unsynced_writes) {
    for (const store_kind how : {store_kind::stream, store_kind::file}) {
        EXPECT_EQ(fires(trace_maker().store(line, 1, 1, how).announced(), rule::acknowledged_early),
                  1U);
    }
    EXPECT_EQ(fires(trace_maker().store(line, 1, 1, store_kind::stream).fence().announced(),
                    rule::acknowledged_early),
              0U);
    EXPECT_EQ(fires(trace_maker().store(line, 1, 1, store_kind::file).sync().announced(),
                    rule::acknowledged_early),
              0U);
}

TEST(lint_acknowledged_early, fires_for_what_is_sure_only_after_the_epoch_is_counted) {
    const auto t = trace_maker().store(line, 1).flush(line).point("epoch E1: test").fence();
    EXPECT_EQ(fires(trace_maker(t).announced(), rule::acknowledged_early), 1U);
}

TEST(lint_acknowledged_early, is_told_once) {
    EXPECT_EQ(fires(trace_maker().store(line, 1).flush(line).point("epoch E1: test").announced(),
                    rule::acknowledged_early),
              1U);
}

TEST(lint_flush_of_clean_line, fires_for_an_untouched_line) {
    EXPECT_EQ(fires(trace_maker().flush(line).fence(), rule::flush_of_clean_line), 1U);
}

TEST(lint_flush_of_clean_line, fires_for_the_second_flush_of_one_thread) {
    const auto all =
        lint(trace_maker().store(line, 1).flush(line).flush(line).fence().events, places());
    ASSERT_EQ(count_of(all, rule::flush_of_clean_line), 1U);
    EXPECT_EQ(all[0].stored_at, "src/index/masstree/update.hpp:25");
}

TEST(lint_flush_of_clean_line, does_not_fire_for_what_only_another_thread_has_flushed) {
    EXPECT_EQ(fires(trace_maker().store(line, 1).flush(line).by(1).flush(line).fence(),
                    rule::flush_of_clean_line),
              0U);
}

TEST(lint_empty_fence, fires_for_the_second_fence_in_a_row) {
    const auto t = trace_maker().store(line, 1).flush(line).fence();
    EXPECT_EQ(fires(t, rule::empty_fence), 0U);
    EXPECT_EQ(fires(trace_maker(t).fence(), rule::empty_fence), 1U);
}

TEST(lint_empty_fence, does_not_fire_behind_a_streamed_store) {
    EXPECT_EQ(fires(trace_maker().store(line, 1, 1, store_kind::stream).fence(), rule::empty_fence),
              0U);
}

TEST(lint_mixed_streaming, fires_within_a_fence) {
    EXPECT_EQ(fires(trace_maker().store(line, 1).store(line + 8, 1, 1, store_kind::stream),
                    rule::mixed_streaming),
              1U);
    EXPECT_EQ(fires(trace_maker().store(line, 1).flush(line).fence().store(line + 8, 1, 1,
                                                                           store_kind::stream),
                    rule::mixed_streaming),
              0U);
}

TEST(lint_text, names_rule_place_and_count) {
    auto all = lint(trace_maker().store(line, 1).announced().events, places());
    merge(all, all);
    const std::string text = to_text(all);
    EXPECT_NE(text.find("error: unnoted: "), std::string::npos) << text;
    EXPECT_NE(text.find("2 x  src/index/masstree/update.hpp:25"), std::string::npos) << text;
}

TEST(lint_text, leaves_out_what_matters_less) {
    const auto all = lint(trace_maker().fence().events, places());
    EXPECT_NE(to_text(all).find("empty_fence"), std::string::npos);
    EXPECT_EQ(to_text(all, severity::error), "nothing found\n");
}

}  // namespace
}  // namespace hf::lab
