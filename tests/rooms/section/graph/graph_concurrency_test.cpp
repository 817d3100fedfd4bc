// Threads run sections while the manager keeps them; crashes are taken from the living file.
#include "base/random.hpp"
#include "section/graph/graph.hpp"
#include "support/effort.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

namespace hf::test {
namespace {

using graph::access;
using graph::graph_mode;

constexpr u64 accounts = 8;
constexpr u64 at_first = 1000;

class graph_mode_with_threads : public on_tmpfs {
   protected:
    void SetUp() override {
        region_ = must(region::open(file, {}));
        must(region_->grow(segment_kind::heap, 1, 0));
        for (u64 i = 0; i < accounts; ++i) *account(*region_, i) = at_first;
        graph::graph_options o;
        o.log_bytes = layout::page_size;
        o.period = std::chrono::microseconds(200);
        mode_ = must(graph_mode::open(*region_, o));
    }
    static u64* account(region& r, u64 i) { return r.at<u64>(layout::page_size + i * 24); }

    /// Moves an amount between two accounts. The first lock is released before the second store, as
    /// two-phase locking allows, so that other sections depend on this one while it is open.
    void transfer(graph::lane_state& l, u64 from, u64 to, u64 amount) {
        const u64 first = std::min(from, to);
        const u64 second = std::max(from, to);
        mode_->begin(l);
        for (const u64 i : {first, second}) {
            locks_[i].lock();
            mode_->acquired(l, &locks_[i], access::exclusive);
        }
        add(l, first, first == from ? u64{0} - amount : amount);
        release(l, first);
        add(l, second, second == from ? u64{0} - amount : amount);
        release(l, second);
        mode_->end(l);
    }
    void release(graph::lane_state& l, u64 i) {
        mode_->releasing(l, &locks_[i], access::exclusive);
        locks_[i].unlock();
    }
    void add(graph::lane_state& l, u64 i, u64 amount) {
        mode_->before_store(l, account(*region_, i), 8);
        std::atomic_ref<u64> word(*account(*region_, i));
        word.store(word.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }

    std::unique_ptr<region> region_;
    std::unique_ptr<graph_mode> mode_;
    std::array<std::mutex, accounts> locks_;
};

TEST_F(graph_mode_with_threads, keeps_the_sum_of_accounts_in_a_bounded_log) {
    constexpr unsigned threads = 3;
    const u64 rounds = effort<u64>(20'000, 2'000);
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            auto& l = *must(mode_->attach(t + 1));
            xoshiro256ss random(t + 1);
            for (u64 n = 0; n < rounds; ++n) {
                const u64 from = random.below(accounts);
                transfer(l, from, (from + 1 + random.below(accounts - 1)) % accounts, 1);
            }
            EXPECT_TRUE(mode_->wait_stable(l, std::chrono::seconds(10)));
        });
    }
    for (std::thread& t : all) t.join();
    EXPECT_EQ(mode_->stats().kept, threads * rounds);
    mode_.reset();
    EXPECT_EQ(must(graph::recover(*region_)).sections_undone, 0U);
    u64 sum = 0;
    for (u64 i = 0; i < accounts; ++i) sum += *account(*region_, i);
    EXPECT_EQ(sum, accounts * at_first);
}

}  // namespace
}  // namespace hf::test
