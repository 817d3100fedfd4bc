#include "base/random.hpp"
#include "clht_fixture.hpp"

#include <atomic>
#include <thread>

namespace hf::test {
namespace {

class clht_threads : public on_tmpfs {};

template <class Work>
void run_threads(unsigned n, const Work& work) {
    std::vector<std::thread> all;
    for (unsigned t = 0; t < n; ++t) all.emplace_back([&work, t] { work(t); });
    for (std::thread& t : all) t.join();
}

TEST_F(clht_threads, insert_beside_each_other_while_it_grows) {
    integer_clht t(file);
    constexpr u64 each = 4000;
    run_threads(3, [&](unsigned me) {
        for (u64 i = 0; i < each; ++i) ASSERT_TRUE(t.insert(i * 3 + me, i));
        for (u64 i = 0; i < each; ++i) ASSERT_EQ(t.get(i * 3 + me), i);
    });
    EXPECT_EQ(t.audit(), "");
    u64 count = 0;
    t.table->for_each(*t.space, [&](u64 k, u64 v) {
        ++count;
        EXPECT_EQ(k / 3, v);
    });
    EXPECT_EQ(count, 3 * each);
}

TEST_F(clht_threads, of_several_inserters_of_a_key_one_wins) {
    integer_clht t(file);
    std::atomic<u64> won{0};
    constexpr u64 keys = 3000;
    run_threads(3, [&](unsigned me) {
        for (u64 k = 0; k < keys; ++k) {
            if (t.insert(k, me)) ++won;
        }
    });
    EXPECT_EQ(won, keys);
}

// A value says which key it belongs to: whoever finds another's has mixed slots up.
TEST_F(clht_threads, readers_never_find_the_value_of_another_key) {
    integer_clht t(file);
    std::atomic<bool> over{false};
    constexpr u64 keys = 200;
    const auto value_of = [](u64 k, u64 n) { return k << 32 | n; };
    std::thread reader([&] {
        splitmix64 random(1);
        while (!over) {
            const u64 k = random() % keys;
            const auto v = t.get(k);
            ASSERT_EQ(v.value_or(value_of(k, 0)) >> 32, k);
        }
    });
    run_threads(2, [&](unsigned me) {
        splitmix64 random(me + 2);
        for (u64 i = 0; i < 15'000; ++i) {
            const u64 k = random() % keys;
            if (random() % 2 == 0) {
                t.upsert(k, value_of(k, i));
            } else {
                t.remove(k);
            }
        }
    });
    over = true;
    reader.join();
    EXPECT_EQ(t.audit(), "");
}

TEST_F(clht_threads, a_sweep_beside_writers_frees_nothing_that_is_in_use) {
    byte_clht t(file);
    const auto name = [](u64 k) { return "key" + std::to_string(k); };
    constexpr u64 keys = 600;
    for (u64 k = 0; k < keys; ++k) t.insert(name(k), std::string(100, 'o'));
    for (int round = 0; round < 3; ++round) {
        t.open_again(false, sweeping::in_background);
        run_threads(2, [&](unsigned me) {
            splitmix64 random(me + 10);
            for (u64 i = 0; i < 1500; ++i) {
                const u64 k = random() % keys;
                if (random() % 3 == 0) {
                    t.remove(name(k));
                } else {
                    t.upsert(name(k), name(k) + std::string(random() % 200, 'n'));
                }
                const std::string other = name(random() % keys);
                if (const auto v = t.get(other)) {
                    ASSERT_TRUE(v->starts_with(other) || *v == std::string(100, 'o')) << *v;
                }
            }
        });
        must(t.space->wait_for_sweep());
        EXPECT_EQ(t.audit(), "");
    }
}

}  // namespace
}  // namespace hf::test
