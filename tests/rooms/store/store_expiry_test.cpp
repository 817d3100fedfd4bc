// Expired and flushed records are absent for every operation, and are freed when an operation meets
// them.
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace hf::test {
namespace {

using outcome = store::outcome;

class store_expiry : public ::testing::Test {
   protected:
    temporary_store s;
    store::record found;

    void set(std::string_view key, std::string_view data, std::uint64_t expires = 0) {
        EXPECT_EQ(must(s->set(key, data, {.expires = expires})).what, outcome::stored);
    }
    bool has(std::string_view key) { return must(s->get(key, found)); }
    /// Number of records in the map, including dead ones, without the store's own. Reopens the
    /// store.
    std::size_t records_in_the_map() {
        std::size_t count = 0;
        {
            auto records = s.as_map();
            count = must(
                records.scan("", [](std::string_view, std::string_view) { return true; }, true));
        }
        s.open();
        return count;
    }
};

TEST_F(store_expiry, a_record_is_there_until_its_second_comes) {
    set("k", "a", s.now() + 2);
    EXPECT_TRUE(has("k"));
    EXPECT_EQ(found.about.expires, s.now() + 2);
    s.advance(1);
    EXPECT_TRUE(has("k"));
    s.advance(1);
    EXPECT_FALSE(has("k"));
}

TEST_F(store_expiry, a_record_that_was_stored_expired_is_never_there) {
    set("k", "a", 1);
    EXPECT_FALSE(has("k"));
}

TEST_F(store_expiry, an_expired_record_is_absent_for_every_operation) {
    const auto expired = [&] {
        set("k", "1", s.now() + 1);
        const auto unique = has("k") ? found.cas : 0;
        s.advance(1);
        return unique;
    };
    expired();
    EXPECT_EQ(must(s->replace("k", "b")).what, outcome::not_stored);
    const auto unique = expired();
    EXPECT_EQ(must(s->cas("k", "b", {}, unique)).what, outcome::not_found);
    expired();
    EXPECT_EQ(must(s->append("k", "b")).what, outcome::not_stored);
    expired();
    EXPECT_EQ(must(s->prepend("k", "b")).what, outcome::not_stored);
    expired();
    EXPECT_EQ(must(s->incr("k", 1)).what, outcome::not_found);
    expired();
    EXPECT_EQ(must(s->decr("k", 1)).what, outcome::not_found);
    expired();
    EXPECT_EQ(must(s->touch("k", 0)).what, outcome::not_found);
    expired();
    EXPECT_EQ(must(s->get_and_touch("k", 0, found)).what, outcome::not_found);
    expired();
    EXPECT_EQ(must(s->remove("k")).what, outcome::not_found);
    expired();
    EXPECT_EQ(must(s->add("k", "b")).what, outcome::stored);
    EXPECT_TRUE(has("k"));
}

/// A read of a dead record reports the reason, and no data of an earlier read.
TEST_F(store_expiry, reads_tell_how_a_record_has_ended) {
    using end = store::record::end;
    const auto read = [&](bool touching) {
        found.ended = end::flushed;  // value of an earlier read
        if (touching) {
            must(s->get_and_touch("k", 0, found));
        } else {
            has("k");
        }
        return found.ended;
    };
    for (const bool touching : {false, true}) {
        EXPECT_EQ(read(touching), end::none) << "it never was";
        set("k", "1", s.now() + 1);
        EXPECT_EQ(read(false), end::none) << "it is there";
        s.advance(1);
        EXPECT_EQ(read(touching), end::expired);
        EXPECT_EQ(read(touching), end::none) << "it has been given back";
        set("k", "1");
        EXPECT_EQ(read(touching), end::none) << "it is there";
        must(s->flush_all());
        EXPECT_EQ(read(touching), end::flushed);
        set("k", "1", s.now() + 1);
        must(s->flush_all());
        s.advance(1);
        EXPECT_EQ(read(touching), end::flushed) << "whichever came first";
        set("k", "1");
        must(s->remove("k"));
        EXPECT_EQ(read(touching), end::none);
    }
}

TEST_F(store_expiry, whoever_meets_an_expired_record_gives_its_space_back) {
    const auto meet = [&](const auto& operation) {
        set("k", "1", s.now() + 1);
        s.advance(1);
        operation();
        EXPECT_EQ(records_in_the_map(), 0U);
    };
    meet([&] { has("k"); });
    meet([&] { must(s->replace("k", "b")); });
    meet([&] { must(s->cas("k", "b", {}, 1)); });
    meet([&] { must(s->append("k", "b")); });
    meet([&] { must(s->incr("k", 1)); });
    meet([&] { must(s->touch("k", 0)); });
    meet([&] { must(s->remove("k")); });
    meet([&] {
        EXPECT_EQ(must(s->purge(0)), 0U);
        EXPECT_EQ(records_in_the_map(), 1U) << "nothing was to be looked at";
        EXPECT_EQ(must(s->purge(10)), 1U);
    });
}

TEST_F(store_expiry, touch_moves_the_expiry_and_keeps_the_rest) {
    for (const std::size_t size : {10U, 100'000U}) {
        const std::string data(size, 'x');
        EXPECT_EQ(must(s->set("k", data, {.flags = 4, .expires = s.now() + 5})).what,
                  outcome::stored);
        ASSERT_TRUE(has("k"));
        const auto unique = found.cas;
        EXPECT_EQ(must(s->touch("k", s.now() + 50)).what, outcome::touched);
        s.advance(10);
        ASSERT_TRUE(has("k"));
        EXPECT_EQ(found.data(), data);
        EXPECT_EQ(found.about.flags, 4U);
        EXPECT_EQ(found.cas, unique);
        EXPECT_EQ(must(s->touch("k", 0)).what, outcome::touched);
        s.advance(1000);
        EXPECT_TRUE(has("k"));
    }
    EXPECT_EQ(must(s->touch("none", 0)).what, outcome::not_found);
}

TEST_F(store_expiry, get_and_touch_does_both) {
    for (const std::size_t size : {10U, 100'000U}) {
        const std::string data(size, 'x');
        set("k", data, s.now() + 5);
        store::record one;
        EXPECT_EQ(must(s->get_and_touch("k", s.now() + 50, one)).what, outcome::touched);
        EXPECT_EQ(one.data(), data);
        EXPECT_EQ(one.about.expires, s.now() + 50);
        s.advance(10);
        EXPECT_TRUE(has("k"));
        EXPECT_EQ(one.cas, found.cas);
    }
    EXPECT_EQ(must(s->get_and_touch("none", 0, found)).what, outcome::not_found);
}

TEST_F(store_expiry, flush_all_takes_everything_and_nothing_that_comes_later) {
    set("a", "1");
    set("b", "1", s.now() + 100);
    EXPECT_EQ(must(s->flush_all()).what, outcome::stored);
    EXPECT_FALSE(has("a"));
    EXPECT_EQ(must(s->replace("b", "2")).what, outcome::not_stored);
    set("a", "2");
    EXPECT_TRUE(has("a"));
    EXPECT_EQ(must(s->add("b", "2")).what, outcome::stored);
    EXPECT_EQ(must(s->incr("b", 1)).number, 3U);
    EXPECT_EQ(must(s->touch("b", 0)).what, outcome::touched);
}

TEST_F(store_expiry, a_flush_in_the_future_takes_what_was_written_until_then) {
    set("a", "1");
    must(s->flush_all(s.now() + 10));
    set("b", "1");
    EXPECT_TRUE(has("a"));
    s.advance(9);
    EXPECT_TRUE(has("b"));
    s.advance(1);
    EXPECT_FALSE(has("a"));
    EXPECT_FALSE(has("b"));
    set("a", "2");
    s.advance(100);
    EXPECT_TRUE(has("a"));
}

TEST_F(store_expiry, a_due_flush_is_not_lost_where_the_next_call_puts_off_another) {
    set("a", "1");
    must(s->flush_all(s.now() + 10));
    s.advance(20);
    must(s->flush_all(s.now() + 1'000));  // no record was read in between
    EXPECT_FALSE(has("a"));
    set("a", "2");
    EXPECT_TRUE(has("a"));
    s.advance(1'000);
    EXPECT_FALSE(has("a"));
}

TEST_F(store_expiry, a_due_flush_takes_everything_of_a_store_that_is_read_only) {
    set("a", "1");
    must(s->flush_all(s.now() + 10));
    s.advance(5);
    s.open_to_inspect();
    EXPECT_TRUE(has("a"));
    s.advance(5);
    EXPECT_FALSE(has("a"));
    EXPECT_EQ(must(s->scan("", [](std::string_view, const store::view&) { return true; })), 0U);
    s.reopen();
    EXPECT_FALSE(has("a"));
}

TEST_F(store_expiry, a_flush_replaces_one_whose_time_has_not_come) {
    must(s->flush_all(s.now() + 10));
    must(s->flush_all());
    set("a", "1");
    s.advance(20);
    EXPECT_TRUE(has("a"));
}

TEST_F(store_expiry, a_time_is_compared_with_the_second_that_it_is) {
    for (const std::uint64_t expires : {std::uint64_t{1}, s.now() - 1, s.now(), s.now() + 1,
                                        std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        set("k", "a", expires);
        EXPECT_EQ(has("k"), expires > s.now()) << expires;
    }
    for (const int ahead : {-1'600'000'000, -1, 0, 1, 2, 3}) {
        SCOPED_TRACE(ahead);
        const std::uint64_t when = s.now() + static_cast<std::uint64_t>(ahead);
        set("k", "a");
        must(s->flush_all(when));
        EXPECT_EQ(has("k"), ahead > 0);
        set("k", "b");
        EXPECT_TRUE(has("k"));
        for (int second = 1; second < 4; ++second) {
            s.advance(1);
            EXPECT_EQ(has("k"), ahead <= 0 || ahead > second) << "after " << second;
        }
    }
}

TEST_F(store_expiry, every_operation_notices_that_a_flush_is_due) {
    const auto due = [&](const auto& operation) {
        set("k", "1");
        must(s->flush_all(s.now() + 1));
        s.advance(1);
        return operation();
    };
    EXPECT_FALSE(due([&] { return has("k"); }));
    EXPECT_EQ(due([&] { return must(s->add("k", "2")).what; }), outcome::stored);
    EXPECT_EQ(due([&] { return must(s->replace("k", "2")).what; }), outcome::not_stored);
    EXPECT_EQ(due([&] { return must(s->append("k", "2")).what; }), outcome::not_stored);
    EXPECT_EQ(due([&] { return must(s->incr("k", 2)).what; }), outcome::not_found);
    EXPECT_EQ(due([&] { return must(s->touch("k", 0)).what; }), outcome::not_found);
    EXPECT_EQ(due([&] { return must(s->get_and_touch("k", 0, found)).what; }), outcome::not_found);
    EXPECT_EQ(due([&] { return must(s->remove("k")).what; }), outcome::not_found);
    EXPECT_EQ(due([&] { return must(s->purge(9)); }), 1U);
    EXPECT_EQ(
        due([&] {
            return must(s->scan("", [](std::string_view, const store::view&) { return true; }));
        }),
        0U);
}

TEST_F(store_expiry, a_due_flush_is_noticed_by_scan_and_purge) {
    set("a", "1");
    must(s->flush_all(s.now() + 1));
    s.advance(1);
    EXPECT_EQ(must(s->scan("", [](std::string_view, const store::view&) { return true; })), 0U);
    set("b", "1");
    EXPECT_EQ(must(s->purge(100)), 1U);
    EXPECT_TRUE(has("b"));
}

TEST_F(store_expiry, purge_goes_round_in_steps) {
    for (int i = 0; i < 10; ++i) {
        set("k" + std::to_string(i), "x", i % 2 == 0 ? s.now() + 1 : 0);
    }
    s.advance(1);
    EXPECT_EQ(must(s->purge(0)), 0U);
    EXPECT_EQ(must(s->purge(4)), 2U);
    EXPECT_EQ(must(s->purge(4)), 2U);
    EXPECT_EQ(must(s->purge(4)), 1U);
    set("k0", "x", 1);
    EXPECT_EQ(must(s->purge(4)), 1U);
    EXPECT_EQ(records_in_the_map(), 5U);
}

TEST_F(store_expiry, purge_looks_at_no_more_records_than_it_was_told) {
    constexpr std::size_t all = 6;
    for (std::size_t count = 1; count <= all + 1; ++count) {
        for (std::size_t i = 0; i < all; ++i) set("k" + std::to_string(i), "x", 1);
        std::size_t purged = 0;
        for (std::size_t left = all; left != 0; left -= std::min(count, left)) {
            const std::size_t now = must(s->purge(count));
            EXPECT_EQ(now, std::min(count, left)) << count;
            purged += now;
        }
        EXPECT_EQ(purged, all);
        must(s->purge(1));  // reaches the end: the next call restarts
    }
    EXPECT_EQ(records_in_the_map(), 0U);
}

TEST_F(store_expiry, purge_ends_early_where_records_are_large) {
    // Four of them, with their headers, have exactly the megabyte that ends a call.
    constexpr std::size_t header = 16;  // with an expiry
    const std::string quarter((std::size_t{256} << 10) - header, 'x');
    const std::string less = quarter.substr(1);
    for (const auto& [data, at_once] : {std::pair(quarter, 4U), std::pair(less, 5U)}) {
        for (int i = 0; i < 9; ++i) set("k" + std::to_string(i), data, 1);
        EXPECT_EQ(must(s->purge(100)), at_once);
        EXPECT_EQ(must(s->purge(100)), std::min(at_once, 9 - at_once));
        must(s->purge(100));
        must(s->purge(100));
        EXPECT_EQ(records_in_the_map(), 0U);
    }
}

TEST_F(store_expiry, purge_spares_what_is_live_and_the_stores_own_record) {
    set("dead", "x", 1);
    set("live", "x");
    must(s->flush_all(s.now() + 100));
    EXPECT_EQ(must(s->purge(100)), 1U);
    EXPECT_TRUE(has("live"));
    EXPECT_EQ(records_in_the_map(), 1U);
    s.advance(100);
    EXPECT_FALSE(has("live"));
}

}  // namespace
}  // namespace hf::test
