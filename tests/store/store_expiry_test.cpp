// Expired and flushed records are absent for every operation, and give their space back when they
// are met.
#include "temporary_store.hpp"

#include <gtest/gtest.h>

#include <string>

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
    /// Records in the map, dead ones and the store's own included. The store is opened anew.
    std::size_t records_in_the_map() {
        std::size_t count = 0;
        {
            auto records = s.as_map();
            count = must(records.scan("", [](std::string_view, std::string_view) { return true; }));
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
    meet([&] { EXPECT_EQ(must(s->purge(10)), 1U); });
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

TEST_F(store_expiry, a_flush_replaces_one_whose_time_has_not_come) {
    must(s->flush_all(s.now() + 10));
    must(s->flush_all());
    set("a", "1");
    s.advance(20);
    EXPECT_TRUE(has("a"));
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

}  // namespace
}  // namespace hf::test
