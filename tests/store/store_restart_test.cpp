// What the store promises over restarts.
#include "store/store_record.hpp"
#include "store/store_unique.hpp"
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

/// The store's own record, as somebody else left it.
void put_master(map& records, const detail::master_record& master) {
    char bytes[detail::master_record_bytes];
    detail::encode(master, bytes);
    must(records.put({}, {bytes, sizeof bytes}));
}

TEST(store_restart, takes_the_block_of_numbers_behind_all_that_were_taken_before) {
    temporary_store s;
    auto records = s.as_map();
    const std::uint64_t generation = records.generation();
    put_master(records, {0, 0, 7});
    auto over = must(store::over(std::move(records)));
    const auto number = must(over.set("k", "a")).number;
    EXPECT_EQ(number, (generation + 7) << detail::unique_numbers::block_bits);
    EXPECT_EQ(must(over.set("k", "a")).number, number + 1);
}

TEST(store_restart, opens_as_long_as_there_is_a_block_of_numbers_left) {
    temporary_store s;
    {
        auto records = s.as_map();
        const std::uint64_t most = detail::unique_numbers::block_count - 1;
        put_master(records, {0, 0, most - records.generation()});
        auto last = must(store::over(std::move(records)));
        EXPECT_EQ(must(last.set("k", "a")).number >> detail::unique_numbers::block_bits, most);
        must(last.close());
    }
    const auto refused = store::over(s.as_map());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::no_space);
    s.as_map();
}

TEST(store_restart, takes_records_up_to_the_flush_mark_for_flushed) {
    temporary_store s;
    constexpr std::uint64_t mark = 1000;
    {
        auto records = s.as_map();
        put_master(records, {mark, 0, 0});
        for (const std::uint64_t unique : {mark - 1, mark, mark + 1}) {
            std::string bytes(detail::record_header_bytes, '\0');
            detail::encode({0, 0, unique, 0}, bytes.data());
            must(records.put(std::to_string(unique), bytes));
        }
        must(records.close());
    }
    s.open();
    store::record found;
    EXPECT_FALSE(must(s->get("999", found)));
    EXPECT_FALSE(must(s->get("1000", found)));
    EXPECT_TRUE(must(s->get("1001", found)));
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
