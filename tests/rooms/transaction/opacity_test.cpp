// Histories of many threads' transactions are opaque: opacity.hpp. And the judge notices what is
// not.
#include "opacity.hpp"

#include "base/random.hpp"
#include "engines.hpp"
#include "region_of_words.hpp"
#include "support/effort.hpp"

#include <atomic>
#include <thread>

namespace hf::test {
namespace {

std::string judged(const std::vector<attempt_seen>& all) { return opacity_judge(all).judge(); }

TEST(opacity_judge, has_nothing_against_one_behind_the_other) {
    EXPECT_EQ(judged({{1, 2, true, {{0, 0}}, {{0, 7}}}, {3, 4, true, {{0, 7}}, {{0, 8}}}}), "");
}
TEST(opacity_judge, lets_those_beside_each_other_be_in_any_order) {
    EXPECT_EQ(judged({{1, 9, true, {{0, 7}}, {}}, {2, 8, true, {{0, 0}}, {{0, 7}}}}), "");
}
TEST(opacity_judge, sees_a_lost_update) {
    EXPECT_NE(judged({{1, 4, true, {{0, 0}}, {{0, 7}}}, {2, 3, true, {{0, 0}}, {{0, 8}}}}), "");
}
TEST(opacity_judge, sees_what_was_read_of_an_aborted_writer) {
    EXPECT_NE(judged({{1, 4, false, {{0, 0}}, {{0, 7}}}, {2, 3, true, {{0, 7}}, {}}}), "");
}
TEST(opacity_judge, sees_a_write_skew) {
    EXPECT_NE(judged({{1, 4, true, {{0, 0}, {1, 0}}, {{0, 7}}},
                      {2, 3, true, {{0, 0}, {1, 0}}, {{1, 8}}}}),
              "");
}
TEST(opacity_judge, sees_two_moments_in_one_attempt_even_if_it_aborts) {
    EXPECT_NE(judged({{1, 9, false, {{0, 0}, {1, 8}}, {}},
                      {2, 3, true, {{0, 0}, {1, 0}}, {{0, 7}, {1, 8}}}}),
              "");
}
TEST(opacity_judge, sees_a_read_of_the_past) {
    EXPECT_NE(judged({{1, 2, true, {{0, 0}}, {{0, 7}}}, {3, 4, true, {{0, 0}}, {}}}), "");
}

class opacity : public on_tmpfs, public ::testing::WithParamInterface<engine_kind> {
   protected:
    static constexpr u64 words = 6;  // some share a line, some do not
    static constexpr u64 apart = 5;

    void SetUp() override {
        region_of_words::how h;
        h.engine = GetParam();
        h.epoch = std::chrono::milliseconds(1);
        r = std::make_unique<region_of_words>(file, h);
    }

    /// One attempt's work; what it saw is kept, however it ends.
    void work(transaction& t, splitmix64& random, attempt_seen& a, bool writes) {
        const u64 n = 1 + random() % words;
        for (u64 i = 0; i < n; ++i) {
            if (random() % 4 == 0) std::this_thread::yield();
            const u64 w = random() % words;
            const auto is_w = [&](const auto& x) { return x.word == w; };
            const u64 found = t.load(r->word(w * apart));
            const auto mine = std::find_if(a.writes.begin(), a.writes.end(), is_w);
            if (mine != a.writes.end()) {
                EXPECT_EQ(found, mine->value) << "it does not read what it wrote";
            } else {
                a.reads.push_back({w, found});
                if (!writes || random() % 2 == 0) continue;
                a.writes.push_back({w, ++values});
                t.store(r->word(w * apart), a.writes.back().value);
            }
        }
        if (writes && random() % 16 == 0) transaction::abort();
    }
    void run(unsigned me, u64 seed, unsigned transactions, std::vector<attempt_seen>& seen) {
        splitmix64 random(seed + me);
        for (unsigned i = 0; i < transactions; ++i) {
            const bool writes = random() % 3 != 0;
            const auto body = [&](transaction& t) {
                if (!seen.empty() && seen.back().end == 0) seen.back().end = ++clock;
                seen.push_back({++clock});
                work(t, random, seen.back(), writes);
            };
            auto done = writes ? r->all().atomic(body) : r->all().read(body);
            seen.back().end = ++clock;
            seen.back().committed = done.has_value();
            EXPECT_TRUE(done || done.error().code == errc::aborted) << done.error().to_string();
        }
    }

    std::unique_ptr<region_of_words> r;
    std::atomic<u64> clock{0};
    std::atomic<u64> values{0};
};

TEST_P(opacity, of_what_threads_see_of_each_other) {
    constexpr unsigned threads = 3;
    constexpr u64 seed = 17;
    std::array<std::vector<attempt_seen>, threads> seen;
    std::vector<std::thread> all;
    for (unsigned me = 0; me < threads; ++me) {
        all.emplace_back(
            [&, me] { run(me, seed, static_cast<unsigned>(scaled(2'000)), seen.at(me)); });
    }
    for (std::thread& t : all) t.join();
    std::vector<attempt_seen> history;
    for (auto& s : seen) history.insert(history.end(), s.begin(), s.end());
    EXPECT_EQ(judged(history), "") << "seed " << seed << ", " << history.size() << " attempts";
    const auto aborted =
        std::count_if(history.begin(), history.end(), [](const auto& a) { return !a.committed; });
    EXPECT_GT(aborted, 0) << "nobody met anybody";
}

INSTANTIATE_TEST_SUITE_P(, opacity, every_engine(), engine_name);

}  // namespace
}  // namespace hf::test
