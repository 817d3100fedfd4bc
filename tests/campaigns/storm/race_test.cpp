// Races, step by step: a thread is stopped at a persist point while another one works. And one at
// full speed.
#include "storm/crash_fixture.hpp"
#include "support/effort.hpp"
#include "support/sync_points.hpp"

#include <thread>

namespace hf::test {
namespace {

class race : public crashing_map_of_a_kind {
   protected:
    void SetUp() override {
        crashing_map_of_a_kind::SetUp();
        if (!sync_points::exist) GTEST_SKIP() << "this build has no persist points";
    }
    /// Long enough for a thread that is not blocked to finish.
    static void let_others_run() {
        for (unsigned i = 0; i < 200; ++i) {
            std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    }
};

TEST_P(race, who_comes_to_a_leaf_that_is_being_rolled_back_waits_until_it_is) {
    open({.first_epoch = wrap() - 536});
    for (unsigned i = 0; i < 8; ++i) put("key " + std::to_string(i), "kept");
    do end_epoch();
    while (m().epoch() != wrap() - 1);
    put("key 0", "lost");
    put("key 7", "lost");
    crash(evicted::everything);
    sync_points points;
    // The upper bits of the leaf's epochs have changed.
    const std::string point = GetParam() ? "masstree U3" : "masstree U1";
    points.hold(point);
    open();  // its background pass reaches the leaf
    points.await(point);
    std::atomic<unsigned> done{0};
    std::thread writer([&] {
        put("key 8", "new");
        ++done;
    });
    std::thread reader([&] {
        std::string found;
        EXPECT_TRUE(must(m()->get("key 0", found)));
        EXPECT_EQ(found, "kept");
        ++done;
    });
    let_others_run();
    EXPECT_EQ(done, 0U);
    points.release(point);
    writer.join();
    reader.join();
    expect_contents(m(), "after both");
    end_epoch();
    crash(evicted::nothing);
    expect_kept("after a crash");
}

TEST_P(race, a_large_value_that_is_filled_over_boundaries_is_there_from_its_put_on) {
    open({});
    put("other", "x");
    end_epoch();
    const std::string large(300'000, 'L');
    u64 large_epoch = 0;
    sync_points points;
    points.hold("store V1");
    std::thread writer([&] { large_epoch = must(m()->put("large", large)).written_in; });
    points.await("store V1");
    // Its space must not be allocated again meanwhile.
    for (unsigned i = 0; i < 30; ++i) {
        put("another " + std::to_string(i % 5), std::string(280'000 + i * 1000, 'a'));
        end_epoch();
    }
    std::string found;
    EXPECT_FALSE(must(m()->get("large", found)));
    points.release("store V1");
    writer.join();
    note(large_epoch, "large", large);
    end_epoch();
    expect_contents(m(), "all there");
    crash(evicted::nothing);
    expect_kept("after a crash");
}

TEST_P(race, a_crash_while_a_large_value_is_filled_leaks_nothing) {
    open({});
    put("other", "x");
    end_epoch();
    {
        sync_points points;
        points.hold("store V1");
        std::thread writer([&] { must(m()->put("large", std::string(300'000, 'L'))); });
        points.await("store V1");
        for (unsigned i = 0; i < 3; ++i) end_epoch();
        shadow().cut(file);
        points.release("store V1");
        writer.join();
    }
    crash(evicted::nothing);
    expect_kept("after a crash");
}

TEST_P(race, readers_of_a_leaf_that_is_about_to_split_see_all_of_it) {
    open({});
    for (unsigned i = 10; i < 24; ++i) put("key " + std::to_string(i), "v" + std::to_string(i));
    end_epoch();
    sync_points points;
    points.hold("undo L1");  // the leaf is locked, and was just logged
    std::thread writer([&] { put("key 165", "new"); });
    points.await("undo L1");
    {
        contents found_now;
        must(m()->scan("", [&](std::string_view k, std::string_view v) {
            found_now.emplace(k, v);
            return true;
        }));
        EXPECT_EQ(found_now.size(), 14U);
    }
    std::string found;
    EXPECT_TRUE(must(m()->get("key 23", found)));
    EXPECT_EQ(found, "v23");
    points.release("undo L1");
    writer.join();
    expect_contents(m(), "after the split");
    crash(evicted::everything);
    expect_kept("after a crash");
}

TEST_P(race, nobody_enters_an_epoch_before_the_last_one_is_counted) {
    open({});
    put("one", "1");
    end_epoch();
    put("one", "2");
    sync_points points;
    points.hold("epoch E1");  // everything is durable except the epoch record
    std::thread boundary([&] { m().end_epoch(); });
    points.await("epoch E1");
    std::atomic<bool> entered{false};
    std::thread writer([&] {
        must(m()->put("two", "2"));
        entered = true;
    });
    let_others_run();
    EXPECT_FALSE(entered);
    EXPECT_LT(m()->durable_epoch(), m()->current_epoch());
    shadow().cut(file);  // the epoch has failed
    points.release("epoch E1");
    boundary.join();
    writer.join();
    crash(evicted::nothing);
    expect_kept("cut before the epoch was counted");
}

TEST_P(race, an_epoch_is_announced_only_after_it_is_counted) {
    open({});
    put("one", "1");
    sync_points points;
    points.hold("epoch E2");
    const u64 ending = m().epoch();
    std::thread boundary([&] { m().end_epoch(); });
    points.await("epoch E2");
    EXPECT_LT(m()->durable_epoch(), ending);
    shadow().cut(file);
    points.release("epoch E2");
    boundary.join();
    crash(evicted::nothing);
    expect_kept("cut after the epoch was counted");
}

TEST_F(crashing_map, an_extent_that_is_being_read_is_not_reused_when_its_neighbours_are) {
    open({});
    constexpr unsigned keys = 6;
    std::atomic<bool> stop{false};
    const auto write = [&](unsigned k, u64 n) {
        const std::size_t size = 66'000 + n * 7919 % 150'000;
        must(m()->put("large " + std::to_string(k), std::string(size, static_cast<char>(n))));
    };
    for (unsigned k = 0; k < keys; ++k) write(k, k);
    std::vector<std::thread> readers;
    for (unsigned t = 0; t < 2; ++t) {
        readers.emplace_back([&, t] {
            std::string out;
            for (unsigned i = t; !stop; ++i) {
                if (!must(m()->get("large " + std::to_string(i % keys), out))) continue;
                EXPECT_EQ(out.find_first_not_of(out[0]), std::string::npos)
                    << "a value that was overwritten while it was read";
            }
        });
    }
    std::thread boundaries([&] {
        while (!stop) m().end_epoch();
    });
    const unsigned writes = scaled(3000);
    for (u64 n = 0; n < writes && !HasFailure(); ++n) write(static_cast<unsigned>(n % keys), n);
    stop = true;
    for (auto& r : readers) r.join();
    boundaries.join();
    for (unsigned k = 0; k < keys; ++k) {
        std::string out;
        if (must(m()->get("large " + std::to_string(k), out))) {
            note(0, "large " + std::to_string(k), out);
        }
    }
    end_epoch();
    crash(evicted::nothing);
    expect_kept("after all");
}

INSTANTIATE_TEST_SUITE_P(with, race, ::testing::Bool(), name_of_kind);

}  // namespace
}  // namespace hf::test
