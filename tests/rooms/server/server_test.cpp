// The server with real sockets.
#include "server/server.hpp"

#include "server/client.hpp"

#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

std::map<std::string, std::string> stats_of(client& c, std::string_view command = "stats\r\n") {
    std::map<std::string, std::string> values;
    std::istringstream lines(c.get(command));
    for (std::string word, name, value; lines >> word >> name && word == "STAT";) {
        std::getline(lines, value);
        values[name] = value.substr(1, value.find('\r') - 1);
    }
    return values;
}

TEST(server, serves_clients_at_a_free_port) {
    running_server s;
    EXPECT_NE(s.port(), 0);
    client a(s.port());
    client b(s.port());
    EXPECT_EQ(a.line("set k 0 0 5\r\nhello\r\n"), "STORED\r\n");
    EXPECT_EQ(b.get("get k\r\n"), "VALUE k 0 5\r\nhello\r\nEND\r\n");
}

TEST(server, serves_over_ipv6) {
    temporary_store records;
    server_options options;
    options.address = "::1";
    options.port = 0;
    auto started = server::start(*records, options);
    if (!started) {
        GTEST_SKIP() << "no IPv6 here: " << started.error().to_string();
    }
    EXPECT_NE((*started)->port(), 0);
}

TEST(server, answers_pipelined_commands_in_order) {
    running_server s;
    client c(s.port());
    std::string commands;
    std::string expected;
    for (int i = 0; i < 5000; ++i) {
        const auto n = std::to_string(i);
        commands += "set k 0 0 " + std::to_string(n.size()) + "\r\n" + n + "\r\nget k\r\n";
        expected += "STORED\r\nVALUE k 0 " + std::to_string(n.size()) + "\r\n" + n + "\r\nEND\r\n";
    }
    std::thread sender([&] { c.send(commands); });
    EXPECT_TRUE(c.read_exactly(expected.size()) == expected);
    sender.join();
}

TEST(server, moves_large_values) {
    server_options options;
    options.max_item_size = std::size_t{64} << 20;
    running_server s(options);
    client c(s.port());
    std::string data(std::size_t{20} << 20, '\0');
    for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = static_cast<char>(i * 31 >> 4);
    }
    const auto size = std::to_string(data.size());
    ASSERT_TRUE(c.send("set k 0 0 " + size + "\r\n" + data + "\r\n"));
    EXPECT_EQ(c.read_until("\r\n"), "STORED\r\n");
    const auto expected = "VALUE k 0 " + size + "\r\n" + data + "\r\nEND\r\n";
    c.send("get k\r\n");
    EXPECT_TRUE(c.read_exactly(expected.size()) == expected);
}

TEST(server, swallows_what_is_too_large) {
    running_server s;
    client c(s.port());
    const std::string data((std::size_t{1} << 20) + 1, 'x');
    EXPECT_EQ(c.line("set k 0 0 " + std::to_string(data.size()) + "\r\n" + data + "\r\n"),
              "SERVER_ERROR object too large for cache\r\n");
    EXPECT_EQ(c.line("version\r\n"), "VERSION 1.6.18\r\n");
    EXPECT_EQ(c.line("set k 0 0 1048576\r\n" + data.substr(1) + "\r\n"), "STORED\r\n");
}

TEST(server, answers_all_that_was_sent_before_the_client_ended_sending) {
    running_server s;
    client c(s.port());
    c.send("set k 0 0 1\r\na\r\nget k\r\nget half");
    c.end_sending();
    EXPECT_EQ(c.read_all(), "STORED\r\nVALUE k 0 1\r\na\r\nEND\r\n");
}

