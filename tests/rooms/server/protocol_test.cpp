// Command lines are parsed as by memcached.
#include "server/protocol.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hf::detail {
namespace {

using namespace std::string_view_literals;

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (auto word = take_word(text); !word.empty(); word = take_word(text)) {
        words.push_back(word);
    }
    return words;
}

std::string_view complaint(std::string_view line) {
    const auto r = parse_request(line);
    return r.what == verb::refuse ? r.complaint : "accepted";
}

TEST(protocol, reads_an_update) {
    const auto r = parse_request("set some_key 7 -1 10\r");
    EXPECT_EQ(r.what, verb::set);
    EXPECT_EQ(r.key, "some_key");
    EXPECT_EQ(r.flags, 7U);
    EXPECT_EQ(r.exptime, -1);
    EXPECT_EQ(r.size, 10U);
    EXPECT_FALSE(r.quiet);
    EXPECT_TRUE(parse_request("add k 0 0 1 noreply").quiet);
    EXPECT_EQ(parse_request("cas k 0 0 1 99").number, 99U);
    EXPECT_TRUE(parse_request("cas k 0 0 1 99 noreply").quiet);
}

TEST(protocol, knows_every_verb) {
    EXPECT_EQ(parse_request("get k").what, verb::get);
    EXPECT_EQ(parse_request("bget k").what, verb::get);
    EXPECT_EQ(parse_request("gets k").what, verb::gets);
    EXPECT_EQ(parse_request("gat 0 k").what, verb::gat);
    EXPECT_EQ(parse_request("gats 0 k").what, verb::gats);
    EXPECT_EQ(parse_request("set k 0 0 0").what, verb::set);
    EXPECT_EQ(parse_request("add k 0 0 0").what, verb::add);
    EXPECT_EQ(parse_request("replace k 0 0 0").what, verb::replace);
    EXPECT_EQ(parse_request("append k 0 0 0").what, verb::append);
    EXPECT_EQ(parse_request("prepend k 0 0 0").what, verb::prepend);
    EXPECT_EQ(parse_request("cas k 0 0 0 1").what, verb::cas);
    EXPECT_EQ(parse_request("delete k").what, verb::remove);
    EXPECT_EQ(parse_request("incr k 1").what, verb::incr);
    EXPECT_EQ(parse_request("decr k 1").what, verb::decr);
    EXPECT_EQ(parse_request("touch k 1").what, verb::touch);
    EXPECT_EQ(parse_request("flush_all").what, verb::flush_all);
    EXPECT_EQ(parse_request("stats").what, verb::stats);
    EXPECT_EQ(parse_request("version").what, verb::version);
    EXPECT_EQ(parse_request("verbosity 1").what, verb::verbosity);
    EXPECT_EQ(parse_request("mn").what, verb::no_op);
    EXPECT_EQ(parse_request("quit").what, verb::quit);
}

TEST(protocol, exactly_updates_have_a_data_block) {
    for (const auto* line : {"set k 0 0 0", "add k 0 0 0", "replace k 0 0 0", "append k 0 0 0",
                             "prepend k 0 0 0", "cas k 0 0 0 1"}) {
        EXPECT_TRUE(has_data(parse_request(line).what)) << line;
    }
    for (const auto* line : {"get k", "gats 0 k", "delete k", "incr k 1", "quit", "nonsense", ""}) {
        EXPECT_FALSE(has_data(parse_request(line).what)) << line;
    }
}

TEST(protocol, get_keeps_its_keys_however_many) {
    std::string line = "get";
    for (int i = 0; i < 100; ++i) {
        line += " k" + std::to_string(i);
    }
    EXPECT_EQ(words_of(parse_request(line).words).size(), 100U);
    EXPECT_EQ(words_of(parse_request("  gat  5   a  b ").words), (std::vector{"a"sv, "b"sv}));
    EXPECT_EQ(words_of(parse_request("gat 5").words).size(), 0U);
}

