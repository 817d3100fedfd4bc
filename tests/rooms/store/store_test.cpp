// Each operation has the same result as memcached's.
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hf::test {
namespace {

using outcome = store::outcome;

class store_operations : public ::testing::Test {
   protected:
    temporary_store s;
    store::record found;

    outcome set(std::string_view key, std::string_view data, store::attributes about = {}) {
        return must(s->set(key, data, about)).what;
    }
    std::optional<std::string> get(std::string_view key) {
        return must(s->get(key, found)) ? std::optional<std::string>(found.data()) : std::nullopt;
    }
    std::uint64_t cas_of(std::string_view key) {
        EXPECT_TRUE(must(s->get(key, found)));
        return found.cas;
    }
};

TEST_F(store_operations, get_finds_what_set_stored_with_its_flags) {
    EXPECT_EQ(get("k"), std::nullopt);
    EXPECT_EQ(set("k", "hello", {.flags = 7}), outcome::stored);
    EXPECT_EQ(get("k"), "hello");
    EXPECT_EQ(found.about.flags, 7U);
    EXPECT_EQ(found.about.expires, 0U);
}

TEST_F(store_operations, empty_data_is_data) {
    EXPECT_EQ(set("k", ""), outcome::stored);
    EXPECT_EQ(get("k"), "");
    store::draft nothing;
    EXPECT_EQ(must(s->set("l", nothing)).what, outcome::stored);
    EXPECT_EQ(get("l"), "");
}

TEST_F(store_operations, set_tells_the_cas_unique_that_gets_will_see) {
    const auto written = must(s->set("k", "a"));
    EXPECT_EQ(cas_of("k"), written.number);
    EXPECT_NE(must(s->set("k", "a")).number, written.number);
}

TEST_F(store_operations, add_stores_only_what_is_not_there) {
    EXPECT_EQ(must(s->add("k", "a")).what, outcome::stored);
    EXPECT_EQ(must(s->add("k", "b")).what, outcome::not_stored);
    EXPECT_EQ(get("k"), "a");
}

TEST_F(store_operations, replace_stores_only_over_what_is_there) {
    EXPECT_EQ(must(s->replace("k", "a")).what, outcome::not_stored);
    EXPECT_EQ(get("k"), std::nullopt);
    set("k", "a");
    EXPECT_EQ(must(s->replace("k", "b", {.flags = 2})).what, outcome::stored);
    EXPECT_EQ(get("k"), "b");
    EXPECT_EQ(found.about.flags, 2U);
}

TEST_F(store_operations, cas_stores_only_over_the_record_that_was_read) {
    EXPECT_EQ(must(s->cas("k", "x", {}, 1)).what, outcome::not_found);
    set("k", "a");
    const auto unique = cas_of("k");
    EXPECT_EQ(must(s->cas("k", "x", {}, unique + 1)).what, outcome::exists);
    EXPECT_EQ(get("k"), "a");
    EXPECT_EQ(must(s->cas("k", "b", {}, unique)).what, outcome::stored);
    EXPECT_EQ(must(s->cas("k", "c", {}, unique)).what, outcome::exists);
    EXPECT_EQ(get("k"), "b");
}

TEST_F(store_operations, append_and_prepend_lengthen_and_keep_flags_and_expiry) {
    EXPECT_EQ(must(s->append("k", "x")).what, outcome::not_stored);
    EXPECT_EQ(must(s->prepend("k", "x")).what, outcome::not_stored);
    set("k", "b", {.flags = 3, .expires = s.now() + 50});
    const auto before = cas_of("k");
    EXPECT_EQ(must(s->append("k", "c")).what, outcome::stored);
    EXPECT_EQ(must(s->prepend("k", "a")).what, outcome::stored);
    EXPECT_EQ(get("k"), "abc");
    EXPECT_EQ(found.about.flags, 3U);
    EXPECT_EQ(found.about.expires, s.now() + 50);
    EXPECT_NE(found.cas, before);
}

TEST_F(store_operations, append_beyond_the_limit_is_not_stored) {
    set("k", "abc");
    EXPECT_EQ(must(s->append("k", "de", 4)).what, outcome::not_stored);
    EXPECT_EQ(must(s->append("k", "defgh", 4)).what, outcome::not_stored);
    EXPECT_EQ(must(s->append("k", "d", 4)).what, outcome::stored);
    EXPECT_EQ(get("k"), "abcd");
    for (const std::size_t limit : {0U, 3U, 4U, 5U}) {
        for (const std::size_t old : {0U, 1U, 2U, 4U, 5U}) {
            for (const std::size_t more : {0U, 1U, 3U, 4U, 5U}) {
                set("k", std::string(old, 'a'));
                const std::string piece(more, 'b');
                const auto expected = old + more <= limit ? outcome::stored : outcome::not_stored;
                EXPECT_EQ(must(s->append("k", piece, limit)).what, expected);
                set("k", std::string(old, 'a'));
                EXPECT_EQ(must(s->prepend("k", piece, limit)).what, expected)
                    << old << " and " << more << " of " << limit;
            }
        }
    }
}

TEST_F(store_operations, remove_says_whether_there_was_one) {
    EXPECT_EQ(must(s->remove("k")).what, outcome::not_found);
    set("k", "a");
    EXPECT_EQ(must(s->remove("k")).what, outcome::removed);
    EXPECT_EQ(get("k"), std::nullopt);
}

TEST_F(store_operations, incr_counts_up_and_wraps_at_2_to_the_64) {
    set("k", "41", {.flags = 9});
    const auto before = cas_of("k");
    const auto done = must(s->incr("k", 1));
    EXPECT_EQ(done.what, outcome::stored);
    EXPECT_EQ(done.number, 42U);
    EXPECT_EQ(get("k"), "42");
    EXPECT_EQ(found.about.flags, 9U);
    EXPECT_NE(found.cas, before);
    set("k", "18446744073709551615");
    EXPECT_EQ(must(s->incr("k", 2)).number, 1U);
}

TEST_F(store_operations, decr_stops_at_zero) {
    set("k", "5");
    EXPECT_EQ(must(s->decr("k", 3)).number, 2U);
    EXPECT_EQ(must(s->decr("k", 3)).number, 0U);
}

TEST_F(store_operations,
       counting_lengthens_data_but_fills_it_with_blanks_instead_of_shortening_it) {
    set("k", "99");
    must(s->incr("k", 1));
    EXPECT_EQ(get("k"), "100");
    must(s->decr("k", 1));
    EXPECT_EQ(get("k"), "99 ");
    EXPECT_EQ(must(s->incr("k", 1)).number, 100U);
}

TEST_F(store_operations, counting_needs_a_number) {
    EXPECT_EQ(must(s->incr("k", 1)).what, outcome::not_found);
    for (const auto* text : {"", "x", "-1", "1x", "184467440737095516160"}) {
        set("k", text);
        EXPECT_EQ(must(s->incr("k", 1)).what, outcome::not_a_number) << text;
        EXPECT_EQ(get("k"), text);
    }
    set("k", "1" + std::string(store::max_number_size, ' '));
    EXPECT_EQ(must(s->incr("k", 1)).what, outcome::not_a_number);
    set("k", "1" + std::string(store::max_number_size - 1, ' '));
    EXPECT_EQ(must(s->incr("k", 1)).number, 2U);
    EXPECT_EQ(get("k"), "2" + std::string(store::max_number_size - 1, ' '));
}

TEST_F(store_operations, counting_follows_the_arithmetic_of_64_bits_around_every_bound) {
    constexpr std::uint64_t most = ~std::uint64_t{0};
    const std::uint64_t numbers[] = {0, 1, 9, 10, 11, most / 2, most / 2 + 1, most - 1, most};
    for (const std::uint64_t old : numbers) {
        for (const std::uint64_t delta : numbers) {
            for (const bool up : {true, false}) {
                SCOPED_TRACE(std::to_string(old) + (up ? " + " : " - ") + std::to_string(delta));
                const std::string before = std::to_string(old);
                set("k", before, {.flags = 5, .expires = s.now() + 7});
                const auto done = must(up ? s->incr("k", delta) : s->decr("k", delta));
                const std::uint64_t next = up ? old + delta : delta > old ? 0 : old - delta;
                EXPECT_EQ(done.what, outcome::stored);
                EXPECT_EQ(done.number, next);
                std::string text = std::to_string(next);
                if (text.size() < before.size()) text.resize(before.size(), ' ');
                EXPECT_EQ(get("k"), text);
                EXPECT_EQ(found.about.flags, 5U);
                EXPECT_EQ(found.about.expires, s.now() + 7);
            }
        }
    }
}

TEST_F(store_operations, keys_have_1_to_4096_bytes_of_any_value) {
    EXPECT_EQ(s->set("", "a").error().code, errc::usage);
    EXPECT_EQ(s->get("", found).error().code, errc::usage);
    EXPECT_EQ(s->remove("").error().code, errc::usage);
    EXPECT_EQ(s->incr("", 1).error().code, errc::usage);
    EXPECT_EQ(s->touch("", 1).error().code, errc::usage);
    EXPECT_EQ(s->append("", "x").error().code, errc::usage);
    EXPECT_EQ(s->set(std::string(max_key_size + 1, 'k'), "a").error().code, errc::too_large);
    const std::string longest(max_key_size, '\0');
    EXPECT_EQ(set(longest, "a"), outcome::stored);
    EXPECT_EQ(get(longest), "a");
}

TEST_F(store_operations, scan_visits_live_records_in_order_with_what_belongs_to_them) {
    set("d", "0");
    must(s->flush_all());  // from here on the store's own record exists, too
    set("b", "2", {.flags = 5});
    set("a", "1", {.expires = s.now() + 1});
    set("c", "3", {.expires = s.now() + 9});
    s.advance(1);
    std::vector<std::string> seen;
    const auto visited = must(s->scan("", [&](std::string_view key, const store::view& r) {
        seen.push_back(std::string(key) + "=" + std::string(r.data) + "/" +
                       std::to_string(r.about.flags) + "/" + std::to_string(r.about.expires));
        EXPECT_EQ(r.cas, cas_of(key));
        return true;
    }));
    EXPECT_EQ(visited, 2U);
    EXPECT_EQ(seen, (std::vector<std::string>{"b=2/5/0", "c=3/0/" + std::to_string(s.now() + 8)}));
    seen.clear();
    EXPECT_EQ(must(s->scan("d", [](std::string_view, const store::view&) { return true; })), 0U);
}

TEST_F(store_operations, scan_stops_when_told_and_goes_on_behind_a_key) {
    for (const auto* key : {"a", "b", "c", "d"}) {
        set(key, key);
    }
    EXPECT_EQ(
        must(s->scan("b", [&](std::string_view key, const store::view&) { return key != "c"; })),
        2U);
    EXPECT_EQ(
        must(s->scan("b", [&](std::string_view, const store::view&) { return true; }, true)), 2U);
}

TEST_F(store_operations, every_write_has_a_ticket_that_becomes_durable) {
    const auto written = must(s->set("k", "a"));
    EXPECT_GT(written.written_in, 0U);
    must(s->wait_durable(written.written_in));
    EXPECT_GE(s->durable_epoch(), written.written_in);
    const auto next = must(s->add("k", "b"));
    EXPECT_EQ(next.what, outcome::not_stored);
    EXPECT_GE(next.written_in, written.written_in);
    must(s->sync());
    EXPECT_GE(s->durable_epoch(), next.written_in);
}

TEST_F(store_operations, a_record_taken_apart_gives_its_storage_away) {
    set("k", "hello", {.flags = 6, .expires = s.now() + 1});
    ASSERT_EQ(get("k"), "hello");
    const std::size_t begin = found.data_begin();
    const std::string storage = found.take();
    EXPECT_EQ(storage.substr(begin), "hello");
    EXPECT_EQ(found.data(), "");
    EXPECT_EQ(found.cas, 0U);
    EXPECT_EQ(found.about.flags, 0U);
    EXPECT_EQ(found.about.expires, 0U);
    ASSERT_EQ(get("k"), "hello");
    EXPECT_EQ(found.about.flags, 6U);
}

TEST_F(store_operations, a_draft_collects_pieces) {
    store::draft d;
    EXPECT_EQ(d.size(), 0U);
    d.append("hel");
    d.append("lo");
    EXPECT_EQ(d.data(), "hello");
    must(s->set("k", d));
    EXPECT_EQ(get("k"), "hello");
    for (const std::size_t kept : {0U, 4U, 5U, 100U, 1000U, 1000U}) {
        d.clear(kept);
        EXPECT_EQ(d.size(), 0U);
        EXPECT_EQ(d.data(), "");
        d.reserve(1);
        EXPECT_EQ(d.size(), 0U);
        d.append("x");
        EXPECT_EQ(d.size(), 1U);
        must(s->set("k", d));
        EXPECT_EQ(get("k"), "x");
        d.append(std::string(200, 'y'));
    }
    d.clear(0);
    d.append("");
    must(s->set("k", d));
    EXPECT_EQ(get("k"), "");
}

TEST(store_outcome, has_a_name) {
    EXPECT_EQ(to_string(outcome::stored), "stored");
    EXPECT_EQ(to_string(outcome::not_stored), "not stored");
    EXPECT_EQ(to_string(outcome::exists), "exists");
    EXPECT_EQ(to_string(outcome::not_found), "not found");
    EXPECT_EQ(to_string(outcome::removed), "removed");
    EXPECT_EQ(to_string(outcome::touched), "touched");
    EXPECT_EQ(to_string(outcome::not_a_number), "not a number");
}

}  // namespace
}  // namespace hf::test
