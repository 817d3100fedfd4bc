// The store's guarantees over restarts.
#include "store/store_record.hpp"
#include "store/store_unique.hpp"
#include "support/temporary_store.hpp"

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

TEST(store_restart, counts_records_but_not_its_own) {
    temporary_store s;
    EXPECT_EQ(s->stats().records, 0U);
    must(s->flush_all());
    EXPECT_EQ(s->stats().records, 0U) << "only its own is there";
    must(s->set("k", "a", {.expires = s.now() + 5}));
    must(s->set("l", "a"));
    must(s->set("l", "b"));
    s.reopen();
    EXPECT_EQ(s->stats().records, 2U);
    s.advance(5);
    EXPECT_EQ(s->stats().records, 2U) << "dead, and still there";
    store::record found;
    EXPECT_FALSE(must(s->get("k", found)));
    EXPECT_EQ(s->stats().records, 1U);
}

TEST(store_restart, may_follow_while_the_closed_store_is_there_which_refuses) {
    temporary_store s;
    must(s->set("k", "a"));
    const std::string path = s->stats().path;
    must(s->close());
    auto other = must(store::open(path));
    store::record found;
    EXPECT_EQ(s->get("k", found).error().code, errc::usage);
    EXPECT_EQ(s->get_and_touch("k", 0, found).error().code, errc::usage);
    EXPECT_EQ(s->set("k", "b").error().code, errc::usage);
    EXPECT_EQ(s->append("k", "b").error().code, errc::usage);
    EXPECT_EQ(s->remove("k").error().code, errc::usage);
    EXPECT_EQ(s->incr("k", 1).error().code, errc::usage);
    EXPECT_EQ(s->touch("k", 1).error().code, errc::usage);
    EXPECT_EQ(s->flush_all().error().code, errc::usage);
    EXPECT_EQ(s->flush_all(s->now() + 1).error().code, errc::usage);
    EXPECT_EQ(s->purge(1).error().code, errc::usage);
    EXPECT_EQ(s->scan("", [](auto, const auto&) { return true; }).error().code, errc::usage);
    EXPECT_EQ(s->sync().error().code, errc::usage);
    EXPECT_EQ(s->durable_epoch(), 0U);
    EXPECT_TRUE(s->close());
    EXPECT_TRUE(must(other.get("k", found)));
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

/// Writes the store's own record directly.
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
        put_master(records, {mark, 0, 0, true});
        for (const std::uint64_t unique : {mark - 1, mark, mark + 1}) {
            must(records.put(std::to_string(unique), detail::encode({0, 0, unique}).view()));
        }
        must(records.close());
    }
    s.open();
    store::record found;
    EXPECT_FALSE(must(s->get("999", found)));
    EXPECT_FALSE(must(s->get("1000", found)));
    EXPECT_TRUE(must(s->get("1001", found)));
}

/// The map's value for the key, without the store's decoding.
std::string raw(temporary_store& s, std::string_view key) {
    auto records = s.as_map();
    std::string bytes;
    must(records.get(key, bytes));
    must(records.close());
    return bytes;
}

TEST(store_restart, goes_on_with_what_programs_of_before_wrote) {
    temporary_store s;
    const std::string large(10'000, 'l');
    const detail::record_header header{7, 0, 55};
    {
        auto records = s.as_map();
        for (const char* key : {"read", "touched", "counted", "written"}) {
            must(records.put(key, detail::encode_version_1(header, "1")));
        }
        must(records.put("large", detail::encode_version_1(header, large)));
        must(records.close());
    }
    s.open();
    store::record found;
    for (const char* key : {"read", "touched", "counted", "written"}) {
        ASSERT_TRUE(must(s->get(key, found))) << key;
        EXPECT_EQ(found.data(), "1");
        EXPECT_EQ(found.about.flags, 7U);
        EXPECT_EQ(found.cas, 55U);
    }
    const u64 later = s->now() + 1000;
    must(s->touch("touched", later));
    must(s->touch("large", later));
    must(s->incr("counted", 8));
    must(s->append("written", "2"));
    s.reopen();
    EXPECT_TRUE(must(s->get("touched", found)));
    EXPECT_EQ(found.about.expires, later);
    EXPECT_EQ(found.about.flags, 7U);
    EXPECT_EQ(found.data(), "1");
    EXPECT_EQ(found.cas, 55U);
    EXPECT_TRUE(must(s->get("large", found)));
    EXPECT_EQ(found.about.expires, later);
    EXPECT_EQ(found.data(), large);
    EXPECT_TRUE(must(s->get("counted", found)));
    EXPECT_EQ(found.data(), "9");
    EXPECT_TRUE(must(s->get("written", found)));
    EXPECT_EQ(found.data(), "12");
    must(s->close());
    EXPECT_EQ(raw(s, "read").size(), 32U + 1) << "nobody has changed it";
    EXPECT_EQ(raw(s, "touched").size(), 8U + 4 + 8 + 1);
    EXPECT_EQ(raw(s, "counted").size(), 8U + 4 + 1);
    EXPECT_EQ(raw(s, "large").size(), 8U + 4 + 8 + large.size());
}

// A record with a short header must not exist without the store's own record.
TEST(store_restart, says_that_headers_may_be_short_before_the_first_is_written) {
    using operation = void (*)(temporary_store&);
    const operation first_ones[] = {
        [](temporary_store& s) { must(s->set("k", "x")); },
        [](temporary_store& s) { must(s->add("l", "x")); },
        [](temporary_store& s) { must(s->append("k", "x")); },
        [](temporary_store& s) { must(s->incr("k", 1)); },
        [](temporary_store& s) { must(s->touch("k", 0)); },
        [](temporary_store& s) { must(s->touch("large", 0)); },
    };
    for (const operation first : first_ones) {
        temporary_store s;
        {
            auto records = s.as_map();
            must(records.put("k", detail::encode_version_1({0, 0, 55}, "1")));
            must(
                records.put("large", detail::encode_version_1({0, 0, 55}, std::string(9000, 'l'))));
            must(records.close());
        }
        s.open();
        store::record found;
        EXPECT_TRUE(must(s->get("k", found)));
        must(s->close());
        EXPECT_EQ(raw(s, ""), "") << "who reads writes nothing";
        s.open();
        first(s);
        must(s->close());
        const auto own = detail::decode_master(raw(s, ""));
        ASSERT_TRUE(own);
        EXPECT_TRUE(own->short_headers);
        EXPECT_EQ(own->flush_mark, 0U);
        s.open();
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