TEST(protocol, a_key_has_1_to_250_bytes) {
    const std::string longest(250, 'k');
    const std::string longer(251, 'k');
    constexpr auto format = "CLIENT_ERROR bad command line format"sv;
    EXPECT_EQ(parse_request("get " + longest).what, verb::get);
    EXPECT_EQ(parse_request("set " + longest + " 0 0 1").key, longest);
    EXPECT_EQ(complaint("get a " + longer + " b"), format);
    EXPECT_EQ(complaint("gat 0 " + longer), format);
    EXPECT_EQ(complaint("set " + longer + " 0 0 1"), format);
    EXPECT_EQ(complaint("delete " + longer), format);
    EXPECT_EQ(complaint("incr " + longer + " 1"), format);
    EXPECT_EQ(complaint("touch " + longer + " 1"), format);
    EXPECT_EQ(complaint("get"), "ERROR");
    EXPECT_EQ(complaint("delete"), "ERROR");
}

TEST(protocol, every_command_takes_the_longest_key_and_refuses_a_longer_one) {
    for (const std::string before :
         {"get ", "gets ", "bget ", "gat 0 ", "gats 0 ", "get a ", "gats 0 a ", "set ", "add ",
          "replace ", "append ", "prepend ", "cas ", "incr ", "decr ", "touch ", "delete "}) {
        const bool counts = before == "incr " || before == "decr " || before == "touch ";
        const std::string behind = before == "cas "                                   ? " 0 0 1 2"
                                   : has_data(parse_request(before + "k 0 0 1").what) ? " 0 0 1"
                                   : counts                                           ? " 1"
                                                                                      : "";
        for (const std::size_t size : {1U, 249U, 250U, 251U, 252U, 500U}) {
            EXPECT_EQ(complaint(before + std::string(size, 'k') + behind),
                      size <= 250 ? "accepted" : "CLIENT_ERROR bad command line format")
                << before << size;
        }
    }
}

TEST(protocol, gat_and_gats_have_a_time_before_their_keys) {
    for (const std::string name : {"gat", "gats"}) {
        const auto line = name + " 77 a b";
        const auto r = parse_request(line);
        EXPECT_EQ(r.what, name == "gat" ? verb::gat : verb::gats);
        EXPECT_EQ(r.exptime, 77);
        EXPECT_EQ(words_of(r.words), (std::vector{"a"sv, "b"sv}));
        EXPECT_EQ(complaint(name + " x a"), "CLIENT_ERROR invalid exptime argument");
    }
    for (const std::string name : {"get", "gets", "bget"}) {
        const auto line = name + " 77 a b";
        EXPECT_EQ(words_of(parse_request(line).words), (std::vector{"77"sv, "a"sv, "b"sv}));
    }
}

TEST(protocol, a_key_may_have_any_byte_but_blank_nul_and_line_feed) {
    EXPECT_EQ(parse_request("delete a\tb\x01\x7f\xff\r").key, "a\tb\x01\x7f\xff");
    EXPECT_EQ(parse_request("delete k\r\r").key, "k\r");
    EXPECT_EQ(parse_request("delete a\0b"sv).key, "a");
}

TEST(protocol, refuses_absurd_numbers) {
    constexpr auto format = "CLIENT_ERROR bad command line format"sv;
    for (const auto* line :
         {"set k x 0 1", "set k 0 x 1", "set k 0 0 x", "set k -1 0 1", "set k 0 0 -1",
          "set k 0 0 2147483646", "set k 0 0 99999999999", "set k 0 0 99999999999999999999",
          "set k 0 99999999999999999999 1", "set k 18446744073709551616 0 1", "cas k 0 0 1 x",
          "cas k 0 0 1 -1", "cas k 0 0 1 18446744073709551616", "verbosity x"}) {
        EXPECT_EQ(complaint(line), format) << line;
    }
    for (const auto* line : {"touch k x", "gat x k", "flush_all x"}) {
        EXPECT_EQ(complaint(line), "CLIENT_ERROR invalid exptime argument") << line;
    }
    for (const auto* line : {"incr k x", "decr k -1", "incr k 18446744073709551616", "incr k 1x"}) {
        EXPECT_EQ(complaint(line), "CLIENT_ERROR invalid numeric delta argument") << line;
    }
    EXPECT_EQ(parse_request("set k 0 0 2147483645").size, 2147483645U);
}

