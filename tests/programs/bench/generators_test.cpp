#include "bench/operations.hpp"
#include "bench/zipfian.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace hf::bench {
namespace {

TEST(zeta, is_the_plain_sum) {
    for (const u64 n : {u64{1}, u64{2}, u64{999}, u64{1000}, u64{1001}, u64{300'000}}) {
        for (const double theta : {0.5, 0.99}) {
            double sum = 0;
            for (u64 k = n; k > 0; --k) sum += std::pow(static_cast<double>(k), -theta);
            EXPECT_NEAR(zeta(n, theta) / sum, 1, 1e-12) << n << " " << theta;
        }
    }
}

TEST(zipfian, stays_in_range_also_of_one_and_two) {
    xoshiro256ss random(7);
    for (const u64 n : {u64{1}, u64{2}, u64{3}, u64{1000}}) {
        const zipfian ranks(n);
        for (int i = 0; i < 100'000; ++i) ASSERT_LT(ranks(random), n);
    }
}

/// The two hottest ranks are drawn exactly by the law, the others by Gray's continuous
/// approximation.
TEST(zipfian, draws_ranks_as_often_as_the_law_says) {
    constexpr u64 n = 10'000;
    constexpr int draws = 4'000'000;
    const zipfian ranks(n);
    xoshiro256ss random(42);
    std::vector<double> seen(n, 0);
    for (int i = 0; i < draws; ++i) seen[ranks(random)] += 1;
    const double all = zeta(n, zipfian::ycsb_theta);
    EXPECT_NEAR(seen[0] / draws * all, 1, 0.02);
    EXPECT_NEAR(seen[1] / draws * all, std::pow(2, -zipfian::ycsb_theta), 0.02);
    double head = 0;
    for (u64 k = 0; k < 100; ++k) head += seen[k];
    EXPECT_NEAR(head / draws, zeta(100, zipfian::ycsb_theta) / all, 0.02);
}

TEST(key_of, gives_each_record_a_key_of_its_own) {
    std::set<u64> keys;
    for (u64 r = 0; r < 200'000; ++r) keys.insert(key_of(r));
    EXPECT_EQ(keys.size(), 200'000U);
}

stream_shape shape(workload w, distribution d = distribution::uniform) {
    return {w, d, 5'000, 100'000, 3};
}

double share_of(const std::vector<stream>& all, action what) {
    double n = 0;
    double of = 0;
    for (const stream& s : all) {
        for (const step& one : s) {
            n += 1;
            of += one.what() == what ? 1 : 0;
        }
    }
    return of / n;
}

TEST(streams, have_the_mix_of_their_workload) {
    EXPECT_NEAR(share_of(make_streams(shape(workload::a), 1), action::put), 0.5, 0.005);
    EXPECT_NEAR(share_of(make_streams(shape(workload::b), 1), action::put), 0.05, 0.003);
    EXPECT_EQ(share_of(make_streams(shape(workload::c), 1), action::get), 1);
    EXPECT_EQ(share_of(make_streams(shape(workload::e), 1), action::scan), 1);
}

TEST(streams, are_one_a_thread_and_as_long_as_asked) {
    const auto all = make_streams(shape(workload::a), 1);
    ASSERT_EQ(all.size(), 3U);
    for (const stream& s : all) EXPECT_EQ(s.size(), 100'000U);
}

TEST(streams, of_load_hold_every_record_once) {
    auto odd = shape(workload::load);
    odd.records = 5'003;
    std::set<u64> records;
    u64 steps = 0;
    for (const stream& s : make_streams(odd, 1)) {
        for (const step& one : s) {
            EXPECT_EQ(one.what(), action::put);
            records.insert(one.record());
            ++steps;
        }
    }
    EXPECT_EQ(steps, odd.records);
    EXPECT_EQ(records.size(), odd.records);
    EXPECT_EQ(*records.rbegin(), odd.records - 1);
}

TEST(streams, are_the_same_for_the_same_seed_and_differ_between_threads) {
    const auto draw = [](u64 seed) {
        std::vector<std::vector<u64>> all;
        for (const stream& s : make_streams(shape(workload::a, distribution::zipfian), seed)) {
            auto& numbers = all.emplace_back();
            for (const step& one : s) numbers.push_back(one.record());
        }
        return all;
    };
    const auto first = draw(5);
    EXPECT_EQ(first, draw(5));
    EXPECT_NE(first, draw(6));
    EXPECT_NE(first[0], first[1]);
}

TEST(streams, scatter_the_hot_records) {
    std::map<u64, int> seen;
    for (const stream& s : make_streams(shape(workload::c, distribution::zipfian), 1)) {
        for (const step& one : s) {
            ASSERT_LT(one.record(), 5'000U);
            ++seen[one.record()];
        }
    }
    std::multimap<int, u64> by_heat;
    for (const auto& [record, times] : seen) by_heat.emplace(times, record);
    const auto hottest = by_heat.rbegin();
    EXPECT_GT(hottest->first, 300'000 / 20);  // more than one in twenty: it is skewed
    const u64 distance = hottest->second > std::next(hottest)->second
                             ? hottest->second - std::next(hottest)->second
                             : std::next(hottest)->second - hottest->second;
    EXPECT_GT(distance, 10U);
}

TEST(step, carries_the_greatest_record) {
    const step s(action::scan, most_records - 1);
    EXPECT_EQ(s.what(), action::scan);
    EXPECT_EQ(s.record(), most_records - 1);
}

}  // namespace
}  // namespace hf::bench
