// Other threads change the tree between any two steps of an operation: after it has loaded a word
// and before it acts on it.
#include "eager_masstree_fixture.hpp"

#include <functional>
#include <thread>

namespace hf::test {
namespace {

/// Set while the tested operation runs; other operations do not stop.
thread_local std::function<void()>* at_step = nullptr;

/// Calls at_step at each of its steps.
class stopping_operation : public eager_operation<persist_batch> {
   public:
    using eager_operation::eager_operation;
    using eager_operation::note_dependency;
    void took_step() {
        eager_operation::took_step();
        stop();
    }
    void arrived() {
        eager_operation::arrived();
        stop();
    }
    void note_dependency(u64 lock_word, const void* p, std::size_t n) {
        eager_operation::note_dependency(lock_word, p, n);
        stop();
    }

   private:
    static void stop() {
        if (at_step != nullptr) (*at_step)();
    }
};
struct stopping_discipline : eager_discipline {
    using operation = stopping_operation;
};
using stopping_tree =
    index_in_memory<eager_masstree<stopping_discipline, integer_keys>, discipline::eager>;

/// Leaves with the ranges 0 to 12, 13 to 25, and 26 on; few of their keys remain.
void fill(stopping_tree& t) {
    for (u64 k = 0; k < 28; ++k) t.insert(k, k);
    for (u64 k = 6; k < 26; ++k) {
        if (k != 20) t.remove(k);
    }
}
const std::vector<u64> filled{0, 1, 2, 3, 4, 5, 20, 26, 27};

using work = std::function<void(stopping_tree&)>;
/// Runs `mine`, and calls `one` and `other` in its steps `first` and `second`, or after it. It
/// holds no lock at these steps.
template <class Mine>
void run_beside(stopping_tree& t, unsigned first, unsigned second, const work& one,
                const work& other, unsigned& steps, Mine&& mine) {
    std::function<void()> stop = [&] {
        const unsigned now = steps++;
        if (now == first) std::thread([&] { one(t); }).join();
        if (now == second) std::thread([&] { other(t); }).join();
    };
    at_step = &stop;
    mine();
    at_step = nullptr;
    if (steps <= first) one(t);
    if (steps <= second) other(t);
}
/// For each pair of steps: prepare(tree), then mine(tree) with both changes, then judge(tree).
template <class Prepare, class Mine, class Judge>
void at_all_steps(const Prepare& prepare, const work& one, const work& other, const Mine& mine,
                  const Judge& judge) {
    for (unsigned first = 0, most = 1; first < most; ++first) {
        for (unsigned second = first; second < most; ++second) {
            SCOPED_TRACE("steps " + std::to_string(first) + " and " + std::to_string(second));
            stopping_tree t(u64{4} << 20);
            prepare(t);
            unsigned steps = 0;
            run_beside(t, first, second, one, other, steps, [&] { mine(t); });
            judge(t);
            ASSERT_FALSE(testing::Test::HasFailure());
            most = std::max(most, std::min(steps, 40U));
        }
    }
}

void nothing(stopping_tree&) {}
std::vector<u64> keys_of(const stopping_tree& t) {
    std::vector<u64> all;
    for (const auto& [k, v] : t.all()) all.push_back(k);
    return all;
}
std::vector<u64> with(std::vector<u64> keys, u64 come, u64 gone) {
    std::erase(keys, gone);
    keys.push_back(come);
    std::sort(keys.begin(), keys.end());
    return keys;
}
void expect_keys(const stopping_tree& t, const std::vector<u64>& wanted) {
    EXPECT_EQ(keys_of(t), wanted);
    std::vector<u64> back;
    for (const auto& [k, v] : t.scan_back(~u64{0}, 100)) back.insert(back.begin(), k);
    EXPECT_EQ(back, wanted);
    for (const u64 k : wanted) EXPECT_TRUE(t.get(k).has_value()) << k;
    t.expect_sound();
}
void empty_second_leaf(stopping_tree& t) { EXPECT_TRUE(t.remove(20)); }

TEST(eager_masstree_steps, insert_reaches_the_leaf_that_took_over_the_range) {
    for (const u64 k : {15, 22, 25}) {
        at_all_steps(
            fill, empty_second_leaf, nothing, [&](auto& t) { EXPECT_TRUE(t.insert(k, k)); },
            [&](auto& t) { expect_keys(t, with(filled, k, 20)); });
    }
}

// A batch of one entry, because a batch keeps its locks.
TEST(eager_masstree_steps, batch_reaches_the_leaf_that_took_over_the_range) {
    at_all_steps(
        fill, empty_second_leaf, nothing,
        [&](auto& t) { EXPECT_EQ(t.insert_many({{15, 15}}), 1U); },
        [&](auto& t) { expect_keys(t, with(filled, 15, 20)); });
}

// The leaf is split while a writer is above it, and the new leaf is unlinked while the writer moves
// to it.
TEST(eager_masstree_steps, reader_never_combines_a_bound_with_an_older_link) {
    const auto prepare = [](auto& t) {
        for (u64 k = 0; k < 28; ++k) t.insert(k, k);
        for (u64 k = 12; k < 26; ++k) t.remove(k);
        t.insert(13, 13);  // the first leaf has 13 keys, and a range up to 25
    };
    const auto split = [](auto& t) {
        EXPECT_TRUE(t.insert(12, 12));
        EXPECT_TRUE(t.insert(14, 14));
    };
    const auto unlink = [](auto& t) {
        for (u64 k = 7; k < 15; ++k) t.remove(k);
    };
    at_all_steps(
        prepare, split, unlink, [&](auto& t) { EXPECT_TRUE(t.insert(20, 20)); },
        [&](auto& t) { expect_keys(t, {0, 1, 2, 3, 4, 5, 6, 20, 26, 27}); });
}

constexpr auto come_again = [](auto& t) {
    EXPECT_TRUE(t.remove(20));
    EXPECT_TRUE(t.insert(20, 20));
};

TEST(eager_masstree_steps, backward_scan_visits_a_reinserted_key_once) {
    at_all_steps(
        fill, come_again, come_again,
        [&](auto& t) {
            const auto found = t.scan_back(30, 100);
            for (std::size_t i = 1; i < found.size(); ++i) {
                EXPECT_LT(found[i].first, found[i - 1].first);
            }
            std::vector<u64> stay;
            for (const auto& [k, v] : found) {
                if (k != 20) stay.push_back(k);
            }
            EXPECT_EQ(stay, (std::vector<u64>{27, 26, 5, 4, 3, 2, 1, 0}));
        },
        [&](auto& t) { expect_keys(t, filled); });
}

TEST(eager_masstree_steps, scan_visits_a_reinserted_key_once) {
    at_all_steps(
        fill, come_again, come_again,
        [&](auto& t) {
            const auto found = t.scan(0, 100);
            std::vector<u64> stay;
            for (std::size_t i = 0; i < found.size(); ++i) {
                if (i != 0) {
                    EXPECT_LT(found[i - 1].first, found[i].first);
                }
                if (found[i].first != 20) stay.push_back(found[i].first);
            }
            EXPECT_EQ(stay, (std::vector<u64>{0, 1, 2, 3, 4, 5, 26, 27}));
        },
        [&](auto& t) { expect_keys(t, filled); });
}

TEST(eager_masstree_steps, get_finds_a_reinserted_key) {
    const auto reinsert_with_another = [](auto& t) {
        EXPECT_TRUE(t.insert(15, 15));
        EXPECT_TRUE(t.remove(20));
        EXPECT_TRUE(t.remove(15));
        EXPECT_TRUE(t.insert(20, 20));
    };
    at_all_steps(
        fill, reinsert_with_another, nothing,
        [&](auto& t) {
            EXPECT_EQ(t.get(5), 5U);
            EXPECT_EQ(t.get(26), 26U);
            const auto v = t.get(20);
            EXPECT_TRUE(!v || *v == 20);
            EXPECT_EQ(t.get(21), std::nullopt);
        },
        [&](auto& t) { expect_keys(t, filled); });
}

}  // namespace
}  // namespace hf::test
