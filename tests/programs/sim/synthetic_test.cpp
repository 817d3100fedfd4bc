// Generators: distributions, scrambling, and the shape of synthetic transactions.
#include "sim/synthetic.hpp"

#include "sim/interleaver.hpp"
#include "sim/shadow_machine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace hf::sim {
namespace {

TEST(zipf, draws_ranks_by_its_law) {
    for (const double theta : {0.5, 0.99, 1.0, 1.5}) {
        constexpr u64 n = 50;
        constexpr int draws = 200'000;
        double sum = 0;
        for (u64 k = 1; k <= n; ++k) sum += std::pow(static_cast<double>(k), -theta);
        std::array<int, n> found{};
        const zipf z(n, theta);
        xoshiro256ss random(7);
        for (int i = 0; i < draws; ++i) ++found.at(z(random));
        for (u64 k = 0; k < n; ++k) {
            const double expected = draws * std::pow(static_cast<double>(k + 1), -theta) / sum;
            EXPECT_NEAR(found.at(k), expected, 6 * std::sqrt(expected) + 1) << theta << ' ' << k;
        }
    }
}

TEST(zipf, of_exponent_zero_is_uniform) {
    const zipf z(4, 0);
    xoshiro256ss random(1);
    std::array<int, 4> found{};
    for (int i = 0; i < 40'000; ++i) ++found.at(z(random));
    for (const int n : found) EXPECT_NEAR(n, 10'000, 500);
}

TEST(scrambled, is_a_bijection) {
    for (const u64 items : {1, 2, 3, 64, 1000, 4097}) {
        std::set<u64> found;
        for (u64 i = 0; i < items; ++i) found.insert(scrambled(i, items));
        EXPECT_EQ(found.size(), items);
        EXPECT_EQ(*found.rbegin(), items - 1);
    }
}

TEST(scrambled, moves_neighbours_apart) {
    u64 near = 0;
    for (u64 i = 0; i + 1 < 1000; ++i) {
        const u64 a = scrambled(i, 100'000);
        const u64 b = scrambled(i + 1, 100'000);
        near += (a > b ? a - b : b - a) < 1000 ? 1 : 0;
    }
    EXPECT_LT(near, 60U);
}

/// Keeps what it is given.
class log_of_calls final : public sink {
   public:
    bool load(unsigned, u64 at, unsigned) override { return loads.push_back(at), true; }
    bool store(unsigned, u64 at, unsigned) override { return stores.push_back(at), true; }
    void begin(unsigned) override { ++begins; }
    void commit(unsigned) override { ++commits; }
    void abort(unsigned) override { ++aborts; }
    std::vector<u64> loads;
    std::vector<u64> stores;
    u64 begins = 0;
    u64 commits = 0;
    u64 aborts = 0;
};

TEST(run_synthetic, makes_as_many_accesses_as_it_is_told) {
    synthetic_options o;
    o.pages = 16;
    o.operations = 3;
    o.stack_pages = 2;
    o.aborts_in_1000 = 500;
    log_of_calls all;
    run_synthetic(o, 1000, 0, all);
    EXPECT_EQ(all.begins, 1000U);
    EXPECT_EQ(all.commits + all.aborts, 1000U);
    EXPECT_NEAR(static_cast<double>(all.aborts), 500, 80);
    EXPECT_EQ(all.loads.size(), 3000U * o.loads);
    EXPECT_EQ(all.stores.size(), 3000U * (o.stores + o.stack_pages));
    for (const u64 at : all.stores) EXPECT_TRUE(!is_persistent(at) || at < 16 * 4096) << at;
}

TEST(interleaver, replays_every_transaction_once_to_its_commit) {
    log_of_calls all;
    interleaver turns(all, 2, 1);
    for (unsigned core = 0; core < 2; ++core) {
        turns.begin(core);
        for (u64 i = 0; i < 5; ++i) turns.store(core, 100 * core + i, 8);
        turns.commit(core);
    }
    turns.run();
    EXPECT_EQ(all.commits, 2U);
    EXPECT_EQ(all.stores, (std::vector<u64>{0, 100, 1, 101, 2, 102, 3, 103, 4, 104}));
    turns.run();
    EXPECT_EQ(all.commits, 2U);
}

TEST(interleaver, a_core_that_meets_another_begins_again_and_commits) {
    shadow_config c;
    c.on.cores = 2;
    shadow_machine<> machine(c, 4);
    interleaver turns(machine, 2, 1);
    for (unsigned core = 0; core < 2; ++core) {
        turns.begin(core);
        turns.store(core, core * 4096, 8);         // each its own line
        turns.store(core, 4096 - core * 4096, 8);  // then the other's
        turns.commit(core);
    }
    turns.run();
    EXPECT_EQ(machine.numbers().transactions, 2U);
    EXPECT_EQ(machine.numbers().aborts, turns.retries());
    EXPECT_GE(turns.retries(), 1U);
    EXPECT_EQ(machine.numbers().flushed(source::data), 4U);
}

}  // namespace
}  // namespace hf::sim
