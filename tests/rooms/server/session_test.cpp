// The answers that a client reads, for any packet boundaries; and the memory cost of a client that
// does not read.
#include <holdfast/eager.hpp>

#include "server/conversation.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hf::test {
namespace {

using namespace std::string_literals;

struct exchange {
    const char* what;
    std::string sent;
    std::string read;
};

const std::string key_250(250, 'k');
const std::string key_251(251, 'k');

const std::vector<exchange>& exchanges() {
    static const std::vector<exchange> all{
        {"set and get", "set k 7 0 5\r\nhello\r\nget k\r\n",
         "STORED\r\nVALUE k 7 5\r\nhello\r\nEND\r\n"},
        {"several keys", "set a 0 0 1\r\n1\r\nset b 0 0 1\r\n2\r\nget a x b a\r\n",
         "STORED\r\nSTORED\r\nVALUE a 0 1\r\n1\r\nVALUE b 0 1\r\n2\r\nVALUE a 0 1\r\n1\r\nEND\r\n"},
        {"data that looks like commands", "set k 0 0 13\r\nget k\r\n\r\nquit\r\nget k\r\n",
         "STORED\r\nVALUE k 0 13\r\nget k\r\n\r\nquit\r\nEND\r\n"},
        {"data with line ends", "set k 0 0 6\r\n\r\n\r\n\r\n\r\nget k\r\n",
         "STORED\r\nVALUE k 0 6\r\n\r\n\r\n\r\n\r\nEND\r\n"},
        {"add, replace",
         "replace k 0 0 1\r\na\r\nadd k 0 0 1\r\nb\r\nadd k 0 0 1\r\nc\r\nreplace k 0 0 "
         "1\r\nd\r\nget k\r\n",
         "NOT_STORED\r\nSTORED\r\nNOT_STORED\r\nSTORED\r\nVALUE k 0 1\r\nd\r\nEND\r\n"},
        {"append, prepend",
         "append k 0 0 1\r\na\r\nset k 0 0 1\r\nb\r\nappend k 1 1 1\r\nc\r\nprepend k 1 1 "
         "1\r\na\r\nget k\r\n",
         "NOT_STORED\r\nSTORED\r\nSTORED\r\nSTORED\r\nVALUE k 0 3\r\nabc\r\nEND\r\n"},
        {"cas of nothing", "cas k 0 0 1 1\r\na\r\n", "NOT_FOUND\r\n"},
        {"cas that lost", "set k 0 0 1\r\na\r\ncas k 0 0 1 1\r\nb\r\n", "STORED\r\nEXISTS\r\n"},
        {"delete", "delete k\r\nset k 0 0 1\r\na\r\ndelete k\r\nget k\r\n",
         "NOT_FOUND\r\nSTORED\r\nDELETED\r\nEND\r\n"},
        {"counting",
         "incr k 1\r\nset k 0 0 2\r\n98\r\nincr k 4\r\ndecr k 3\r\nget k\r\ndecr k 1000\r\n",
         "NOT_FOUND\r\nSTORED\r\n102\r\n99\r\nVALUE k 0 3\r\n99 \r\nEND\r\n0\r\n"},
        {"counting what is no number", "set k 0 0 1\r\nx\r\nincr k 1\r\nincr k x\r\n",
         "STORED\r\nCLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
         "CLIENT_ERROR invalid numeric delta argument\r\n"},
        {"touch, gat",
         "touch k 9\r\nset k 3 0 1\r\na\r\ntouch k 9\r\ngat 0 k x\r\ngat -1 k\r\nget k\r\n",
         "NOT_FOUND\r\nSTORED\r\nTOUCHED\r\nVALUE k 3 1\r\na\r\nEND\r\nVALUE k 3 "
         "1\r\na\r\nEND\r\nEND\r\n"},
        {"gat without keys", "gat 0\r\ngat\r\n", "END\r\nERROR\r\n"},
        {"negative exptime", "set k 0 -1 1\r\na\r\nget k\r\n", "STORED\r\nEND\r\n"},
        {"long gone exptime", "set k 0 2600000 1\r\na\r\nget k\r\n", "STORED\r\nEND\r\n"},
        {"noreply",
         "set k 0 0 1 noreply\r\na\r\nincr k 1 noreply\r\ndelete x noreply\r\ntouch k 0 noreply\r\n"
         "verbosity 1 noreply\r\nflush_all 10 noreply\r\nget k\r\n",
         "VALUE k 0 1\r\na\r\nEND\r\n"},
        {"noreply silences errors",
         "set k 0 0 x noreply\r\nset k 0 0 1 noreply\r\nabc\r\nversion\r\n",
         "ERROR\r\nVERSION test\r\n"},
        {"flush_all", "set k 0 0 1\r\na\r\nflush_all\r\nget k\r\nset k 0 0 1\r\nb\r\nget k\r\n",
         "STORED\r\nOK\r\nEND\r\nSTORED\r\nVALUE k 0 1\r\nb\r\nEND\r\n"},
        {"bad chunk, too long", "set k 0 0 3\r\nabcdef\r\nget k\r\n",
         "CLIENT_ERROR bad data chunk\r\nERROR\r\nEND\r\n"},
        {"bad chunk, too short", "set k 0 0 3\r\nab\r\nget k\r\n",
         "CLIENT_ERROR bad data chunk\r\nERROR\r\n"},
        {"bad chunk keeps what was there", "set k 0 0 1\r\na\r\nset k 0 0 1\r\nbc\r\nget k\r\n",
         "STORED\r\nCLIENT_ERROR bad data chunk\r\nERROR\r\nVALUE k 0 1\r\na\r\nEND\r\n"},
        {"bad chunk leaves nothing to the next",
         "set k 0 0 3\r\nabcdef\r\nset k 0 0 1\r\nz\r\nget k\r\n",
         "CLIENT_ERROR bad data chunk\r\nERROR\r\nSTORED\r\nVALUE k 0 1\r\nz\r\nEND\r\n"},
        {"negative length", "set k 0 0 -1\r\n", "CLIENT_ERROR bad command line format\r\n"},
        {"missing length", "set k 0 0\r\n", "ERROR\r\n"},
        {"too large",
         "set k 0 0 1\r\na\r\nset k 0 0 101\r\n" + std::string(101, 'x') + "\r\nget k\r\n",
         "STORED\r\nSERVER_ERROR object too large for cache\r\nEND\r\n"},
        {"just not too large",
         "set k 0 0 100\r\n" + std::string(100, 'x') + "\r\nappend k 0 0 1\r\ny\r\n",
         "STORED\r\nNOT_STORED\r\n"},
        {"too large for add keeps the old",
         "set k 0 0 1\r\na\r\nadd k 0 0 101\r\n" + std::string(101, 'x') + "\r\nget k\r\n",
         "STORED\r\nSERVER_ERROR object too large for cache\r\nVALUE k 0 1\r\na\r\nEND\r\n"},
        {"longest key", "set " + key_250 + " 0 0 1\r\na\r\nget " + key_250 + "\r\n",
         "STORED\r\nVALUE " + key_250 + " 0 1\r\na\r\nEND\r\n"},
        {"longer key", "get a " + key_251 + "\r\nset " + key_251 + " 0 0 1\r\na\r\n",
         "CLIENT_ERROR bad command line format\r\nCLIENT_ERROR bad command line "
         "format\r\nERROR\r\n"},
        {"key with controls", "set a\tb\x01 0 0 1\r\na\r\nget a\tb\x01\r\n",
         "STORED\r\nVALUE a\tb\x01 0 1\r\na\r\nEND\r\n"},
        {"key with a NUL", "set k 0 0 1\r\na\r\nget k\0x\r\nget k x\0 k\r\n"s,
         "STORED\r\nVALUE k 0 1\r\na\r\nEND\r\nVALUE k 0 1\r\na\r\nEND\r\n"},
        {"bare line feeds", "set k 0 0 1\na\r\nget k\n", "STORED\r\nVALUE k 0 1\r\na\r\nEND\r\n"},
        {"empty lines", "\r\n\n", "ERROR\r\nERROR\r\n"},
        {"others", "verbosity 1\r\nmn\r\nversion\r\nshutdown\r\nstats no_such\r\n",
         "OK\r\nMN\r\nVERSION test\r\nERROR: shutdown not enabled\r\nERROR\r\n"},
        {"quit ends it", "version\r\nquit\r\nversion\r\n", "VERSION test\r\n"},
        {"a browser ends it", "GET / HTTP/1.1\r\nHost: x\r\n", ""},
        {"a line without end ends it", "version\r\n" + std::string(2049, 'x') + "\r\nversion\r\n",
         "VERSION test\r\n"},
        {"half a command", "get k", ""},
        {"half a block", "set k 0 0 10\r\nhal", ""},
    };
    return all;
}

TEST(session, answers_as_memcached_does) {
    for (const auto& e : exchanges()) {
        temporary_store s;
        conversation c(*s);
        c.context.max_item_size = 100;
        EXPECT_EQ(c.talk(e.sent), e.read) << e.what;
    }
}

TEST(session, answers_the_same_from_each_eager_index) {
    for (const std::string& index : eager_index_names()) {
        temporary_store s(std::chrono::milliseconds(5), index);
        for (const auto& e : exchanges()) {
            must(s->flush_all());
            conversation c(*s);
            c.context.max_item_size = 100;
            EXPECT_EQ(c.talk(e.sent), e.read) << e.what << " of " << index;
        }
        s.reopen();
        conversation c(*s);
        EXPECT_EQ(c.talk("set k 1 0 1\r\na\r\nget k\r\n"), "STORED\r\nVALUE k 1 1\r\na\r\nEND\r\n");
    }
}

TEST(session, answers_the_same_wherever_the_stream_is_cut) {
    temporary_store s;
    for (const auto& e : exchanges()) {
        for (std::size_t cut = 0; cut <= e.sent.size(); cut += e.sent.size() > 500 ? 13 : 1) {
            must(s->flush_all());
            conversation c(*s);
            c.context.max_item_size = 100;
            const auto first = c.talk(std::string_view(e.sent).substr(0, cut));
            EXPECT_EQ(first + c.talk(std::string_view(e.sent).substr(cut)), e.read)
                << e.what << " at " << cut;
        }
    }
}

TEST(session, answers_the_same_byte_by_byte_to_a_client_that_reads_byte_by_byte) {
    temporary_store s;
    for (const auto& e : exchanges()) {
        must(s->flush_all());
        conversation c(*s);
        c.context.max_item_size = 100;
        c.context.output_bound = 1;
        std::string got;
        for (const char byte : e.sent) {
            c.send({&byte, 1});
            got += c.read(1);
        }
        for (std::string more = "?"; !more.empty(); got += more) {
            c.go_on();
            more = c.read(1);
        }
        EXPECT_EQ(got, e.read) << e.what;
    }
}

TEST(session, gets_shows_the_cas_unique_that_cas_takes) {
    temporary_store s;
    conversation c(*s);
    c.talk("set k 0 0 1\r\na\r\n");
    const auto shown = c.talk("gets k\r\n");
    store::record found;
    ASSERT_TRUE(must(s->get("k", found)));
    EXPECT_EQ(shown, "VALUE k 0 1 " + std::to_string(found.cas) + "\r\na\r\nEND\r\n");
    const auto swap = "cas k 0 0 1 " + std::to_string(found.cas) + "\r\nb\r\n";
    EXPECT_EQ(c.talk(swap), "STORED\r\n");
    EXPECT_EQ(c.talk(swap), "EXISTS\r\n");
    const auto touched = c.talk("gats 0 k\r\n");
    ASSERT_TRUE(must(s->get("k", found)));
    EXPECT_EQ(touched, "VALUE k 0 1 " + std::to_string(found.cas) + "\r\nb\r\nEND\r\n");
}

TEST(session, counts_expiry_from_now_up_to_30_days_and_from_1970_above) {
    temporary_store s;
    conversation c(*s);
    store::record found;
    const auto expires = [&](const std::string& exptime) {
        c.talk("set k 0 " + exptime + " 1\r\na\r\n");
        return must(s->get("k", found)) ? found.about.expires : 1;
    };
    EXPECT_EQ(expires("0"), 0U);
    EXPECT_EQ(expires("10"), s.now() + 10);
    EXPECT_EQ(expires("2592000"), s.now() + 2592000);
    EXPECT_EQ(expires("2592001"), 1U);
    EXPECT_EQ(expires(std::to_string(s.now() + 5)), s.now() + 5);
    EXPECT_EQ(expires("4294967296"), 4294967296U);
    EXPECT_EQ(expires("-1"), 1U);
    EXPECT_EQ(expires("-" + std::to_string(s.now())), 1U);
    EXPECT_EQ(expires("-" + std::to_string(s.now() + 10)), 1U);
    EXPECT_EQ(expires("-9223372036854775808"), 1U);
}

TEST(session, flush_all_takes_a_time_to_come) {
    temporary_store s;
    conversation c(*s);
    c.talk("set k 0 0 1\r\na\r\n");
    EXPECT_EQ(c.talk("flush_all 10\r\nget k\r\n"), "OK\r\nVALUE k 0 1\r\na\r\nEND\r\n");
    s.advance(10);
    EXPECT_EQ(c.talk("get k\r\n"), "END\r\n");
}

TEST(session, large_data_passes_through_unchanged) {
    temporary_store s;
    conversation c(*s);
    std::string data(300'000, '\0');
    for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = static_cast<char>(i * 7919 >> 5);
    }
    EXPECT_EQ(c.talk("set k 1 0 300000\r\n" + data + "\r\n"), "STORED\r\n");
    EXPECT_TRUE(c.talk("get k\r\n") == "VALUE k 1 300000\r\n" + data + "\r\nEND\r\n");
}

TEST(session, an_announced_size_costs_nothing_before_the_data_comes) {
    temporary_store s;
    conversation c(*s);
    c.context.max_item_size = store::max_data_size;
    c.send("set k 0 0 60000000\r\nx");
    EXPECT_TRUE(c.untaken().empty());
    EXPECT_FALSE(c.session.blocked());
}

TEST(session, stops_between_two_keys_while_the_client_does_not_read) {
    temporary_store s;
    conversation c(*s);
    c.context.output_bound = 5000;
    must(s->set("k", std::string(1000, 'x')));
    std::string command = "get";
    for (int i = 0; i < 1000; ++i) {
        command += " k";
    }
    c.send(command + "\r\nversion\r\n");
    EXPECT_TRUE(c.session.blocked());
    EXPECT_LT(c.session.answers().size(), 5000U + 1100U);
    EXPECT_FALSE(c.untaken().empty());
    c.send("version\r\n");
    EXPECT_LT(c.session.answers().size(), 5000U + 1100U);
    const std::string one = "VALUE k 0 1000\r\n" + std::string(1000, 'x') + "\r\n";
    std::string expected;
    for (int i = 0; i < 1000; ++i) {
        expected += one;
    }
    EXPECT_TRUE(c.talk("") == expected + "END\r\nVERSION test\r\nVERSION test\r\n");
    EXPECT_TRUE(c.untaken().empty());
}

TEST(session, stops_at_a_small_bound_while_all_clients_leave_too_much_unread) {
    temporary_store s;
    conversation c(*s);
    detail::total_output total;
    total.bound = 1'000'000;
    total.change(0, 999'999);  // of others
    c.context.total = &total;
    must(s->set("k", std::string(1000, 'x')));
    must(s->set("long", std::string(detail::total_output::small_bound, 'y')));
    std::string command = "get";
    for (int i = 0; i < 100; ++i) command += " k";
    c.send(command + "\r\n");
    EXPECT_FALSE(c.session.blocked()) << "there is one byte left";
    c.read();
    c.session.count_unread();
    EXPECT_EQ(c.talk("get long\r\nget k\r\n").substr(0, 58),
              "SERVER_ERROR out of memory writing get response\r\nVALUE k 0");
    total.change(0, 1);
    c.send(command + "\r\n");
    EXPECT_TRUE(c.session.blocked());
    EXPECT_LT(c.session.answers().size(), detail::total_output::small_bound + 1100);
    c.session.count_unread();
    EXPECT_EQ(total.unread.load(), 1'000'000 + c.session.answers().size());
    total.change(999'999, 0);
    EXPECT_EQ(c.talk("").size(), 100 * (16 + 1000 + 2) + 5) << "it goes on";
    c.session.count_unread(true);
    EXPECT_EQ(total.unread.load(), 1U);
}

TEST(session, answers_a_get_of_more_than_a_mebibyte_of_keys) {
    temporary_store s;
    must(s->set("here", "1"));
    std::string keys;
    std::string expected;
    while (keys.size() < detail::framer::max_get_line + 3 * detail::framer::long_piece) {
        keys += " here a-key-of-twenty-six-letters";
        expected += "VALUE here 0 1\r\n1\r\n";
    }
    const auto answers_to = [&](const std::string& line, std::size_t piece) {
        conversation c(*s);
        std::string got;
        for (std::size_t at = 0; at < line.size(); at += piece) {
            got += c.talk(line.substr(at, piece));
        }
        EXPECT_TRUE(c.untaken().empty());
        return got;
    };
    for (const std::size_t piece : {std::size_t{65'536}, std::size_t{100'000'000}}) {
        EXPECT_TRUE(answers_to("get" + keys + "\r\nmn\r\n", piece) == expected + "END\r\nMN\r\n");
        // A key that is too long ends the get, wherever it is.
        const std::string bad = "CLIENT_ERROR bad command line format\r\nMN\r\n";
        EXPECT_EQ(answers_to("get " + key_251 + keys + "\r\nmn\r\n", piece), bad);
        EXPECT_TRUE(answers_to("get" + keys + " " + key_251 + keys + "\nmn\r\n", piece)
                        .ends_with("1\r\n" + bad));
        // The line ends at its first NUL.
        EXPECT_EQ(answers_to("get here \0"s + keys + "\r\nmn\r\n", piece),
                  "VALUE here 0 1\r\n1\r\nEND\r\nMN\r\n");
    }
}

TEST(session, sees_changes_between_the_keys_of_an_interrupted_get) {
    temporary_store s;
    conversation c(*s);
    c.context.output_bound = 1;
    must(s->set("a", "1"));
    must(s->set("b", "1"));
    c.send("get a b\r\n");
    must(s->set("b", "2"));
    EXPECT_EQ(c.talk(""), "VALUE a 0 1\r\n1\r\nVALUE b 0 1\r\n2\r\nEND\r\n");
}

TEST(session, lets_others_have_their_turn_in_a_long_get_and_in_many_commands) {
    temporary_store s;
    for (const std::string& unit : {"k "s, "mn\r\n"s}) {
        detail::session_context context(*s);
        detail::session one(context);
        std::string input = unit == "k " ? "get " : "";
        for (int i = 0; i < 3500; ++i) {
            input += unit;
        }
        input += "\r\n";
        int turns = 0;
        do {
            input.erase(0, one.consume(input));
            ++turns;
        } while (one.paused());
        EXPECT_EQ(turns, 4);
        EXPECT_TRUE(input.empty());
    }
}

TEST(session, with_durable_acks_holds_the_answers_to_writes_and_what_follows) {
    temporary_store s(std::chrono::seconds(10));
    conversation c(*s);
    c.context.ack_durable = true;
    c.context.max_item_size = 9;
    const auto release = [&] { c.session.answers().release(s->durable_epoch()); };
    for (const auto* command : {"set k 0 0 1\r\n1\r\n",
                                "add k 0 0 1\r\n1\r\n",
                                "append k 0 0 1\r\n1\r\n",
                                "incr k 1\r\n",
                                "decr k 1\r\n",
                                "incr none 1\r\n",
                                "cas k 0 0 1 1\r\n1\r\n",
                                "cas none 0 0 1 1\r\n1\r\n",
                                "replace none 0 0 1\r\n1\r\n",
                                "prepend none 0 0 1\r\n1\r\n",
                                "touch k 0\r\n",
                                "touch none 0\r\n",
                                "gat 0 k\r\n",
                                "gats 0 none\r\n",
                                "delete k\r\n",
                                "delete k\r\n",
                                "set k 0 0 1\r\na\r\n",
                                "incr k 1\r\n",
                                "set k 0 0 10\r\n0123456789\r\n",
                                "flush_all\r\n"}) {
        c.send("version\r\n");
        c.send(command);
        c.send("get k\r\n");
        EXPECT_EQ(c.read(), "VERSION test\r\n") << command;
        const auto awaited = c.session.answers().awaited();
        ASSERT_GT(awaited, s->durable_epoch()) << command;
        must(s->wait_durable(awaited));
        release();
        EXPECT_NE(c.read(), "") << command;
        EXPECT_EQ(c.session.answers().size(), 0U) << command;
    }
    c.send("set k 0 0 1 noreply\r\n1\r\nget k\r\n");
    EXPECT_EQ(c.read(), "VALUE k 0 1\r\n1\r\nEND\r\n");
}

TEST(session, answers_that_wait_count_against_the_bound) {
    temporary_store s(std::chrono::seconds(10));
    conversation c(*s);
    c.context.ack_durable = true;
    c.context.output_bound = 100;
    for (int i = 0; i < 50; ++i) {
        c.send("set k 0 0 1\r\na\r\n");
    }
    EXPECT_TRUE(c.session.blocked());
    EXPECT_LE(c.session.answers().size(), 108U);
    EXPECT_FALSE(c.untaken().empty());
    std::string got;
    while (c.session.answers().size() != 0) {
        must(s->wait_durable(c.session.answers().awaited()));
        c.session.answers().release(s->durable_epoch());
        got += c.read();
        c.go_on();
    }
    EXPECT_EQ(got.size(), 50 * std::string_view("STORED\r\n").size());
}

TEST(session, reports_a_damaged_record_and_goes_on) {
    temporary_store s;
    must(s->set("good", "1"));
    {
        auto records = s.as_map();
        must(records.put("bad", "nonsense"));
        must(records.close());
    }
    s.open();
    conversation c(*s);
    EXPECT_EQ(c.talk("get good bad good\r\n"),
              "VALUE good 0 1\r\n1\r\nSERVER_ERROR damaged record\r\n");
    EXPECT_EQ(c.talk("gat 0 bad\r\n"), "SERVER_ERROR damaged record\r\n");
    EXPECT_EQ(c.talk("incr bad 1\r\n"), "SERVER_ERROR damaged record\r\n");
    EXPECT_EQ(c.talk("set bad 0 0 1\r\na\r\nget bad\r\n"),
              "STORED\r\nVALUE bad 0 1\r\na\r\nEND\r\n");
}

TEST(session, counts_what_happens) {
    temporary_store s;
    conversation c(*s);
    c.talk(
        "set k 0 0 1\r\n1\r\nget k x\r\nincr k 1\r\ncas k 0 0 1 1\r\na\r\ndelete k\r\ndelete "
        "k\r\ntouch k 1\r\n");
    detail::tallies sum{};
    c.context.count.add_to(sum);
    const auto of = [&](detail::tally which) { return sum[static_cast<std::size_t>(which)]; };
    EXPECT_EQ(of(detail::tally::cmd_get), 2U);
    EXPECT_EQ(of(detail::tally::get_hits), 1U);
    EXPECT_EQ(of(detail::tally::cmd_set), 2U);
    EXPECT_EQ(of(detail::tally::total_items), 1U);
    EXPECT_EQ(of(detail::tally::incr_hits), 1U);
    EXPECT_EQ(of(detail::tally::cas_badval), 1U);
    EXPECT_EQ(of(detail::tally::delete_hits), 1U);
    EXPECT_EQ(of(detail::tally::delete_misses), 1U);
    EXPECT_EQ(of(detail::tally::touch_misses), 1U);
}

}  // namespace
}  // namespace hf::test