TEST(protocol, counts_words) {
    for (const auto* line : {"set k 0 0",
                             "set k 0 0 1 a b",
                             "cas k 0 0 1",
                             "cas k 0 0 1 2 a b",
                             "incr k",
                             "incr k 1 2 3",
                             "touch k",
                             "touch k 1 2 3",
                             "delete k a b c",
                             "flush_all 1 2 3",
                             "verbosity",
                             "verbosity 1 2 3",
                             "gat",
                             "get",
                             "",
                             " ",
                             "x",
                             "xx",
                             "GET k",
                             "set\tk 0 0 1",
                             "lru_crawler crawl all",
                             "watch"}) {
        EXPECT_EQ(complaint(line), "ERROR") << line;
    }
}

TEST(protocol, delete_takes_a_zero_and_noreply_only) {
    EXPECT_EQ(parse_request("delete k 0").what, verb::remove);
    EXPECT_TRUE(parse_request("delete k noreply").quiet);
    EXPECT_TRUE(parse_request("delete k 0 noreply").quiet);
    constexpr auto usage = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]"sv;
    for (const auto* line : {"delete k 1", "delete k 0 0", "delete k 00"}) {
        EXPECT_EQ(complaint(line), usage) << line;
    }
}

TEST(protocol, delete_takes_no_other_words) {
    const std::vector<std::string> words{"", " 0", " noreply", " 1", " x", " 00"};
    for (const auto& first : words) {
        for (const auto& second : words) {
            if (first.empty() && !second.empty()) continue;
            const auto all = first + second;
            const bool good =
                all.empty() || all == " 0" || all == " noreply" || all == " 0 noreply";
            const auto line = "delete k" + all;
            const auto r = parse_request(line);
            EXPECT_EQ(r.what, good ? verb::remove : verb::refuse) << line;
            EXPECT_EQ(r.quiet, all.ends_with("noreply")) << line;
        }
    }
}

TEST(protocol, noreply_silences_the_complaint_about_its_own_line) {
    for (const auto* line : {"set k x 0 1 noreply", "incr k x noreply", "touch k x noreply",
                             "delete k 1 noreply", "verbosity noreply", "flush_all x noreply"}) {
        const auto r = parse_request(line);
        EXPECT_EQ(r.what, verb::refuse) << line;
        EXPECT_TRUE(r.quiet) << line;
    }
    EXPECT_FALSE(parse_request("set k 0 noreply").quiet);
    EXPECT_FALSE(parse_request("nonsense noreply").quiet);
}

TEST(protocol, hangs_up_on_browsers) {
    EXPECT_EQ(parse_request("GET / HTTP/1.1\r").what, verb::hang_up);
    EXPECT_EQ(parse_request("POST /x HTTP/1.0").what, verb::hang_up);
    EXPECT_EQ(parse_request("get / HTTP/1.1").what, verb::get);
    EXPECT_EQ(parse_request("delete / HTTP/1.1").what, verb::refuse);
    EXPECT_EQ(parse_request("PUT / x HTTP/").what, verb::hang_up);
    for (const auto* line : {"P / HTTP/1.1", "PUT / HTTP", "PUT HTTP/1.1 x", "PUT / http/1.1"}) {
        EXPECT_EQ(complaint(line), "ERROR") << line;
    }
    for (const char initial : "gsacidt"sv) {
        EXPECT_EQ(complaint(initial + std::string("xyz / HTTP/1.1")), "ERROR") << initial;
    }
    for (const char initial : "befhjklmnopqruvwxyzGSACIDT"sv) {
        const auto line = initial + std::string("xyz / HTTP/1.1");
        EXPECT_EQ(parse_request(line).what, verb::hang_up) << initial;
    }
}

TEST(protocol, many_words_are_no_command) {
    std::string line = "set";
    for (int i = 0; i < 1000; ++i) {
        line += " 1";
    }
    EXPECT_EQ(complaint(line), "ERROR");
}

TEST(protocol, flush_all_takes_a_time) {
    EXPECT_EQ(parse_request("flush_all 10").exptime, 10);
    EXPECT_EQ(parse_request("flush_all -1 noreply").exptime, -1);
    EXPECT_TRUE(parse_request("flush_all noreply").quiet);
}

}  // namespace
}  // namespace hf::detail
