// Many concurrent clients, with both modes of acknowledgement: for ThreadSanitizer, and for lost
// updates.
#include "server/client.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

constexpr int clients = 6;

template <class Body>
void with_clients(std::uint16_t port, const Body& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i) {
        threads.emplace_back([&body, port, i] {
            client c(port);
            body(c, i);
        });
    }
    for (auto& one : threads) {
        one.join();
    }
}

class server_concurrency : public ::testing::TestWithParam<ack_mode> {
   protected:
    server_concurrency() {
        options_.ack = GetParam();
        options_.threads = 3;
    }
    server_options options_;
};

TEST_P(server_concurrency, counts_every_increment_once) {
    running_server s(options_);
    client c(s.port());
    c.line("set n 0 0 1\r\n0\r\n");
    constexpr int rounds = 100;
    with_clients(s.port(), [](client& one, int) {
        for (int i = 0; i < rounds; ++i) {
            one.line("incr n 1\r\n");
        }
    });
    EXPECT_EQ(c.line("incr n 0\r\n"), std::to_string(clients * rounds) + "\r\n");
}

TEST_P(server_concurrency, each_client_reads_its_own_writes) {
    running_server s(options_);
    with_clients(s.port(), [](client& one, int me) {
        const auto key = "k" + std::to_string(me);
        for (int i = 0; i < 50; ++i) {
            const std::string data(static_cast<std::size_t>(i) * 700, static_cast<char>('a' + me));
            const auto size = std::to_string(data.size());
            EXPECT_EQ(one.line("set " + key + " 0 0 " + size + "\r\n" + data + "\r\n"),
                      "STORED\r\n");
            EXPECT_EQ(one.get("get " + key + "\r\n"),
                      "VALUE " + key + " 0 " + size + "\r\n" + data + "\r\nEND\r\n");
        }
    });
}

TEST_P(server_concurrency, clients_come_and_go_while_it_stops) {
    running_server s(options_);
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i) {
        threads.emplace_back([&, i] {
            for (int n = 0;; ++n) {
                client c(s.port());
                if (!c.connected() || !c.send("set k 0 0 1\r\na\r\nstats\r\n") ||
                    c.read_until("END\r\n").empty()) {
                    return;
                }
                if (i == 0 && n == 20) {
                    s.server->stop();
                }
            }
        });
    }
    s.server->wait();
    for (auto& one : threads) {
        one.join();
    }
}

INSTANTIATE_TEST_SUITE_P(acks, server_concurrency,
                         ::testing::Values(ack_mode::buffered, ack_mode::durable),
                         [](const auto& i) {
                             return i.param == ack_mode::durable ? "durable" : "buffered";
                         });

}  // namespace
}  // namespace hf::test
