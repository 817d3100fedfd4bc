// The server apart from answers: distribution of connections, idling, purging, and stopping
// meanwhile.
#include "server/client.hpp"
#include "server/purge_pace.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

/// While it exists, this process cannot open descriptors.
class no_descriptors {
   public:
    no_descriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit none = before_;
        none.rlim_cur = 0;
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    no_descriptors(const no_descriptors&) = delete;
    no_descriptors& operator=(const no_descriptors&) = delete;
    ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

   private:
    rlimit before_{};
};

/// Puts `count` records that expire in a second, and waits until most of them are purged.
void expect_purge_of(temporary_store& s, std::size_t count) {
    const std::string data(1000, 'x');
    for (std::size_t i = 0; i < count; ++i) {
        must(s->set(std::to_string(i), data, {0, s.now() + 1}));
    }
    must(s->sync());
    s.advance(1);
    while (s->stats().records.value_or(count) != 0) std::this_thread::yield();
}

TEST(server_life, deals_connections_out_in_turn) {
    temporary_store place;
    std::mutex mutex;
    std::thread::id last;
    store records = must(store::over(place.as_map(), [&] {
        const std::lock_guard lock(mutex);
        last = std::this_thread::get_id();
        return std::uint64_t{1'700'000'000};
    }));
    server_options options;
    options.port = 0;
    options.threads = 3;
    options.purge_rate = 0;
    const auto server = must(server::start(records, options));
    std::vector<std::unique_ptr<client>> clients;
    std::vector<std::thread::id> threads;
    for (int i = 0; i < 6; ++i) {
        clients.push_back(std::make_unique<client>(server->port()));
        EXPECT_EQ(clients.back()->line("touch k 10\r\n"), "NOT_FOUND\r\n");
        const std::lock_guard lock(mutex);
        threads.push_back(last);
    }
    EXPECT_TRUE(std::equal(threads.begin(), threads.begin() + 3, threads.begin() + 3));
    std::sort(threads.begin(), threads.end());
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
    EXPECT_EQ(threads.size(), 3U);
}

TEST(server_life, accepts_again_when_there_are_descriptors_again) {
    server_options options;
    options.threads = 1;
    running_server s(options);
    client a(s.port());
    EXPECT_EQ(a.line("mn\r\n"), "MN\r\n");
    client b;
    {
        const no_descriptors none;
        b.connect(s.port());
        // The loop has polled the sockets twice: it has tried to accept.
        EXPECT_EQ(a.line("mn\r\n"), "MN\r\n");
        EXPECT_EQ(a.line("mn\r\n"), "MN\r\n");
    }
    EXPECT_EQ(b.line("mn\r\n"), "MN\r\n");
}

TEST(server_life, looks_for_expired_records_again_and_again) {
    temporary_store store;
    server_options options;
    options.port = 0;
    options.purge_rate = 100;  // less than one step visits
    const auto server = must(server::start(*store, options));
    expect_purge_of(store, 20);
    expect_purge_of(store, 20);
    client c(server->port());
    while (c.get("stats\r\n").find("STAT crawler_reclaimed 40\r\n") == std::string::npos) {
        std::this_thread::yield();  // it is counted after the step
    }
    EXPECT_NE(c.get("stats\r\n").find("STAT curr_items 0\r\n"), std::string::npos);
}

TEST(server_life, looks_at_more_records_while_many_of_them_are_dead) {
    using clock = std::chrono::steady_clock;
    temporary_store store;
    for (unsigned i = 0; i < 5000; ++i) must(store->set("k" + std::to_string(i), "v", {0, 1}));
    server_options options;
    options.port = 0;
    options.purge_rate = 100;  // they would take 50 seconds
    const auto begin = clock::now();
    const auto server = must(server::start(*store, options));
    while (store->stats().records.value_or(0) != 0) std::this_thread::yield();
    EXPECT_LT(clock::now() - begin, std::chrono::seconds(25));
}

TEST(purge_pace, checks_no_more_than_the_least_where_few_are_dead) {
    detail::purge_pace pace(1000);
    for (unsigned i = 0; i < 20; ++i) {
        EXPECT_EQ(pace.share(), 100U);
        pace.interval_ended(100, 2, 1000);
    }
}

TEST(purge_pace, doubles_up_to_a_bound_and_comes_back) {
    detail::purge_pace pace(1000);
    pace.interval_ended(100, 6, 1000);
    EXPECT_EQ(pace.rate(), 2000U);
    for (unsigned i = 0; i < 50; ++i) pace.interval_ended(pace.share(), pace.share(), 1000);
    EXPECT_EQ(pace.rate(), detail::purge_pace::max_rate);
    for (unsigned i = 0; i < 50; ++i) pace.interval_ended(pace.share(), 0, 1000);
    EXPECT_EQ(pace.rate(), 1000U);
}

TEST(purge_pace, keeps_a_rate_above_the_bound_that_was_asked_for) {
    constexpr std::size_t asked = 4 * detail::purge_pace::max_rate;
    detail::purge_pace pace(asked);
    pace.interval_ended(pace.share(), pace.share(), 1000);
    EXPECT_EQ(pace.rate(), asked);
}

TEST(purge_pace, slows_down_after_a_walk_over_all_records_only) {
    detail::purge_pace pace(1000);
    pace.interval_ended(100, 6, 1000);
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(pace.rate(), 2000U) << i;
        pace.interval_ended(200, 0, 1000);
    }
    EXPECT_EQ(pace.rate(), 2000U) << "900 of 1,000";
    pace.interval_ended(200, 0, 1000);
    EXPECT_EQ(pace.rate(), 1000U);
}

