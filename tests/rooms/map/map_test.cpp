// The public map: the guarantees of include/holdfast/map.hpp.
#include <holdfast/map.hpp>

#include "base/random.hpp"
#include "region/layout.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <stdexcept>
#include <thread>
#include <tuple>

namespace hf {
namespace {

using test::must;

class map_test : public test::on_tmpfs {
   protected:
    [[nodiscard]] map open(open_mode mode = open_mode::open_or_create) {
        map_options o;
        o.region.mode = mode;
        o.region.initial_size = u64{16} << 20;
        return must(map::open(file, o));
    }
    /// Leaves a map as after a crash: its process is killed.
    template <class F>
    void in_a_process_that_is_killed(F work) {
        const int ended = test::in_child([&] {
            map m = open();
            work(m);
            ::raise(SIGKILL);
            return 0;
        });
        ASSERT_EQ(ended, 1000 + SIGKILL);
    }
    static std::string bytes(std::size_t n, u64 seed) {
        std::string s(n, '\0');
        xoshiro256ss r(seed);
        for (char& c : s) c = static_cast<char>(r());
        return s;
    }
};

TEST_F(map_test, values_of_every_size_survive_clean_closes) {
    const std::size_t sizes[] = {0,      1,      8,      15,     100,       4000,
                                 65'000, 65'500, 65'536, 70'000, 1'000'000, 9'000'000};
    {
        map m = open();
        for (std::size_t s : sizes) must(m.put("key " + std::to_string(s), bytes(s, s)));
        must(m.close());
    }
    map m = open();
    for (std::size_t s : sizes) {
        std::string got;
        ASSERT_TRUE(must(m.get("key " + std::to_string(s), got)));
        ASSERT_EQ(got, bytes(s, s));
    }
    // The space of replaced and removed large values is reused.
    const auto size = m.stats().region_bytes;
    const std::string big = bytes(3'000'000, 1);
    for (int i = 0; i < 200; ++i) {
        must(m.put("big", big));
        must(m.sync());
    }
    EXPECT_LE(m.stats().region_bytes, size + (u64{128} << 20));
}

/// Only a lack of space ends an epoch and retries the write.
TEST_F(map_test, write_refused_for_its_size_ends_no_epoch) {
    map_options o;
    o.region.initial_size = u64{16} << 20;
    o.epoch = std::chrono::microseconds(0);
    map m = must(map::open(file, o));
    must(m.put("k", "v"));
    const ticket before = m.current_epoch();
    const auto replace = [](auto /*old*/, std::string& fresh) {
        fresh.assign(100'000, 'x');
        return map::edit::replace;
    };
    EXPECT_EQ(m.modify("k", replace).error().code, errc::too_large);
    EXPECT_EQ(m.put(std::string(max_key_size + 1, 'k'), "v").error().code, errc::too_large);
    EXPECT_EQ(m.put("k", std::string(max_value_size + 1, 'v')).error().code, errc::too_large);
    EXPECT_EQ(m.current_epoch(), before);
}

TEST_F(map_test, value_of_64_mib_is_accepted_and_a_larger_one_refused) {
    map m = open();
    const std::string largest = bytes(max_value_size, 3);
    must(m.put("k", largest));
    std::string got;
    ASSERT_TRUE(must(m.get("k", got)));
    EXPECT_TRUE(got == largest);
    const auto refused = m.put("k", largest + "x");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::too_large);
    EXPECT_EQ(m.put(std::string(max_key_size + 1, 'k'), "v").error().code, errc::too_large);
    must(m.put(std::string(max_key_size, 'k'), "v"));
}

TEST_F(map_test, a_child_of_fork_changes_nothing_of_its_parents_map) {
    map m = open();
    must(m.put("k", "parent"));
    std::string value;
    EXPECT_DEATH((void)m.put("k", "child"), "holdfast: fatal: .*child of fork");
    EXPECT_DEATH((void)m.get("k", value), "child of fork");
    EXPECT_EQ(test::in_child([&] {
                  const auto waited = m.sync();
                  const auto closed = m.close();
                  return waited || closed ? 1 : 0;
              }),
              0);
    EXPECT_TRUE(must(m.get("k", value)));
    EXPECT_EQ(value, "parent");
    must(m.close());
}

TEST_F(map_test, scans_deliver_small_and_large_values_in_order_both_ways) {
    map m = open();
    std::vector<std::pair<std::string, std::string>> all;
    for (int i = 0; i < 400; ++i) {
        const std::string key = "key" + std::to_string(1000 + i);
        all.emplace_back(
            key, bytes(i % 50 == 7 ? 200'000 : static_cast<std::size_t>(i), static_cast<u64>(i)));
        must(m.put(key, all.back().second));
    }
    std::vector<std::pair<std::string, std::string>> seen;
    const auto collect = [&](std::string_view k, std::string_view v) {
        seen.emplace_back(k, v);
        return true;
    };
    EXPECT_EQ(must(m.scan("", collect)), all.size());
    EXPECT_TRUE(seen == all);
    seen.clear();
    must(m.scan("key1007", collect, true));
    ASSERT_EQ(seen.size(), 392U);
    EXPECT_EQ(seen.front().first, "key1008");
    seen.clear();
    must(m.scan_backward("key1009", collect));
    ASSERT_EQ(seen.size(), 10U);
    EXPECT_EQ(seen.front().first, "key1009");
    EXPECT_EQ(seen.back().first, "key1000");
    unsigned n = 0;
    must(m.scan("", [&](auto, auto) { return ++n < 3; }));
    EXPECT_EQ(n, 3U);
    // A visitor may call the map.
    must(m.scan("", [&](std::string_view k, auto) {
        must(m.remove(k));
        return true;
    }));
    EXPECT_EQ(must(m.scan("", [](auto, auto) { return true; })), 0U);
}

TEST_F(map_test, conditions_and_changes_receive_the_old_value) {
    map m = open();
    const auto absent = [](std::optional<std::string_view> old) { return !old.has_value(); };
    EXPECT_TRUE(must(m.put_if("k", "1", absent)).changed);
    EXPECT_FALSE(must(m.put_if("k", "2", absent)).changed);
    EXPECT_FALSE(must(m.put_if("big", bytes(500'000, 1), [](auto) { return false; })).changed);
    EXPECT_FALSE(must(m.remove_if("k", [](std::string_view v) { return v == "2"; })).changed);
    const auto out =
        must(m.modify("k", [](std::optional<std::string_view> old, std::string& fresh) {
            fresh = std::string(*old) + "+";
            return map::edit::replace;
        }));
    EXPECT_TRUE(out.changed && out.existed);
    std::string got;
    ASSERT_TRUE(must(m.get("k", got)));
    EXPECT_EQ(got, "1+");
}

TEST_F(map_test, throwing_callback_changes_nothing_and_releases_locks) {
    map m = open();
    must(m.put("k", "v"));
    const auto used = m.stats().allocated_bytes;
    for (const std::size_t size : {std::size_t{10}, std::size_t{300'000}}) {
        EXPECT_THROW((void)m.put_if("k", bytes(size, 1),
                                    [](auto) -> bool { throw std::runtime_error("no"); }),
                     std::runtime_error);
    }
    EXPECT_THROW((void)m.remove_if("k", [](auto) -> bool { throw std::runtime_error("no"); }),
                 std::runtime_error);
    EXPECT_THROW(
        (void)m.modify("k", [](auto, auto&) -> map::edit { throw std::runtime_error("no"); }),
        std::runtime_error);
    must(m.put("k", "w"));
    must(m.sync());
    EXPECT_EQ(m.stats().allocated_bytes, used);
}

// The extent of the refused value is freed, otherwise a region of 16 MiB would become full.
TEST_F(map_test, refused_large_values_take_no_space) {
    map_options o;
    o.region.initial_size = o.region.max_size = u64{16} << 20;
    map m = must(map::open(file, o));
    const std::string large = bytes(u64{1} << 20, 1);
    for (unsigned i = 0; i < 50; ++i) {
        const auto refused = must(m.put_if("k", large, [](const auto&) { return false; }));
        EXPECT_FALSE(refused.changed);
        EXPECT_THROW(std::ignore = m.put_if(
                         "k", large, [](const auto&) -> bool { throw std::runtime_error("no"); }),
                     std::runtime_error);
        must(m.sync());
    }
    must(m.put("k", large));
    std::string got;
    ASSERT_TRUE(must(m.get("k", got)));
    EXPECT_TRUE(got == large);
}

TEST_F(map_test, kill_keeps_synced_epochs_and_drops_the_rest_as_a_whole) {
    in_a_process_that_is_killed([](map& m) {
        for (int i = 0; i < 2000; ++i) {
            must(m.put("durable " + std::to_string(i), bytes(50, static_cast<u64>(i))));
        }
        must(m.put("big", bytes(2'000'000, 9)));
        must(m.wait_durable(must(m.put("last", "one")).written_in));
    });
    for (int crashes = 0; crashes < 5; ++crashes) {
        {
            map m = open();
            EXPECT_TRUE(m.stats().recovered);
            std::string got;
            for (int i = 0; i < 2000; ++i) {
                ASSERT_TRUE(must(m.get("durable " + std::to_string(i), got)));
                ASSERT_EQ(got, bytes(50, static_cast<u64>(i)));
            }
            ASSERT_TRUE(must(m.get("big", got)));
            ASSERT_EQ(got, bytes(2'000'000, 9));
            must(m.close());
        }
        in_a_process_that_is_killed([](map& again) {
            for (int i = 0; i < 300; ++i) {
                must(again.put("durable " + std::to_string(i), bytes(50, static_cast<u64>(i))));
            }
        });
    }
}

TEST_F(map_test, inspection_reads_a_crashed_region_and_changes_nothing) {
    in_a_process_that_is_killed([](map& m) {
        for (int i = 0; i < 1000; ++i) must(m.put("k" + std::to_string(i), "v"));
        must(m.sync());
        for (int i = 0; i < 1000; ++i) must(m.put("k" + std::to_string(i), "lost"));
    });
    const auto before = test::fingerprint_of(file);
    {
        map m = open(open_mode::inspect);
        std::string got;
        ASSERT_TRUE(must(m.get("k5", got)));
        EXPECT_EQ(m.put("k", "v").error().code, errc::denied);
        EXPECT_EQ(m.remove("k5").error().code, errc::denied);
        EXPECT_EQ(m.modify("k5", [](auto, auto&) { return map::edit::remove; }).error().code,
                  errc::denied);
        unsigned n = 0;
        must(m.scan("", [&](auto, auto) { return ++n > 0; }));
        EXPECT_EQ(n, 1000U);
    }
    EXPECT_EQ(test::fingerprint_of(file), before);
}

TEST_F(map_test, full_region_refuses_writes_and_keeps_serving_reads) {
    map_options o;
    o.region.initial_size = u64{16} << 20;
    o.region.max_size = u64{24} << 20;
    map m = must(map::open(file, o));
    std::size_t stored = 0;
    for (;; ++stored) {
        const auto put = m.put("key " + std::to_string(stored), bytes(1000, stored));
        if (put) continue;
        EXPECT_EQ(put.error().code, errc::no_space);
        break;
    }
    EXPECT_GT(stored, 5000U);
    EXPECT_EQ(m.stats().most_bytes, o.region.max_size);
    EXPECT_EQ(m.put("large", bytes(5'000'000, 1)).error().code, errc::no_space);
    std::string got;
    for (std::size_t i = 0; i < stored; ++i) {
        ASSERT_TRUE(must(m.get("key " + std::to_string(i), got)));
        ASSERT_EQ(got, bytes(1000, i));
    }
    for (std::size_t i = 0; i < 200; ++i) must(m.remove("key " + std::to_string(i)));
    must(m.sync());
    for (std::size_t i = 0; i < 100; ++i) must(m.put("key " + std::to_string(i), bytes(1000, i)));
}

// Blocks for records are free, but there is no memory for another node.
TEST_F(map_test, write_that_fails_without_a_node_leaks_nothing) {
    map_options o;
    o.region.initial_size = u64{16} << 20;
    o.region.max_size = u64{16} << 20;
    o.epoch = std::chrono::microseconds(0);
    map m = must(map::open(file, o));
    const std::string value(10'000, 'v');
    unsigned stored = 0;
    while (m.put("key " + std::to_string(stored), value)) ++stored;
    // Add small records until there is no page for a node or for more records.
    unsigned small = 0;
    while (m.put("small " + std::to_string(small), "v")) ++small;
    for (unsigned i = 0; i < stored; i += 2) must(m.remove("key " + std::to_string(i)));
    must(m.sync());
    unsigned more = 0;
    const auto another = [&] { return "other " + std::to_string(1'000'000 + more); };
    while (m.put(another(), value)) ++more;
    must(m.sync());
    const auto used = m.stats().allocated_bytes;
    for (int i = 0; i < 50; ++i) {
        const auto replace = [&](auto, std::string& fresh) {
            fresh = value;
            return map::edit::replace;
        };
        EXPECT_EQ(m.put(another(), value).error().code, errc::no_space);
        EXPECT_EQ(m.put_if(another(), value, [](auto) { return true; }).error().code,
                  errc::no_space);
        EXPECT_EQ(m.modify(another(), replace).error().code, errc::no_space);
    }
    must(m.sync());
    EXPECT_EQ(m.stats().allocated_bytes, used);
}

TEST_F(map_test, second_opening_of_an_open_region_is_refused) {
    map m = open();
    const auto second = map::open(file, {});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, errc::busy);
}

}  // namespace
}  // namespace hf
