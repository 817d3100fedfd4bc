// The counters of each command, its answers under limits, and the work of one turn.
#include "server/conversation.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace hf::test {
namespace {

using detail::tally;

struct counting {
    std::string before;  ///< not counted
    std::string command;
    std::string answer;
    std::map<tally, std::uint64_t> counted;
};

const std::string there = "set k 0 0 1\r\n5\r\n";
const std::string expired = "set k 0 -1 1\r\n5\r\n";

const std::vector<counting>& all_countings() {
    static const std::vector<counting> all{
        {"", "get k\r\n", "END\r\n", {{tally::cmd_get, 1}, {tally::get_misses, 1}}},
        {there,
         "get k x k\r\n",
         "VALUE k 0 1\r\n5\r\nVALUE k 0 1\r\n5\r\nEND\r\n",
         {{tally::cmd_get, 3}, {tally::get_hits, 2}, {tally::get_misses, 1}}},
        {expired,
         "get k x\r\n",
         "END\r\n",
         {{tally::cmd_get, 2}, {tally::get_misses, 2}, {tally::get_expired, 1}}},
        {there + "flush_all\r\n",
         "get k k x\r\n",  // the first get frees the record
         "END\r\n",
         {{tally::cmd_get, 3}, {tally::get_misses, 3}, {tally::get_flushed, 1}}},
        {expired + "flush_all\r\n",
         "gat 0 k x\r\n",
         "END\r\n",
         {{tally::get_flushed, 1}, {tally::cmd_touch, 2}, {tally::touch_misses, 2}}},
        {expired,
         "gat 0 x k x\r\n",
         "END\r\n",
         {{tally::get_expired, 1}, {tally::cmd_touch, 3}, {tally::touch_misses, 3}}},
        {expired,
         "set k 0 0 1\r\n5\r\n",
         "STORED\r\n",
         {{tally::cmd_set, 1}, {tally::total_items, 1}}},
        {there,
         "gat 0 k x\r\n",
         "VALUE k 0 1\r\n5\r\nEND\r\n",
         {{tally::cmd_touch, 2}, {tally::touch_hits, 1}, {tally::touch_misses, 1}}},
        {"", there, "STORED\r\n", {{tally::cmd_set, 1}, {tally::total_items, 1}}},
        {there, "add k 0 0 1\r\n1\r\n", "NOT_STORED\r\n", {{tally::cmd_set, 1}}},
        {"", "add k 0 0 1\r\n1\r\n", "STORED\r\n", {{tally::cmd_set, 1}, {tally::total_items, 1}}},
        {"", "replace k 0 0 1\r\n1\r\n", "NOT_STORED\r\n", {{tally::cmd_set, 1}}},
        {there,
         "append k 0 0 1\r\n1\r\n",
         "STORED\r\n",
         {{tally::cmd_set, 1}, {tally::total_items, 1}}},
        {"", "prepend k 0 0 1\r\n1\r\n", "NOT_STORED\r\n", {{tally::cmd_set, 1}}},
        {"",
         "cas k 0 0 1 1\r\n1\r\n",
         "NOT_FOUND\r\n",
         {{tally::cmd_set, 1}, {tally::cas_misses, 1}}},
        {there,
         "cas k 0 0 1 1\r\n1\r\n",
         "EXISTS\r\n",
         {{tally::cmd_set, 1}, {tally::cas_badval, 1}}},
        {"", "delete k\r\n", "NOT_FOUND\r\n", {{tally::delete_misses, 1}}},
        {there, "delete k\r\n", "DELETED\r\n", {{tally::delete_hits, 1}}},
        {"", "incr k 1\r\n", "NOT_FOUND\r\n", {{tally::incr_misses, 1}}},
        {there, "incr k 1\r\n", "6\r\n", {{tally::incr_hits, 1}}},
        {"", "decr k 1\r\n", "NOT_FOUND\r\n", {{tally::decr_misses, 1}}},
        {there, "decr k 2\r\n", "3\r\n", {{tally::decr_hits, 1}}},
        {"set k 0 0 1\r\nx\r\n",
         "incr k 1\r\n",
         "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
         {}},
        {"", "touch k 5\r\n", "NOT_FOUND\r\n", {{tally::cmd_touch, 1}, {tally::touch_misses, 1}}},
        {there, "touch k 5\r\n", "TOUCHED\r\n", {{tally::cmd_touch, 1}, {tally::touch_hits, 1}}},
        {there, "flush_all\r\n", "OK\r\n", {{tally::cmd_flush, 1}}},
        {there, "flush_all 9\r\n", "OK\r\n", {{tally::cmd_flush, 1}}},
        {"",
         "set k 0 0 11\r\n12345678901\r\n",
         "SERVER_ERROR object too large for cache\r\n",
         {{tally::store_too_large, 1}}},
        {"",
         "set k 0 0 10\r\n1234567890\r\n",
         "STORED\r\n",
         {{tally::cmd_set, 1}, {tally::total_items, 1}}},
        {"", "set k 0 0 1\r\nxx\r\n", "CLIENT_ERROR bad data chunk\r\nERROR\r\n", {}},
        {there,
         "get\r\nset k 0 0\r\nversion\r\nmn\r\nverbosity 1\r\n",
         "ERROR\r\nERROR\r\nVERSION test\r\nMN\r\nOK\r\n",
         {}},
    };
    return all;
}

TEST(session_count, each_command_counts_what_it_came_to_and_nothing_else) {
    temporary_store s;
    for (const auto& one : all_countings()) {
        for (const bool quiet : {false, true}) {
            SCOPED_TRACE(one.before + " | " + one.command);
            must(s->flush_all());
            conversation c(*s);
            c.context.max_item_size = 10;
            c.talk(one.before);
            detail::tallies before{};
            c.context.count.add_to(before);
            std::string command = one.command;
            if (quiet) {
                const bool takes_it =
                    !command.starts_with("g") && one.answer.find('\n') + 1 == one.answer.size();
                if (!takes_it) continue;
                command.insert(command.find('\r'), " noreply");
            }
            EXPECT_EQ(c.talk(command), quiet ? "" : one.answer);
            detail::tallies after{};
            c.context.count.add_to(after);
            for (std::size_t i = 0; i < after.size(); ++i) {
                const auto expected = one.counted.find(static_cast<tally>(i));
                EXPECT_EQ(after[i] - before[i],
                          expected == one.counted.end() ? 0 : expected->second)
                    << detail::tally_names[i];
            }
        }
    }
}

TEST(session_count, cas_counts_its_hits) {
    temporary_store s;
    conversation c(*s);
    const auto unique = must(s->set("k", "1")).number;
    EXPECT_EQ(c.talk("cas k 1 0 1 " + std::to_string(unique) + "\r\n2\r\n"), "STORED\r\n");
    detail::tallies sum{};
    c.context.count.add_to(sum);
    EXPECT_EQ(sum[static_cast<std::size_t>(tally::cas_hits)], 1U);
    EXPECT_EQ(sum[static_cast<std::size_t>(tally::total_items)], 1U);
    EXPECT_EQ(c.talk("get k\r\n"), "VALUE k 1 1\r\n2\r\nEND\r\n");
}

TEST(session_count, gats_touches_as_gat_does_and_get_does_not) {
    temporary_store s;
    store::record found;
    for (const std::string command : {"gat", "gats"}) {
        conversation c(*s);
        must(s->set("k", "1"));
        EXPECT_NE(c.talk(command + " 50 k\r\n"), "END\r\n");
        ASSERT_TRUE(must(s->get("k", found)));
        EXPECT_EQ(found.about.expires, s.now() + 50);
        EXPECT_NE(c.talk("get k 50\r\ngets k\r\n"), "");
        ASSERT_TRUE(must(s->get("k", found)));
        EXPECT_EQ(found.about.expires, s.now() + 50);
        EXPECT_NE(c.talk(command + " -1 k\r\n"), "END\r\n") << "it is shown once more";
        EXPECT_FALSE(must(s->get("k", found)));
    }
}

TEST(session_count, a_turn_has_a_thousand_requests_or_keys) {
    temporary_store s;
    for (const bool keys : {false, true}) {
        detail::session_context context(*s);
        detail::session one(context);
        std::string input = keys ? "get" : "";
        for (int i = 0; i < 2500; ++i) input += keys ? " k" : "mn\r\n";
        if (keys) input += "\r\nmn\r\n";
        for (const unsigned expected : {1000U, 1000U, keys ? 501U : 500U}) {
            detail::tallies before{};
            context.count.add_to(before);
            const auto answered = one.answers().size();
            input.erase(0, one.consume(input));
            EXPECT_EQ(one.paused(), expected == 1000);
            detail::tallies after{};
            context.count.add_to(after);
            const auto yields = static_cast<std::size_t>(tally::conn_yields);
            EXPECT_EQ(after[yields] - before[yields], expected == 1000 ? 1U : 0U);
            const auto gets = after[static_cast<std::size_t>(tally::cmd_get)] -
                              before[static_cast<std::size_t>(tally::cmd_get)];
            EXPECT_EQ(keys ? gets : (one.answers().size() - answered) / 4,
                      keys && expected == 501 ? 500 : expected);
        }
        EXPECT_TRUE(input.empty());
    }
}

TEST(session_count, who_has_nothing_left_at_the_end_of_a_turn_does_not_yield) {
    temporary_store s;
    detail::session_context context(*s);
    detail::session one(context);
    std::string input;
    for (int i = 0; i < 1000; ++i) input += "mn\r\n";
    EXPECT_EQ(one.consume(input), input.size());
    detail::tallies counted{};
    context.count.add_to(counted);
    EXPECT_EQ(counted[static_cast<std::size_t>(tally::conn_yields)], 0U);
}

TEST(session_count, the_bound_on_output_stops_at_the_byte_that_reaches_it) {
    temporary_store s;
    for (std::size_t bound = 1; bound <= 13; ++bound) {
        conversation c(*s);
        c.context.output_bound = bound;
        c.send("mn\r\nmn\r\nmn\r\nmn\r\n");
        EXPECT_EQ(c.session.answers().size(), std::min<std::size_t>((bound + 3) / 4 * 4, 16));
        EXPECT_TRUE(c.session.blocked() == (c.session.answers().size() >= bound));
        EXPECT_EQ(c.untaken().size(), 16 - c.session.answers().size());
    }
}

TEST(session_count, a_store_that_is_only_looked_at_is_told_from_one_that_is_full) {
    temporary_store s;
    must(s->set("k", "1"));
    const auto path = s->stats().path;
    must(s->close());
    store_options look;
    look.map.region.mode = open_mode::inspect;
    s.as_map();
    store reading = must(store::open(path, look));
    conversation c(reading);
    EXPECT_EQ(c.talk("get k\r\n"), "VALUE k 0 1\r\n1\r\nEND\r\n");
    for (const auto* command : {"set k 0 0 1\r\n2\r\n", "delete k\r\n", "incr k 1\r\n",
                                "touch k 0\r\n", "flush_all\r\n", "gat 0 k\r\n"}) {
        EXPECT_EQ(c.talk(command), "SERVER_ERROR the store is served read-only\r\n") << command;
    }
    EXPECT_EQ(c.talk("get k\r\n"), "VALUE k 0 1\r\n1\r\nEND\r\n");
}

}  // namespace
}  // namespace hf::test
