// Operations on one record are atomic with respect to other threads.
#include "support/effort.hpp"
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

using outcome = store::outcome;

constexpr int threads = 4;

template <class Body>
void in_threads(const Body& body) {
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) {
        running.emplace_back([&body, i] { body(i); });
    }
    for (auto& one : running) {
        one.join();
    }
}

TEST(store_concurrency, no_increment_is_lost) {
    temporary_store s;
    must(s->set("k", "0"));
    in_threads([&](int) {
        for (int i = 0; i < 1000; ++i) {
            must(s->incr("k", 3));
        }
    });
    EXPECT_EQ(must(s->incr("k", 0)).number, 3U * 1000 * threads);
}

TEST(store_concurrency, exactly_one_add_wins) {
    temporary_store s;
    for (int round = 0; round < hf::test::effort(100); ++round) {
        std::atomic<int> winners{0};
        const auto key = "k" + std::to_string(round);
        in_threads([&](int i) {
            winners += must(s->add(key, std::to_string(i))).what == outcome::stored ? 1 : 0;
        });
        EXPECT_EQ(winners, 1);
    }
}

TEST(store_concurrency, a_cas_loop_counts_every_round) {
    temporary_store s;
    must(s->set("k", "0"));
    in_threads([&](int) {
        store::record found;
        for (int done = 0; done < 200;) {
            must(s->get("k", found));
            const auto next = std::to_string(std::stoi(std::string(found.data())) + 1);
            done += must(s->cas("k", next, {}, found.cas)).what == outcome::stored ? 1 : 0;
        }
    });
    EXPECT_EQ(must(s->incr("k", 0)).number, 200U * threads);
}

TEST(store_concurrency, appends_and_prepends_all_arrive_while_others_touch) {
    temporary_store s;
    must(s->set("k", ""));
    in_threads([&](int i) {
        for (int n = 0; n < 100; ++n) {
            if (i == 0) {
                EXPECT_EQ(must(s->touch("k", s.now() + 100)).what, outcome::touched);
            } else if (i == 1) {
                EXPECT_EQ(must(s->prepend("k", "p")).what, outcome::stored);
            } else {
                EXPECT_EQ(must(s->append("k", "a")).what, outcome::stored);
            }
        }
    });
    store::record found;
    ASSERT_TRUE(must(s->get("k", found)));
    EXPECT_EQ(found.data(), std::string(100, 'p') + std::string(100 * (threads - 2), 'a'));
    EXPECT_EQ(found.about.expires, s.now() + 100);
}

TEST(store_concurrency, large_records_are_never_half_of_two_writers) {
    temporary_store s;
    constexpr std::size_t size = 100'000;
    must(s->set("k", std::string(size, 'x')));
    in_threads([&](int i) {
        store::record found;
        for (int n = 0; n < 30; ++n) {
            if (i % 2 == 0) {
                must(s->set("k", std::string(size, static_cast<char>('a' + i))));
                must(s->touch("k", 0));
                continue;
            }
            ASSERT_TRUE(must(s->get("k", found)));
            ASSERT_EQ(found.data().size(), size);
            ASSERT_EQ(found.data().find_first_not_of(found.data()[0]), std::string_view::npos);
        }
    });
}

TEST(store_concurrency, a_flush_takes_nothing_that_was_stored_after_it) {
    temporary_store s;
    in_threads([&](int i) {
        store::record found;
        const auto key = "k" + std::to_string(i);
        for (int n = 0; n < 300; ++n) {
            if (i == 0) {
                must(s->flush_all());
                continue;
            }
            // With concurrent flushes a record is either ours or removed, and a removed one does
            // not come back.
            must(s->set(key, std::to_string(n)));
            const bool first = must(s->get(key, found));
            if (first) {
                ASSERT_EQ(found.data(), std::to_string(n));
            }
            const bool second = must(s->get(key, found));
            ASSERT_FALSE(!first && second);
        }
    });
    must(s->flush_all());
    for (int i = 0; i < threads; ++i) {
        store::record found;
        EXPECT_FALSE(must(s->get("k" + std::to_string(i), found)));
        must(s->set("k" + std::to_string(i), "x"));
        EXPECT_TRUE(must(s->get("k" + std::to_string(i), found)));
    }
}

TEST(store_concurrency, purge_scan_and_expiry_meet_writers) {
    temporary_store s;
    in_threads([&](int i) {
        store::record found;
        for (int n = 0; n < 300; ++n) {
            const auto key = "k" + std::to_string(n % 20);
            if (i == 0) {
                must(s->purge(7));
                must(s->scan("", [](std::string_view, const store::view&) { return true; }));
            } else {
                must(s->set(key, "x", {.expires = n % 3 == 0 ? 1U : 0U}));
                must(s->get(key, found));
            }
        }
    });
}

}  // namespace
}  // namespace hf::test