TEST(server, answers_all_however_much_it_is_to_a_client_that_ended_sending_and_reads_late) {
    running_server s;
    const std::string data(50'000, 'x');
    client(s.port()).line("set k 0 0 50000\r\n" + data + "\r\n");
    for (const std::string last : {"", "quit\r\n", "half a line"}) {
        std::string few;  // requests in one packet that exceed a turn
        for (int i = 0; i < 5000; ++i) few += "mn\r\n";
        std::string much;  // answers that exceed the sockets' buffers
        for (int i = 0; i < 200; ++i) much += "get k\r\n";
        client c(s.port(), 4096);
        c.send(few + much + few + last);
        c.end_sending();
        const std::string answer = "VALUE k 0 50000\r\n" + data + "\r\nEND\r\n";
        const auto got = c.read_all();
        ASSERT_EQ(got.size(), 2 * few.size() + 200 * answer.size());
        EXPECT_TRUE(got.starts_with("MN\r\nMN\r\n"));
        EXPECT_TRUE(got.substr(few.size(), answer.size()) == answer);
        EXPECT_TRUE(got.ends_with("MN\r\nMN\r\n"));
    }
}

TEST(server, removes_expired_records_that_nobody_asks_for) {
    constexpr unsigned records = 600;  // more than one step visits
    temporary_store store;
    const std::string data(1000, 'x');
    for (unsigned i = 0; i < records; ++i) {
        must(store->set(std::to_string(i), data, {0, i % 2 == 0 ? store.now() + 1 : 0}));
    }
    must(store->sync());
    const auto before = store->stats().allocated_bytes;
    store.advance(1);
    server_options options;
    options.port = 0;
    options.purge_rate = records;
    const auto server = must(server::start(*store, options));
    while (store->stats().allocated_bytes + records / 2 * data.size() > before) {
        std::this_thread::yield();
    }
    store::record found;
    for (unsigned i = 1; i < records; i += 2) {
        EXPECT_TRUE(must(store->get(std::to_string(i), found)));
    }
}

TEST(server, closes_on_quit_and_on_an_endless_line) {
    running_server s;
    client a(s.port());
    a.send("version\r\nquit\r\n");
    EXPECT_EQ(a.read_all().substr(0, 8), "VERSION ");
    client b(s.port());
    b.send(std::string(2049, 'x'));
    EXPECT_EQ(b.read_all(), "");
    client c(s.port());
    EXPECT_EQ(c.line("mn\r\n"), "MN\r\n");
}

TEST(server, half_a_command_does_not_keep_others_waiting) {
    server_options options;
    options.threads = 1;
    running_server s(options);
    std::vector<std::unique_ptr<client>> silent;
    for (int i = 0; i < 50; ++i) {
        silent.push_back(std::make_unique<client>(s.port()));
        silent.back()->send(i % 2 == 0 ? "get k" : "set k 0 0 1000000\r\nonly this");
    }
    client c(s.port());
    EXPECT_EQ(c.line("set k 0 0 1\r\na\r\n"), "STORED\r\n");
    silent[0]->send("\r\n");
    EXPECT_EQ(silent[0]->read_until("END\r\n"), "VALUE k 0 1\r\na\r\nEND\r\n");
}

TEST(server, does_not_read_from_a_client_that_does_not_read) {
    server_options options;
    options.threads = 1;
    options.max_pending_output = 100'000;
    running_server s(options);
    client other(s.port());
    const std::string data(50'000, 'x');
    other.line("set k 0 0 50000\r\n" + data + "\r\n");
    client deaf(s.port(), 4096);
    std::string commands;
    for (int i = 0; i < 1000; ++i) {
        commands += "get k\r\n";
    }
    // If all of it were processed, the answers would have 7 GiB.
    constexpr std::size_t far_too_much = std::size_t{1} << 30;
    EXPECT_LT(deaf.send_until_full(commands, far_too_much), far_too_much);
    const auto stats = stats_of(other);
    EXPECT_LT(std::stoull(stats.at("cmd_get")), 1000U);
    EXPECT_EQ(deaf.read_exactly(15), "VALUE k 0 50000");
}

TEST(server, goes_on_with_a_client_that_reads_late) {
    server_options options;
    options.max_pending_output = 10'000;
    running_server s(options);
    client c(s.port(), 4096);
    c.line("set k 0 0 5000\r\n" + std::string(5000, 'x') + "\r\n");
    std::string command = "get";
    for (int i = 0; i < 2000; ++i) {
        command += " k";
    }
    c.send(command + "\r\nmn\r\n");
    const std::size_t expected =
        2000 * (std::string_view("VALUE k 0 5000\r\n\r\n").size() + 5000) + 5 + 4;
    EXPECT_EQ(c.read_exactly(expected).substr(expected - 9), "END\r\nMN\r\n");
}

TEST(server, tells_clients_above_the_limit_and_closes) {
    server_options options;
    options.max_connections = 2;
    running_server s(options);
    client a(s.port());
    EXPECT_EQ(a.line("mn\r\n"), "MN\r\n");
    {
        client b(s.port());
        EXPECT_EQ(b.line("mn\r\n"), "MN\r\n");
        client c(s.port());
        EXPECT_EQ(c.read_all(), "ERROR Too many open connections\r\n");
        EXPECT_EQ(stats_of(a).at("rejected_connections"), "1");
        b.send("quit\r\n");
        b.read_all();
    }
    // The slot is free once the server has noticed the close; until then new connections are
    // refused.
    std::string answer;
    while (answer != "MN\r\n") {
        client d(s.port());
        answer = d.line("mn\r\n");
    }
}

TEST(server, shows_memcacheds_statistics_and_its_own) {
    running_server s;
    client c(s.port());
    c.line("set k 0 0 1\r\na\r\n");
    c.get("get k x\r\n");
    const auto stats = stats_of(c);
    EXPECT_EQ(stats.at("cmd_set"), "1");
    EXPECT_EQ(stats.at("get_hits"), "1");
    EXPECT_EQ(stats.at("get_misses"), "1");
    EXPECT_EQ(stats.at("curr_connections"), "1");
    EXPECT_EQ(stats.at("threads"), "4");
    EXPECT_EQ(stats.at("ack"), "buffered");
    for (const auto* name :
         {"pid", "uptime", "time", "version", "epoch", "durable_epoch", "failed_epochs", "flushes",
          "fences", "last_pause_us", "pause_p50_us", "pause_p99_us", "pause_max_us", "recovery_us",
          "log_entries", "region_bytes", "medium", "bytes_read", "bytes_written"}) {
        EXPECT_TRUE(stats.contains(name)) << name;
    }
    EXPECT_EQ(c.line("stats reset\r\n"), "RESET\r\n");
    EXPECT_EQ(stats_of(c).at("cmd_set"), "0");
    const auto settings = stats_of(c, "stats settings\r\n");
    EXPECT_EQ(settings.at("item_size_max"), "1048576");
    EXPECT_EQ(settings.at("tcpport"), std::to_string(s.port()));
    EXPECT_EQ(c.get("stats items\r\n"), "END\r\n");
    EXPECT_EQ(c.line("stats nonsense\r\n"), "ERROR\r\n");
}

TEST(server, stops_when_told_with_clients_connected) {
    running_server s;
    client a(s.port());
    client b(s.port());
    a.line("mn\r\n");
    b.send("set k 0 0 100\r\nhalf");
    s.server->stop();
    s.server->stop();
    s.server->wait();
    EXPECT_EQ(a.read_all(), "");
    EXPECT_FALSE(client(s.port()).connected());
    EXPECT_FALSE(s.server->failure());
}

TEST(server, stops_on_sigterm) {
    server_options options;
    options.handle_signals = true;
    running_server s(options);
    client c(s.port());
    c.line("mn\r\n");
    ::kill(::getpid(), SIGTERM);
    s.server->wait();
    EXPECT_EQ(c.read_all(), "");
}

TEST(server, leaves_the_store_as_the_clients_left_it) {
    running_server s;
    {
        client c(s.port());
        c.line("set k 0 0 1\r\na\r\n");
    }
    s.server.reset();
    s.records.reopen();
    store::record found;
    EXPECT_TRUE(must(s.records->get("k", found)));
}

TEST(server, refuses_absurd_options) {
    temporary_store records;
    const auto code_of = [&](const auto& change) {
        server_options options;
        options.port = 0;
        change(options);
        const auto started = server::start(*records, options);
        return started ? errc::violation : started.error().code;
    };
    EXPECT_EQ(code_of([](server_options& o) { o.threads = 0; }), errc::usage);
    EXPECT_EQ(code_of([](server_options& o) { o.threads = server_options::most_threads + 1; }),
              errc::usage);
    EXPECT_EQ(code_of([](server_options& o) { o.max_item_size = 0; }), errc::usage);
    EXPECT_EQ(code_of([](server_options& o) { o.max_item_size = (std::size_t{64} << 20) + 1; }),
              errc::usage);
    EXPECT_EQ(code_of([](server_options& o) { o.max_connections = 0; }), errc::usage);
    EXPECT_EQ(code_of([](server_options& o) { o.max_pending_output = 0; }), errc::usage);
    EXPECT_EQ(code_of([](server_options& o) { o.max_total_output = o.max_item_size - 1; }),
              errc::usage);
    EXPECT_EQ(code_of([](server_options& o) { o.address = "nowhere"; }), errc::usage);
    EXPECT_EQ(code_of([](server_options& o) { o.address = "192.0.2.1"; }), errc::usage);
}

TEST(server, takes_options_up_to_their_bounds) {
    temporary_store records;
    for (const auto& change : std::initializer_list<void (*)(server_options&)>{
             [](server_options& o) { o.threads = 1; },
             [](server_options& o) { o.threads = server_options::most_threads; },
             [](server_options& o) { o.max_item_size = 1; },
             [](server_options& o) { o.max_item_size = std::size_t{64} << 20; },
             [](server_options& o) { o.max_connections = 1; },
             [](server_options& o) { o.max_pending_output = 1; },
             [](server_options& o) { o.max_total_output = o.max_item_size; }}) {
        server_options options;
        options.port = 0;
        change(options);
        const auto server = must(server::start(*records, options));
        client c(server->port());
        EXPECT_EQ(c.line("set k 0 0 1\r\na\r\n"), "STORED\r\n");
        EXPECT_EQ(c.get("get k\r\n"), "VALUE k 0 1\r\na\r\nEND\r\n");
        const auto settings = stats_of(c, "stats settings\r\n");
        EXPECT_EQ(settings.at("num_threads"), std::to_string(options.threads));
        EXPECT_EQ(settings.at("item_size_max"),
                  std::to_string(std::min(options.max_item_size, store::max_data_size)));
        EXPECT_EQ(settings.at("maxconns"), std::to_string(options.max_connections));
        EXPECT_EQ(settings.at("max_pending_output"), std::to_string(options.max_pending_output));
        EXPECT_EQ(settings.at("max_total_output"), std::to_string(options.max_total_output));
    }
}

// A region has 256 lanes. A worker that got none would never answer its connections.
TEST(server, answers_from_each_of_the_most_threads) {
    server_options options;
    options.threads = server_options::most_threads;
    running_server s(options);
    std::vector<std::unique_ptr<client>> clients;
    for (unsigned i = 0; i < options.threads; ++i) {
        clients.push_back(std::make_unique<client>(s.port()));
        ASSERT_EQ(clients.back()->line("set k 0 0 1\r\na\r\n"), "STORED\r\n") << i;
    }
}

// 40 clients that do not read leave no more than the bound unread; a client that reads is served.
TEST(server, bounds_the_unread_output_of_all_clients_together) {
    constexpr std::size_t value = 200'000;
    server_options options;
    options.threads = 2;
    options.max_total_output = std::size_t{4} << 20;
    running_server s(options);
    client reader(s.port());
    const std::string large(value, 'x');
    ASSERT_EQ(reader.line("set k 0 0 200000\r\n" + large + "\r\n"), "STORED\r\n");
    ASSERT_EQ(reader.line("set small 0 0 1\r\na\r\n"), "STORED\r\n");
    std::vector<std::unique_ptr<client>> idle;
    for (int i = 0; i < 40; ++i) idle.push_back(std::make_unique<client>(s.port(), 4096));
    const auto answer_to_get = [&] {
        reader.send("get k\r\nmn\r\n");
        return reader.read_until("MN\r\n");
    };
    // The kernel takes some answers itself. Then the sum grows to its bound, and long values are
    // refused.
    std::string answer;
    for (int i = 0; i < 2000 && !answer.starts_with("SERVER_ERROR"); ++i) {
        for (const auto& c : idle) ASSERT_TRUE(c->send("get k\r\n"));
        answer = answer_to_get();
    }
    EXPECT_EQ(answer, "SERVER_ERROR out of memory writing get response\r\nMN\r\n");
    EXPECT_EQ(reader.get("get small\r\n"), "VALUE small 0 1\r\na\r\nEND\r\n");
    idle.clear();
    while (answer.starts_with("SERVER_ERROR")) answer = answer_to_get();  // no longer counted
    EXPECT_EQ(answer, "VALUE k 0 200000\r\n" + large + "\r\nEND\r\nMN\r\n");
}

// Two threads reset the counts while others are counted: no difference may wrap.
TEST(server, counts_never_wrap_beside_a_reset) {
    server_options options;
    options.threads = 4;
    running_server s(options);
    std::atomic<bool> over{false};
    const auto repeat = [&](const std::string& command, const std::string& end) {
        return std::thread([&over, &s, command, end] {
            client c(s.port());
            while (!over) {
                c.send(command);
                c.read_until(end);
            }
        });
    };
    std::string gets;
    for (int i = 0; i < 200; ++i) gets += "get a\r\n";
    std::vector<std::thread> others;
    others.push_back(repeat(gets + "mn\r\n", "MN\r\n"));
    others.push_back(repeat("stats reset\r\n", "RESET\r\n"));
    others.push_back(repeat("stats reset\r\n", "RESET\r\n"));
    client c(s.port());
    for (int i = 0; i < 300; ++i) {
        const auto all = stats_of(c, "stats\r\n");
        for (const char* const name : {"cmd_get", "get_misses", "bytes_read", "bytes_written"}) {
            ASSERT_LT(std::stoull(all.at(name)), std::uint64_t{1} << 62) << name;
        }
    }
    over = true;
    for (std::thread& one : others) one.join();
}

TEST(server, counts_connections_that_come_and_go) {
    running_server s;
    client a(s.port());
    EXPECT_EQ(a.line("mn\r\n"), "MN\r\n");
    for (int i = 0; i < 10; ++i) {
        client b(s.port());
        EXPECT_EQ(b.line("mn\r\n"), "MN\r\n");
        EXPECT_EQ(stats_of(b).at("total_connections"), std::to_string(i + 2));
        b.send("quit\r\n");
        EXPECT_EQ(b.read_all(), "");
    }
    while (stats_of(a).at("curr_connections") != "1") std::this_thread::yield();
    EXPECT_EQ(stats_of(a).at("rejected_connections"), "0");
    const auto bytes = stats_of(a);
    EXPECT_EQ(a.line("mn\r\n"), "MN\r\n");
    const auto more = stats_of(a);
    EXPECT_EQ(std::stoull(more.at("bytes_read")) - std::stoull(bytes.at("bytes_read")), 11U);
    EXPECT_GT(std::stoull(more.at("bytes_written")), std::stoull(bytes.at("bytes_written")) + 1000);
    EXPECT_EQ(a.line("stats nonsense\r\n"), "ERROR\r\n");
    for (const auto* empty : {"items", "slabs", "sizes", "conns"}) {
        EXPECT_EQ(a.get("stats " + std::string(empty) + "\r\n"), "END\r\n");
    }
}

TEST(server, says_that_a_port_is_taken) {
    running_server s;
    server_options options;
    options.port = s.port();
    const auto second = server::start(*s.records, options);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, errc::busy);
    EXPECT_NE(second.error().where.find(std::to_string(s.port())), std::string::npos);
}

}  // namespace
}  // namespace hf::test
