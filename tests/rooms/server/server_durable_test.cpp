// --ack durable: no write is acknowledged before its epoch is durable, and no client waits for
// another's write.
#include "server/client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

constexpr std::chrono::seconds long_epoch{10};

server_options durable(unsigned threads = 2) {
    server_options options;
    options.threads = threads;
    options.ack = ack_mode::durable;
    return options;
}

TEST(server_durable, acknowledges_a_write_only_when_its_epoch_is_durable) {
    running_server s(durable(), long_epoch);
    client c(s.port());
    for (const std::string command :
         {"set k 0 0 1\r\n1\r\n", "add k 0 0 1\r\n1\r\n", "incr k 1\r\n", "touch k 0\r\n",
          "append k 0 0 1\r\n1\r\n", "delete k\r\n", "delete k\r\n", "flush_all\r\n"}) {
        const auto running = s.records->stats().epoch;
        EXPECT_NE(c.line(command), "") << command;
        EXPECT_GE(s.records->durable_epoch(), running) << command;
    }
}

TEST(server_durable, keeps_the_order_of_answers) {
    running_server s(durable(), long_epoch);
    client c(s.port());
    std::string commands;
    std::string expected;
    for (int i = 0; i < 300; ++i) {
        const auto n = std::to_string(i % 10);
        commands += "set k 0 0 1\r\n" + n + "\r\nget k\r\nmn\r\ndelete none\r\n";
        expected += "STORED\r\nVALUE k 0 1\r\n" + n + "\r\nEND\r\nMN\r\nNOT_FOUND\r\n";
    }
    c.send(commands);
    EXPECT_EQ(c.read_exactly(expected.size()), expected);
}

TEST(server_durable, answers_others_while_writers_wait) {
    // One worker: if it waited for an epoch, the reader's answer would come after the writers'.
    running_server s(durable(1), long_epoch);
    client reader(s.port());
    EXPECT_EQ(reader.line("mn\r\n"), "MN\r\n");
    std::atomic<bool> done{false};
    std::thread writing([&] {
        client writer(s.port());
        for (int i = 0; i < 50; ++i) {
            EXPECT_EQ(writer.line("set k 0 0 1\r\na\r\n"), "STORED\r\n");
        }
        done = true;
    });
    while (!done) {
        EXPECT_EQ(reader.line("mn\r\n"), "MN\r\n");
    }
    writing.join();
}

TEST(server_durable, commits_many_writes_in_few_epochs) {
    constexpr int clients = 20;
    constexpr int writes = 50;
    running_server s(durable(), long_epoch);
    std::string commands;
    for (int i = 0; i < writes; ++i) {
        commands += "set k 0 0 1\r\na\r\n";
    }
    std::vector<std::unique_ptr<client>> all;
    const auto before = s.records->stats().epoch;
    for (int i = 0; i < clients; ++i) {
        all.push_back(std::make_unique<client>(s.port()));
        all.back()->send(commands);
    }
    for (auto& one : all) {
        EXPECT_EQ(one->read_exactly(writes * 8).size(), writes * 8U);
    }
    // An epoch ends early for waiting clients, and a client waits once for each packet, not for
    // each write.
    EXPECT_LT(s.records->stats().epoch - before, clients * writes / 4);
}

TEST(server_durable, noreply_waits_for_nothing) {
    running_server s(durable(), long_epoch);
    client c(s.port());
    const auto durable_before = s.records->durable_epoch();
    EXPECT_EQ(c.get("set k 0 0 1 noreply\r\na\r\nget k\r\n"), "VALUE k 0 1\r\na\r\nEND\r\n");
    EXPECT_EQ(s.records->durable_epoch(), durable_before);
}

TEST(server_durable, sends_answers_that_wait_when_it_is_stopped) {
    running_server s(durable(), long_epoch);
    for (int i = 0; i < 20; ++i) {
        client c(s.port());
        EXPECT_EQ(c.line("mn\r\n"), "MN\r\n");
        c.send("set k 0 0 1\r\na\r\nset l 0 0 1\r\na\r\n");
        if (i < 19) {
            continue;  // closed with unread answers
        }
        EXPECT_EQ(c.read_exactly(16), "STORED\r\nSTORED\r\n");
        s.server->stop();
        EXPECT_EQ(c.read_all(), "");
    }
    s.server->wait();
    EXPECT_FALSE(s.server->failure());
}

TEST(server_durable, what_was_acknowledged_is_there_after_a_restart) {
    running_server s(durable(), long_epoch);
    {
        client c(s.port());
        EXPECT_EQ(c.line("set k 0 0 1\r\na\r\n"), "STORED\r\n");
    }
    s.server.reset();
    s.records.reopen();
    store::record found;
    EXPECT_TRUE(must(s.records->get("k", found)));
}

}  // namespace
}  // namespace hf::test
