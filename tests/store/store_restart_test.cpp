// What the store promises over restarts.
#include "temporary_store.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hf::test {
namespace {

TEST(store_restart, brings_records_back_with_flags_expiry_and_cas) {
    temporary_store s;
    const auto written = must(s->set("k", "hello", {.flags = 7, .expires = s.now() + 9}));
    s.reopen();
    store::record found;
    ASSERT_TRUE(must(s->get("k", found)));
    EXPECT_EQ(found.data(), "hello");
    EXPECT_EQ(found.about.flags, 7U);
    EXPECT_EQ(found.about.expires, s.now() + 9);
    EXPECT_EQ(found.cas, written.number);
}

TEST(store_restart, lets_time_pass_while_the_store_is_closed) {
    temporary_store s;
    must(s->set("k", "a", {.expires = s.now() + 5}));
    s.advance(5);
    s.reopen();
    store::record found;
    EXPECT_FALSE(must(s->get("k", found)));
}

TEST(store_restart, never_gives_a_cas_unique_out_twice) {
    temporary_store s;
    std::set<std::uint64_t> seen;
    for (int session = 0; session < 5; ++session) {
        for (int i = 0; i < 10; ++i) {
            EXPECT_TRUE(seen.insert(must(s->set("k", "a")).number).second);
        }
        s.reopen();
    }
}

TEST(store_restart, keeps_what_was_flushed_flushed) {
    temporary_store s;
    must(s->set("k", "a"));
    must(s->flush_all());
    must(s->set("l", "a"));
    s.reopen();
    store::record found;
    EXPECT_FALSE(must(s->get("k", found)));
    EXPECT_TRUE(must(s->get("l", found)));
}

TEST(store_restart, remembers_a_flush_that_is_to_come) {
    temporary_store s;
    must(s->set("k", "a"));
    must(s->flush_all(s.now() + 10));
    s.reopen();
    store::record found;
    EXPECT_TRUE(must(s->get("k", found)));
    s.advance(10);
    s.reopen();
    EXPECT_FALSE(must(s->get("k", found)));
    must(s->set("k", "b"));
    s.reopen();
    EXPECT_TRUE(must(s->get("k", found)));
}

}  // namespace
}  // namespace hf::test
