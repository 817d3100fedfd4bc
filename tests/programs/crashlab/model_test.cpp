// The model by itself: which contents a line may have.
#include "crashlab/explore/choices.hpp"
#include "crashlab/explore/explorer.hpp"
#include "crashlab/model/crash_model.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace hf::lab {
namespace {

event store_of(u64 where, u64 value, store_kind how = store_kind::release, u8 thread = 0,
               bool after_barrier = false) {
    event e;
    e.where = where;
    e.value = value;
    e.size = 8;
    e.how = how;
    e.thread = thread;
    e.after_barrier = after_barrier;
    return e;
}

event of(event_kind kind, u64 where = 0, u8 thread = 0) {
    event e;
    e.kind = kind;
    e.where = where;
    e.thread = thread;
    return e;
}

class crash_model_test : public testing::Test {
   protected:
    void play(const std::vector<event>& events) {
        for (const event& e : events) model_->advance(e);
    }
    void use(persistence mode) {
        model_ = std::make_unique<crash_model>(memory_.data(), mode, memory_.size(), true);
    }
    /// The values that the first two words of line 0 may have, as "a b".
    [[nodiscard]] std::set<std::pair<u64, u64>> contents(u64 line = 0) const {
        std::set<std::pair<u64, u64>> found;
        bool complete = true;
        if (model_->find(line) == nullptr) return {{0, 0}};
        for (const version& v : model_->find(line)->versions(line, complete)) {
            u64 words[2];
            std::memcpy(words, v.content.bytes.data(), sizeof words);
            found.emplace(words[0], words[1]);
        }
        return found;
    }

    std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
    std::unique_ptr<crash_model> model_ =
        std::make_unique<crash_model>(memory_.data(), persistence::pcso, memory_.size(), true);
};

using set = std::set<std::pair<u64, u64>>;

TEST_F(crash_model_test, release_stores_to_a_line_reach_the_medium_in_order) {
    play({store_of(0, 1), store_of(8, 2), store_of(0, 3)});
    EXPECT_EQ(contents(), (set{{0, 0}, {1, 0}, {1, 2}, {3, 2}}));
}

TEST_F(crash_model_test, plain_stores_may_come_before_what_lies_behind_no_barrier) {
    play({store_of(0, 1), store_of(8, 2, store_kind::plain)});
    EXPECT_EQ(contents(), (set{{0, 0}, {1, 0}, {0, 2}, {1, 2}}));
}

TEST_F(crash_model_test, a_plain_store_stays_behind_its_threads_barrier) {
    play({store_of(0, 1), store_of(8, 2, store_kind::plain, 0, true)});
    EXPECT_EQ(contents(), (set{{0, 0}, {1, 0}, {1, 2}}));
}

TEST_F(crash_model_test, a_release_store_comes_behind_earlier_plain_ones) {
    play({store_of(0, 1, store_kind::plain), store_of(8, 2)});
    EXPECT_EQ(contents(), (set{{0, 0}, {1, 0}, {1, 2}}));
}

TEST_F(crash_model_test, lines_know_nothing_of_each_other) {
    play({store_of(0, 1), store_of(64, 2)});
    EXPECT_EQ(contents(0), (set{{0, 0}, {1, 0}}));
    EXPECT_EQ(contents(1), (set{{0, 0}, {2, 0}}));
}

TEST_F(crash_model_test, a_flush_promises_nothing_without_a_fence) {
    play({store_of(0, 1), of(event_kind::flush)});
    EXPECT_EQ(contents(), (set{{0, 0}, {1, 0}}));
}

TEST_F(crash_model_test, a_fence_makes_sure_what_its_thread_flushed_as_it_was_then) {
    play({store_of(0, 1), of(event_kind::flush), store_of(0, 2), of(event_kind::fence)});
    EXPECT_EQ(contents(), (set{{1, 0}, {2, 0}}));
}

TEST_F(crash_model_test, a_fence_of_another_thread_makes_nothing_sure) {
    play({store_of(0, 1), of(event_kind::flush, 0, 0), of(event_kind::fence, 0, 1)});
    EXPECT_EQ(contents(), (set{{0, 0}, {1, 0}}));
}

TEST_F(crash_model_test, a_crash_takes_flushes_with_it_that_were_not_fenced) {
    play({store_of(0, 1), of(event_kind::flush)});
    model_->forget_volatile();
    play({of(event_kind::fence)});
    EXPECT_EQ(contents(), (set{{0, 0}, {1, 0}}));
}

TEST_F(crash_model_test, streamed_pieces_come_in_any_order_until_fenced) {
    const std::vector<event> streamed{store_of(0, 1, store_kind::stream),
                                      store_of(8, 2, store_kind::stream)};
    play(streamed);
    EXPECT_EQ(contents(), (set{{0, 0}, {1, 0}, {0, 2}, {1, 2}}));
    play({of(event_kind::fence)});
    EXPECT_EQ(contents(), (set{{1, 2}}));
}

TEST_F(crash_model_test, a_sync_makes_sure_what_system_calls_wrote) {
    play({store_of(0, 1, store_kind::file), store_of(8, 2, store_kind::file)});
    EXPECT_EQ(contents().size(), 4U);
    play({of(event_kind::fence)});
    EXPECT_EQ(contents().size(), 4U);
    play({of(event_kind::sync)});
    EXPECT_EQ(contents(), (set{{1, 2}}));
}

TEST_F(crash_model_test, unasked_write_back_can_be_switched_off) {
    use(persistence::flushed);
    play({store_of(0, 1)});
    EXPECT_EQ(contents(), (set{{0, 0}}));
    play({of(event_kind::flush)});
    EXPECT_EQ(contents(), (set{{0, 0}, {1, 0}}));
}

TEST_F(crash_model_test, caches_that_survive_leave_one_image) {
    use(persistence::eadr);
    play({store_of(0, 1), store_of(8, 2)});
    EXPECT_EQ(contents(), (set{{1, 2}}));
}

TEST(crash_points, are_where_what_may_be_found_has_changed) {
    EXPECT_EQ(crash_points_of({store_of(0, 1), of(event_kind::fence), of(event_kind::fence)}),
              (std::vector<u32>{1, 3}));
    EXPECT_EQ(crash_points_of({store_of(0, 1), of(event_kind::flush), of(event_kind::point),
                               of(event_kind::announced), of(event_kind::fence)}),
              (std::vector<u32>{2, 3, 4, 5}));
    EXPECT_EQ(crash_points_of({store_of(0, 1), store_of(8, 1)}, persistence::eadr),
              (std::vector<u32>{0, 1, 2}));
}

TEST(choices, walks_through_all_combinations_though_later_questions_depend_on_earlier_answers) {
    choices how(policy::all);
    std::set<std::vector<u32>> seen;
    do {
        std::vector<u32> answers{how.choose(1, 2)};
        if (answers[0] == 1) answers.push_back(how.choose(2, 3));
        EXPECT_TRUE(seen.insert(answers).second);
    } while (how.next(0));
    EXPECT_EQ(seen, (std::set<std::vector<u32>>{{0}, {1, 0}, {1, 1}, {1, 2}}));
}

TEST(choices, keeps_the_answers_in_front) {
    choices how(policy::all);
    EXPECT_EQ(how.choose(1, 5), 0U);
    const u32 keep = how.depth();
    u32 runs = 0;
    do {
        EXPECT_EQ(how.choose(2, 3), runs);
        ++runs;
    } while (how.next(keep));
    EXPECT_EQ(runs, 3U);
    EXPECT_EQ(how.depth(), keep);
}

}  // namespace
}  // namespace hf::lab
