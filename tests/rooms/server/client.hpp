// tests/rooms/server/client.hpp: a simple blocking client, and a server on a temporary store.
#pragma once

#include "server/server.hpp"
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace hf::test {

/// Its time limit is far above what a slow machine needs; it only ends a hung test.
class client {
   public:
    explicit client(std::uint16_t port, int receive_buffer = 0) {
        make(receive_buffer);
        connect(port);
    }
    client() { make(0); }  ///< not connected yet
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client() { ::close(socket_); }

    void connect(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ =
            ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }

    [[nodiscard]] bool connected() const { return connected_; }
    /// The errno of the last read; 0: it read data, or the end of the stream.
    [[nodiscard]] int trouble() const { return trouble_; }

    /// False: the other side has closed.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) {
                return false;
            }
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    /// Sends as much as the socket buffers take while the other side does not read. Returns the
    /// number of bytes.
    std::size_t send_until_full(std::string_view bytes, std::size_t most) {
        std::size_t total = 0;
        int refused = 0;
        while (total < most && refused < 200) {
            const auto sent =
                ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent > 0) {
                total += static_cast<std::size_t>(sent);
                refused = 0;
            } else if (errno == EAGAIN) {
                ++refused;
                ::usleep(5000);
            } else {
                break;
            }
        }
        return total;
    }
    void end_sending() { ::shutdown(socket_, SHUT_WR); }

    /// Reads until the data ends with `end`, or the other side closes.
    std::string read_until(std::string_view end) {
        std::string got;
        while (!got.ends_with(end) && read_some(got, 1U << 20)) {
        }
        return got;
    }
    std::string read_exactly(std::size_t size) {
        std::string got;
        while (got.size() < size && read_some(got, size - got.size())) {
        }
        return got;
    }
    /// Reads until the other side closes.
    std::string read_all() {
        std::string got;
        while (read_some(got, 1U << 20)) {
        }
        return got;
    }
    /// Sends a command and reads an answer of one line.
    std::string line(std::string_view command) {
        send(command);
        return read_until("\r\n");
    }
    /// Sends a get and reads its answer.
    std::string get(std::string_view command) {
        send(command);
        return read_until("END\r\n");
    }

   private:
    void make(int receive_buffer) {
        socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (receive_buffer != 0) {
            ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        }
        const timeval limit{60, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    bool read_some(std::string& got, std::size_t most) {
        const std::size_t before = got.size();
        got.resize(before + std::min<std::size_t>(most, 65536));
        const auto read = ::recv(socket_, got.data() + before, got.size() - before, 0);
        trouble_ = read < 0 ? errno : 0;
        EXPECT_NE(trouble_, EAGAIN) << "no answer for a minute";
        got.resize(before + (read > 0 ? static_cast<std::size_t>(read) : 0));
        return read > 0;
    }

    int socket_ = -1;
    int trouble_ = 0;
    bool connected_ = false;
};

/// A server on a free port.
class running_server {
   public:
    explicit running_server(server_options options = {},
                            std::chrono::microseconds epoch = std::chrono::milliseconds(5))
        : records(epoch) {
        options.port = 0;
        server = must(hf::server::start(*records, options));
    }
    [[nodiscard]] std::uint16_t port() const { return server->port(); }

    temporary_store records;
    std::unique_ptr<hf::server> server;
};

}  // namespace hf::test
