#include "base/random.hpp"
#include "engines.hpp"
#include "region_of_words.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

class threads_of : public on_tmpfs, public ::testing::WithParamInterface<engine_kind> {
   protected:
    static constexpr unsigned threads = 4;

    void SetUp() override {
        region_of_words::how h;
        h.engine = GetParam();
        h.epoch = std::chrono::milliseconds(2);
        r = std::make_unique<region_of_words>(file, h);
    }
    template <class F>
    void in_threads(F&& f) {
        std::vector<std::thread> all;
        for (unsigned i = 0; i < threads; ++i) all.emplace_back([&f, i] { f(i); });
        for (std::thread& t : all) t.join();
    }
    std::unique_ptr<region_of_words> r;
};

TEST_P(threads_of, a_counter_counts_each) {
    in_threads([&](unsigned) {
        for (int i = 0; i < 3'000; ++i) {
            must(r->all().atomic(
                [&](transaction& t) { t.store(r->word(0), t.load(r->word(0)) + 1); }));
        }
    });
    EXPECT_EQ(r->now(0), 3'000U * threads);
}

// Money moves between accounts. A thread that adds them up, in any order, gets the same sum at each
// moment, also in attempts that will not commit (opacity).
TEST_P(threads_of, sums_are_the_same_at_each_moment) {
    constexpr u64 accounts = 16;
    constexpr u64 apart = 8;  // words: a line each
    constexpr u64 all_money = accounts * 1'000;
    must(r->all().atomic([&](transaction& t) {
        for (u64 i = 0; i < accounts; ++i) t.store(r->word(i * apart), 1'000);
    }));
    std::atomic<u64> wrong{0};
    const auto sum = [&](transaction& t, u64 from) {
        u64 found = 0;
        for (u64 i = 0; i < accounts; ++i) found += t.load(r->word((from + i) % accounts * apart));
        if (found != all_money) ++wrong;
    };
    in_threads([&](unsigned n) {
        splitmix64 random(n);
        for (int i = 0; i < 8'000; ++i) {
            const u64 from = random() % accounts;
            const u64 to = random() % accounts;
            if (n == 0 || i % 8 == 7) {
                must(r->all().read([&](transaction& t) { sum(t, from); }));
                continue;
            }
            must(r->all().atomic([&](transaction& t) {
                if (i % 16 == 0) sum(t, to);
                t.store(r->word(from * apart), t.load(r->word(from * apart)) - 1);
                t.store(r->word(to * apart), t.load(r->word(to * apart)) + 1);
            }));
        }
    });
    EXPECT_EQ(wrong, 0U);
    must(r->all().read([&](transaction& t) { sum(t, 0); }));
    EXPECT_EQ(wrong, 0U);
}

// Blocks wander through slots: each holds its own address in all of its words, and is owned once.
TEST_P(threads_of, blocks_are_whole_and_nobody_elses) {
    constexpr u64 slots = 32;
    constexpr u64 block_words = 12;
    std::atomic<u64> wrong{0};
    in_threads([&](unsigned n) {
        splitmix64 random(100 + n);
        for (int i = 0; i < 5'000; ++i) {
            const u64 slot = random() % slots;
            must(r->all().atomic([&](transaction& t) {
                const u64 old = t.load(r->word(slot));
                if (old != 0) {
                    auto* p = reinterpret_cast<u64*>(t.base() + old);
                    for (u64 w = 0; w < block_words; ++w) {
                        if (t.load(p + w) != old) ++wrong;
                    }
                    t.release(p, 8 * block_words);
                    t.store(r->word(slot), 0);
                    if (random() % 4 == 0) return;
                }
                auto* p = reinterpret_cast<u64*>(t.allocate(8 * block_words));
                const auto offset = static_cast<u64>(reinterpret_cast<std::byte*>(p) - t.base());
                for (u64 w = 0; w < block_words; ++w) t.store(p + w, offset);
                t.store(r->word(slot), offset);
            }));
        }
    });
    EXPECT_EQ(wrong, 0U);
}

INSTANTIATE_TEST_SUITE_P(engines, threads_of, every_engine(), engine_name);

}  // namespace
}  // namespace hf::test