/// 5,000 records a second that live for two seconds each. A walk meets them in the order in which
/// they were stored, or the newest first.
void expect_few_dead(bool in_order) {
    constexpr unsigned added = 500;  // in an interval
    constexpr unsigned lifetime = 2 * detail::purge_pace::intervals;
    detail::purge_pace pace(1000);
    std::list<unsigned> expiries;
    auto cursor = expiries.begin();
    for (unsigned now = 0; now < 200; ++now) {
        expiries.insert(in_order ? expiries.end() : expiries.begin(), added, now + lifetime);
        const std::size_t share = pace.share();
        std::size_t dead = 0;
        for (std::size_t i = 0; i < share && !expiries.empty(); ++i) {
            if (cursor == expiries.end()) cursor = expiries.begin();
            const bool is_dead = *cursor <= now;
            dead += is_dead ? 1 : 0;
            cursor = is_dead ? expiries.erase(cursor) : std::next(cursor);
        }
        pace.interval_ended(share, dead, expiries.size());
        if (now < 3 * lifetime) continue;
        const auto left =
            std::count_if(expiries.begin(), expiries.end(), [now](unsigned e) { return e <= now; });
        EXPECT_LE(static_cast<std::size_t>(left) * 10, added * lifetime) << now;
    }
}

TEST(purge_pace, dead_records_stay_below_a_tenth_where_neighbours_expire_together) {
    expect_few_dead(true);
}

TEST(purge_pace, dead_records_stay_below_a_tenth_where_the_newest_come_first) {
    expect_few_dead(false);
}

TEST(server_life, stops_in_the_midst_of_a_purge) {
    temporary_store store;
    server_options options;
    options.port = 0;
    options.purge_rate = std::size_t{1} << 40;  // a second's share takes days
    const auto server = must(server::start(*store, options));
    expect_purge_of(store, 20);
    server->stop();
    server->wait();
}

TEST(server_life, stops_without_waiting_for_anything) {
    using clock = std::chrono::steady_clock;
    // pause after a failed accept, the shortest of all pauses
    constexpr std::chrono::milliseconds rest{50};
    auto shortest = clock::duration::max();
    // A slow machine may exceed the limit in some repetitions, but not in all.
    for (int i = 0; i < 20 || (shortest >= rest && i < 500); ++i) {
        running_server s;
        const auto begin = clock::now();
        s.server->stop();
        s.server->wait();
        shortest = std::min(shortest, clock::now() - begin);
    }
    EXPECT_LT(shortest, rest);
}

}  // namespace
}  // namespace hf::test
