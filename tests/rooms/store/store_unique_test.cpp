// Unique numbers stay within their block and are never repeated.
#include "store/store_unique.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace hf::detail {
namespace {

constexpr u64 block_size = u64{1} << unique_numbers::block_bits;

TEST(unique_numbers, come_from_the_block) {
    unique_numbers numbers;
    numbers.open_block(3);
    EXPECT_EQ(numbers.draw(), 3 * block_size);
    EXPECT_EQ(numbers.draw(), 3 * block_size + 1);
}

TEST(unique_numbers, are_never_zero) {
    unique_numbers numbers;
    numbers.open_block(0);
    EXPECT_EQ(numbers.draw(), 1U);
}

TEST(unique_numbers, end_with_the_block_and_go_on_in_the_next) {
    unique_numbers numbers;
    numbers.open_block(3, block_size - 1);
    EXPECT_EQ(numbers.draw(), 4 * block_size - 1);
    EXPECT_EQ(numbers.draw(), std::nullopt);
    EXPECT_EQ(numbers.draw(), std::nullopt);
    numbers.open_block(4);
    EXPECT_EQ(numbers.draw(), 4 * block_size);
}

TEST(unique_numbers, are_none_before_a_block_was_opened) {
    EXPECT_EQ(unique_numbers().draw(), std::nullopt);
}

// A thread that draws between the two stores of open_block() gets no number, in particular none of
// the skipped block.
TEST(unique_numbers, come_from_no_block_between_two_that_are_opened) {
    constexpr u64 blocks = 20'000;
    unique_numbers numbers;
    std::atomic<bool> stop{false};
    std::thread draws([&] {
        while (!stop) {
            const auto n = numbers.draw();
            if (!n) continue;
            ASSERT_EQ(*n / block_size % 2, 0U);
            ASSERT_EQ(*n % block_size, block_size - 1);
        }
    });
    for (u64 block = 2; block < blocks; block += 2) {
        numbers.open_block(block, block_size - 1);
        while (numbers.draw()) {
        }
    }
    stop = true;
    draws.join();
}

TEST(unique_numbers, reach_the_greatest_of_64_bits) {
    unique_numbers numbers;
    numbers.open_block(unique_numbers::block_count - 1, block_size - 2);
    EXPECT_EQ(numbers.draw(), ~u64{0} - 1);
    EXPECT_EQ(numbers.draw(), ~u64{0});
    EXPECT_EQ(numbers.draw(), std::nullopt);
}

TEST(unique_numbers, are_all_of_a_block_from_where_it_is_begun) {
    for (const u64 block : {u64{0}, u64{1}, u64{5}}) {
        for (const u64 left : {u64{1}, u64{2}, u64{100}}) {
            unique_numbers numbers;
            numbers.open_block(block, block_size - left);
            for (u64 n = (block + 1) * block_size - left; n < (block + 1) * block_size; ++n) {
                ASSERT_EQ(numbers.draw(), n);
            }
            ASSERT_EQ(numbers.draw(), std::nullopt);
        }
    }
}

TEST(unique_numbers, differ_between_threads_also_where_a_block_ends) {
    constexpr std::size_t threads = 4;
    constexpr std::size_t each = 20'000;
    constexpr u64 of_each = 20;  // numbers of a block
    unique_numbers numbers;
    numbers.open_block(7, block_size - of_each);
    std::mutex mutex;
    u64 block = 7;
    std::vector<std::vector<u64>> drawn(threads);
    std::vector<std::thread> running;
    for (auto& mine : drawn) {
        running.emplace_back([&] {
            while (mine.size() < each) {
                if (const auto number = numbers.draw()) {
                    mine.push_back(*number);
                    continue;
                }
                const std::lock_guard lock(mutex);
                if (const auto number = numbers.draw()) {
                    mine.push_back(*number);
                } else {
                    numbers.open_block(++block, block_size - of_each);
                }
            }
        });
    }
    std::vector<u64> all;
    for (std::size_t i = 0; i < threads; ++i) {
        running[i].join();
        all.insert(all.end(), drawn[i].begin(), drawn[i].end());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
    for (const u64 n : all) ASSERT_GE(n % block_size, block_size - of_each) << "left out";
}

}  // namespace
}  // namespace hf::detail
