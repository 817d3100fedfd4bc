// tests/rooms/server/worker_by_hand.hpp: a worker without a thread. The test runs its loop, so it
// can count the turns of connections, and act between two of them.
#pragma once

#include "server/client.hpp"
#include "server/worker.hpp"

#include <asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace hf::test {

class worker_by_hand : public ::testing::Test {
   protected:
    using tcp = asio::ip::tcp;

    worker_by_hand() { worker.context().version = "test"; }
    void TearDown() override {
        worker.abandon();
        run_until([&] { return worker.loop().stopped(); });
    }

    [[nodiscard]] std::uint16_t port() const { return listening.local_endpoint().port(); }
    /// Adopts the client that has connected. Returns the descriptor of the server's end.
    int adopt(int send_buffer = 0) {
        tcp::socket socket = listening.accept();
        if (send_buffer != 0) {
            socket.set_option(asio::socket_base::send_buffer_size(send_buffer));
        }
        const int fd = socket.native_handle();
        ++shared.open_connections;
        worker.adopt(std::move(socket));
        return fd;
    }

    /// Runs the loop until it has been idle for a while. Returns the number of turns; a number of
    /// at least `many` means a loop that is never idle.
    std::size_t turns() {
        std::size_t n = 0;
        while (n < many && worker.loop().run_one_for(std::chrono::milliseconds(20)) != 0) ++n;
        return n;
    }
    template <class Condition>
    void run_until(const Condition& is_so) {
        while (!is_so()) worker.loop().run_one_for(std::chrono::milliseconds(1));
    }
    /// Returns the result of `read`, which may block: the loop runs meanwhile.
    template <class Read>
    std::string meanwhile(const Read& read) {
        std::atomic<bool> done{false};
        std::string got;
        std::thread reading([&] {
            got = read();
            done = true;
        });
        run_until([&] { return done.load(); });
        reading.join();
        return got;
    }
    std::string line(client& c, std::string_view command) {
        return meanwhile([&] { return c.line(command); });
    }
    [[nodiscard]] u64 counted(detail::tally which) {
        detail::tallies sum{};
        worker.context().count.add_to(sum);
        return sum[static_cast<std::size_t>(which)];
    }

    static constexpr std::size_t many = 5000;

    temporary_store records{std::chrono::seconds(10)};
    detail::shared_state shared;
    detail::worker worker{*records, shared};
    tcp::acceptor listening{worker.loop(), tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
};

}  // namespace hf::test
