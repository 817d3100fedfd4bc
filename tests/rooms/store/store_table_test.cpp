// Every operation on a record in every state: its result, the stored record, and the freed space.
#include "store/operations.hpp"
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace hf::test {
namespace {

using outcome = store::outcome;
using u64 = std::uint64_t;

/// Values as numbers; only the first is short enough to be counted. The others are on both sides of
/// the limit for changes under the node's lock, and in an extent.
const std::size_t sizes[] = {1, 4096, 4097, 70'000};

class store_table : public ::testing::Test {
   protected:
    struct trial {
        operation does;
        subject to;
    };

    /// One subject for each operation and size; `expires` is relative to now, 0: never.
    void prepare(const std::string& state, u64 expires) {
        for (const operation& o : all_operations()) {
            for (const std::size_t size : sizes) {
                subject r{state + ": " + o.name + " " + std::to_string(size), {}, 0};
                r.old.data = "7" + std::string(size - 1, ' ');
                r.old.about = {3, expires == 0 ? 0 : s.now() + expires};
                r.unique = must(s->set(r.key, r.old.data, r.old.about)).number;
                trials[state].push_back({o, std::move(r)});
            }
        }
    }
    [[nodiscard]] std::set<std::string> keys_in_the_map() {
        std::set<std::string> all;
        {
            auto records = s.as_map();
            must(records.scan("", [&](std::string_view key, std::string_view) {
                if (!key.empty()) all.emplace(key);
                return true;
            }));
        }
        s.open();
        return all;
    }
    void expect_there(const trial& t, const std::optional<content>& expected) {
        store::record found;
        ASSERT_EQ(must(s->get(t.to.key, found)), expected.has_value());
        if (!expected) return;
        EXPECT_TRUE(found.data() == expected->data);
        EXPECT_EQ(found.about.flags, expected->about.flags);
        EXPECT_EQ(found.about.expires, expected->about.expires);
    }
    /// Runs the operation and checks what all operations have in common.
    store::reply done(const trial& t, outcome expected) {
        const auto reply = must(t.does.run(*s, t.to));
        EXPECT_EQ(to_string(reply.what), to_string(expected));
        EXPECT_EQ(reply.written_in, s->stats().epoch);
        const bool counts = t.does.name == "incr" || t.does.name == "decr";
        store::record found;
        if (reply.what != outcome::stored) {
            EXPECT_EQ(reply.number, 0U);
        } else if (!counts && must(s->get(t.to.key, found))) {
            EXPECT_EQ(reply.number, found.cas);
            EXPECT_NE(reply.number, t.to.unique);
        }
        return reply;
    }

    temporary_store s{std::chrono::microseconds(0)};  // no clock: epochs end on request
    std::map<std::string, std::vector<trial>> trials;
};

TEST_F(store_table, what_is_there_is_met_by_every_operation) {
    prepare("live", 0);
    prepare("live yet", 2);
    s.advance(1);
    for (const auto& [state, all] : trials) {
        for (const trial& t : all) {
            SCOPED_TRACE(t.to.key);
            const bool no_number = (t.does.name == "incr" || t.does.name == "decr") &&
                                   t.to.old.data.size() > store::max_number_size;
            const auto reply = done(t, no_number ? outcome::not_a_number : t.does.where_live);
            const auto after = t.does.becomes(t.to.old);
            expect_there(t, after);
            if (t.does.name == "get_and_touch") {
                EXPECT_TRUE(last_read.data() == t.to.old.data);
                EXPECT_EQ(last_read.about.flags, t.to.old.about.flags);
                EXPECT_EQ(last_read.about.expires, fresh.expires);
                EXPECT_EQ(last_read.cas, t.to.unique);
            }
            if (t.does.name == "incr" && !no_number) {
                EXPECT_EQ(reply.number, 12U);
            }
            if (t.does.name == "decr" && !no_number) {
                EXPECT_EQ(reply.number, 2U);
            }
            store::record found;
            if (after && must(s->get(t.to.key, found))) {
                const bool written = reply.what == outcome::stored;
                EXPECT_EQ(found.cas == t.to.unique, !written) << "the cas unique";
            }
        }
    }
}

TEST_F(store_table, what_is_not_there_any_more_is_absent_and_gives_its_space_back) {
    prepare("flushed", 0);
    prepare("flushed and expired", 1);
    must(s->flush_all());
    prepare("expired", 1);
    prepare("long expired", 1);
    for (trial& t : trials["long expired"]) must(s->touch(t.to.key, 1));
    s.advance(1);
    std::set<std::string> left;
    for (const auto& [state, all] : trials) {
        for (const trial& t : all) {
            SCOPED_TRACE(t.to.key);
            done(t, t.does.where_absent);
            const bool made = t.does.where_absent == outcome::stored;
            if (made) left.insert(t.to.key);
        }
    }
    EXPECT_EQ(keys_in_the_map(), left);
    for (const auto& [state, all] : trials) {
        for (const trial& t : all) {
            SCOPED_TRACE(t.to.key);
            expect_there(
                t, left.contains(t.to.key) ? std::optional(content{"new", fresh}) : std::nullopt);
        }
    }
}

TEST_F(store_table, what_never_was_is_absent) {
    for (const operation& o : all_operations()) {
        SCOPED_TRACE(o.name);
        const trial t{o, {o.name, {"7", {}}, 1}};
        done(t, o.where_absent);
        const bool made = o.where_absent == outcome::stored;
        expect_there(t, made ? std::optional(content{"new", fresh}) : std::nullopt);
    }
}

TEST_F(store_table, what_is_damaged_is_told_by_whoever_needs_it_and_else_replaced) {
    prepare("damaged", 0);
    {
        auto records = s.as_map();
        std::string bytes;
        for (const trial& t : trials["damaged"]) {
            must(records.get(t.to.key, bytes));
            bytes[0] = static_cast<char>(bytes[0] ^ 0x40);
            must(records.put(t.to.key, bytes));
        }
        must(records.close());
    }
    s.open();
    for (const trial& t : trials["damaged"]) {
        SCOPED_TRACE(t.to.key);
        if (!t.does.needs_contents) {
            done(t, t.does.where_live);
            expect_there(t, t.does.becomes(t.to.old));
            continue;
        }
        const auto refused = t.does.run(*s, t.to);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::corrupt);
        EXPECT_EQ(refused.error().where, "key \"" + t.to.key + '"');
        store::record found;
        EXPECT_EQ(s->get(t.to.key, found).error().code, errc::corrupt) << "it is still there";
    }
}

TEST_F(store_table, no_operation_takes_a_key_that_is_empty_or_too_long) {
    const std::string longest(max_key_size, 'k');
    for (const operation& o : all_operations()) {
        SCOPED_TRACE(o.name);
        EXPECT_EQ(o.run(*s, {"", {"7", {}}, 1}).error().code, errc::usage);
        const auto refused = o.run(*s, {longest + "k", {"7", {}}, 1});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::too_large);
        EXPECT_EQ(refused.error().where, "key \"" + std::string(64, 'k') + "...\"");
        EXPECT_EQ(must(o.run(*s, {longest, {"7", {}}, 1})).what, o.where_absent);
        must(s->remove(longest));
    }
    store::record found;
    EXPECT_EQ(s->get("", found).error().code, errc::usage);
    EXPECT_EQ(s->get(longest + "k", found).error().code, errc::too_large);
    EXPECT_FALSE(must(s->get(longest, found)));
}

}  // namespace
}  // namespace hf::test
