// `bench server`: what it sends, what it expects, and that a wrong answer ends it.
#include "bench/options.hpp"
#include "bench/run.hpp"
#include "bench/server/served.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <sstream>
#include <thread>

namespace hf::bench {
namespace {

server_bench_options few_records() {
    server_bench_options o;
    o.records = 1'000;
    return o;
}

unsigned count(std::string_view text, std::string_view part) {
    unsigned n = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

TEST(server_script, is_made_of_batches_of_its_depth) {
    const script s = script::make(few_records(), errand::set, 16, 0);
    for (std::size_t i = 0; i < s.size(); ++i) {
        EXPECT_EQ(s.at(i).count, 16U);
        EXPECT_EQ(count(s.at(i).requests, "set "), 16U);
        EXPECT_EQ(count(s.at(i).answers, "STORED\r\n"), 16U);
    }
}

TEST(server_script, expects_of_a_get_what_the_load_has_set) {
    const server_bench_options o = few_records();
    std::set<std::string> loaded;  // "key size\r\nvalue"
    const auto sizes_of = [&](std::string_view text, const std::string& verb, auto found) {
        for (auto at = text.find(verb); at != std::string_view::npos; at = text.find(verb, at)) {
            at += verb.size();
            const std::string key(text.substr(at, 16));
            const auto end = text.find("\r\n", at);
            const auto size = text.substr(text.rfind(' ', end) + 1, end - text.rfind(' ', end) - 1);
            found(key + std::string(text.substr(end, 2 + std::stoul(std::string(size)))));
        }
    };
    for (unsigned part = 0; part < 2; ++part) {
        const script s = script::load(o, part, 2);
        for (std::size_t i = 0; i < s.size(); ++i) {
            sizes_of(s.at(i).requests, "set ", [&](const auto& one) { loaded.insert(one); });
        }
    }
    EXPECT_EQ(loaded.size(), o.records);
    const script s = script::make(o, errand::get, 1, 0);
    for (std::size_t i = 0; i < s.size(); ++i) {
        sizes_of(s.at(i).answers, "VALUE ",
                 [&](const auto& one) { EXPECT_EQ(loaded.count(one), 1U) << one; });
    }
}

TEST(server_script, deletes_all_that_it_has_inserted_and_no_other_connection_does) {
    std::set<std::string> inserted;
    for (unsigned which = 0; which < 2; ++which) {
        std::set<std::string> mine;
        const script s = script::make(few_records(), errand::change, 1, which);
        for (std::size_t i = 0; i < s.size(); ++i) {
            const std::string_view line = s.at(i).requests;
            if (line.starts_with("set ")) {
                mine.insert(std::string(line.substr(4, 16)));
                EXPECT_TRUE(inserted.insert(std::string(line.substr(4, 16))).second);
            } else {
                EXPECT_TRUE(line.starts_with("delete "));
                EXPECT_EQ(mine.erase(std::string(line.substr(7, 16))), 1U);
            }
        }
        EXPECT_TRUE(mine.empty());
    }
}

TEST(server_client, tells_a_wrong_answer) {
    const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&address), size), 0);
    ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size);
    ASSERT_EQ(::listen(listening, 1), 0);
    auto line = connected::to(ntohs(address.sin_port));
    ASSERT_TRUE(line);
    const int other = ::accept(listening, nullptr, nullptr);
    const std::string_view right = "STORED\r\n";
    const std::string_view wrong = "STOREd\r\n";
    const script::batch expected{"set a 0 0 1\r\nx\r\n", right, 1};
    ASSERT_TRUE(line->send(expected.requests));
    ASSERT_EQ(::send(other, right.data(), right.size(), 0), 8);
    EXPECT_TRUE(line->receive(expected));
    ASSERT_EQ(::send(other, wrong.data(), wrong.size(), 0), 8);
    const auto told = line->receive(expected);
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, errc::violation);
    ::close(other);
    EXPECT_FALSE(line->receive(expected));
    ::close(listening);
}

TEST(server_bench, measures_two_servers_by_turns) {
    if (std::system("memcached -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no memcached";
    const test::scratch_directory place;
    options o;
    o.server.program = "memcached";
    o.server.depths = {1, 4};
    o.server.connections = {2};
    o.server.records = 1'000;
    o.server.operations = 100;
    o.server.repetitions = 2;
    o.server.directory = place.path();
    std::ostringstream out;
    nlohmann::json json;
    const auto done = run_server(o, out, json);
    ASSERT_TRUE(done) << done.error().to_string();
    EXPECT_EQ(json["results"].size(), 8U);
    for (const auto& cell : json["results"]) {
        for (const char* who : {"program", "peer"}) {
            ASSERT_EQ(cell["rounds"][who].size(), 2U);
            for (const auto& r : cell["rounds"][who]) {
                EXPECT_GE(r["requests"].get<u64>(), 200U);
                EXPECT_GT(r["cpu seconds"].get<double>(), 0);
            }
        }
    }
    EXPECT_TRUE(std::filesystem::is_empty(place.path()));
}

TEST(server_bench, says_which_server_does_not_start) {
    const test::scratch_directory place;
    options o;
    o.server.program = "/bin/false";
    o.server.directory = place.path();
    std::ostringstream out;
    nlohmann::json json;
    const auto done = run_server(o, out, json);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().to_string().find("/bin/false"), std::string::npos);
}

}  // namespace
}  // namespace hf::bench
