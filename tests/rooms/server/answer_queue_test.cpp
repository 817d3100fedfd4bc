// Answers are sent in order, and not before their epoch is durable.
#include "server/answer_queue.hpp"

#include "base/random.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>

namespace hf::detail {
namespace {

std::string sendable(const answer_queue& q) {
    std::array<std::string_view, 100> pieces;
    std::string all;
    const std::size_t count = q.gather(pieces);
    for (std::size_t i = 0; i < count; ++i) {
        all += pieces[i];
    }
    return all;
}

TEST(answer_queue, hands_out_what_was_appended_until_it_is_sent) {
    answer_queue q;
    q.append("hello ");
    q.append("");
    q.append("world");
    EXPECT_EQ(q.size(), 11U);
    EXPECT_EQ(sendable(q), "hello world");
    q.sent(3);
    EXPECT_EQ(sendable(q), "lo world");
    q.sent(8);
    EXPECT_EQ(q.size(), 0U);
    EXPECT_EQ(sendable(q), "");
    q.append("more");
    EXPECT_EQ(sendable(q), "more");
}

TEST(answer_queue, keeps_the_order_of_blocks_and_small_answers) {
    answer_queue q;
    std::string expected;
    for (int i = 0; i < 50; ++i) {
        const std::string small = "answer " + std::to_string(i);
        std::string block = "head" + std::string(static_cast<std::size_t>(i) * 1000,
                                                 static_cast<char>('a' + i % 26));
        q.append(small);
        expected += small + block.substr(4);
        q.append_block(std::move(block), 4);
    }
    std::string got;
    for (std::size_t step = 1; q.size() != 0; step = step * 3 % 9973) {
        std::array<std::string_view, 2> pieces;
        const std::size_t count = q.gather(pieces);
        ASSERT_GT(count, 0U);
        // All pieces but the last, and a part of it.
        std::size_t size = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const auto part = i + 1 == count ? pieces[i].substr(0, step) : pieces[i];
            got += part;
            size += part.size();
        }
        q.sent(size);
    }
    EXPECT_TRUE(got == expected);
}

TEST(answer_queue, holds_back_from_the_first_answer_that_waits) {
    answer_queue q;
    q.append("read1 ");
    q.hold(5);
    q.append("write5 ");
    q.append("read2 ");
    q.hold(7);
    q.append("write7 ");
    EXPECT_EQ(q.awaited(), 7U);
    EXPECT_EQ(sendable(q), "read1 ");
    EXPECT_EQ(q.size(), 26U);
    q.release(4);
    EXPECT_EQ(sendable(q), "read1 ");
    q.release(6);
    EXPECT_EQ(sendable(q), "read1 write5 read2 ");
    q.release(7);
    EXPECT_EQ(sendable(q), "read1 write5 read2 write7 ");
    EXPECT_EQ(q.awaited(), 0U);
}

TEST(answer_queue, lets_answers_of_one_epoch_go_together) {
    answer_queue q;
    q.hold(5);
    q.append("a");
    q.hold(5);
    q.append("b");
    q.hold(4);
    q.append("c");
    EXPECT_EQ(sendable(q), "");
    q.release(5);
    EXPECT_EQ(sendable(q), "abc");
}

TEST(answer_queue, holds_again_after_a_release) {
    answer_queue q;
    q.hold(5);
    q.append("a");
    q.release(5);
    q.sent(1);
    q.hold(6);
    q.append("b");
    EXPECT_EQ(q.sendable(), 0U);
    EXPECT_EQ(q.size(), 1U);
    q.release(100);
    EXPECT_EQ(sendable(q), "b");
}

// The model stores with each byte the ticket that it waits for: that of the last hold, or a greater
// one before it.
TEST(answer_queue, agrees_with_a_list_of_bytes) {
    for (u64 seed = 1; seed <= test::effort(u64{12}); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        xoshiro256ss random(seed);
        answer_queue q;
        std::deque<std::pair<char, u64>> model;
        u64 held = 0;  // ticket for bytes that are appended now
        u64 durable = 0;
        char next = 0;
        for (int step = 0; step < 200 && !::testing::Test::HasFailure(); ++step) {
            const u64 what = random.below(8);
            if (what < 4) {
                const u64 size = random.below(20) == 0 ? random.below(40'000) : random.below(40);
                const std::size_t from = what == 0 ? random.below(6) : 0;
                std::string bytes(from, '?');
                for (u64 i = 0; i < size; ++i) {
                    bytes += ++next;
                    model.emplace_back(next, held);
                }
                what == 0 ? q.append_block(std::move(bytes), from) : q.append(bytes);
            } else if (what == 4) {
                const u64 ticket = durable + 1 + random.below(4);
                q.hold(ticket);
                if (held <= durable || ticket > held) held = std::max(held, ticket);
            } else if (what == 5) {
                durable += random.below(3);
                q.release(durable);
            } else {
                std::array<std::string_view, 3> pieces;
                const std::size_t count = q.gather(pieces);
                std::string got;
                for (std::size_t i = 0; i < count; ++i) {
                    EXPECT_FALSE(pieces[i].empty());
                    got += pieces[i];
                }
                EXPECT_EQ(got.empty(), q.sendable() == 0);
                got.resize(random.below(3) == 0 ? got.size() : random.below(got.size() + 1));
                for (const char c : got) {
                    ASSERT_EQ(model.front().first, c);
                    ASSERT_LE(model.front().second, durable) << "it should wait";
                    model.pop_front();
                }
                q.sent(got.size());
            }
            EXPECT_EQ(q.size(), model.size());
            const auto waits = std::find_if(model.begin(), model.end(), [&](const auto& byte) {
                return byte.second > durable;
            });
            ASSERT_EQ(q.sendable(), static_cast<u64>(waits - model.begin()));
            if (!model.empty() && model.back().second > durable) {
                EXPECT_EQ(q.awaited(), held);
            }
        }
    }
}

TEST(answer_queue_death, stops_whoever_sends_what_waits) {
    answer_queue q;
    q.hold(5);
    q.append("a");
    EXPECT_DEATH(q.sent(1), "more was sent");
}

}  // namespace
}  // namespace hf::detail
