// server/server.hpp: serves a store over TCP in the memcached text protocol.
//
// Purpose. `worker` threads, each with its own event loop; a connection belongs to one of them for
// life, so that nothing of a connection is ever locked. The first worker accepts and deals
// connections out in turn.
//
//     client <--> connection (socket) --> session (protocol, answers) --> store
//                      ^ worker thread                                      |
//                      +----- durable epochs <--- durability_waiter <-------+   (--ack durable)
//
// Durability. --ack buffered answers at once, as memcached does: a crash may take back what was
// answered in the last epoch. --ack durable sends the answer to a write once its epoch is durable;
// nobody blocks meanwhile, and whatever waits shares the same epoch (group commit).
//
// Bounds. Connections, output that a client leaves unread (max_pending_output, then its input is
// not read), line lengths, sizes of values. What a connection holds follows what has really
// arrived.
//
// Shutdown. stop() ends accepting and reading, lets answers that wait for their epoch and output on
// its way go out for a few seconds, and closes. The store stays open: it belongs to the caller, and
// must outlive the server.
#pragma once

#include <holdfast/store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hf {

enum class ack_mode : std::uint8_t { buffered, durable };

struct server_options {
    std::string address = "127.0.0.1";                 ///< a numeric address, IPv4 or IPv6
    std::uint16_t port = 11211;                        ///< 0: a free one, told by port()
    unsigned threads = 4;                              ///< 1 to 256
    std::size_t max_item_size = std::size_t{1} << 20;  ///< bytes of data; 1 to 64 MiB
    ack_mode ack = ack_mode::buffered;
    unsigned max_connections = 1024;                        ///< further ones are told so and closed
    std::size_t max_pending_output = std::size_t{1} << 20;  ///< bytes a client may leave unread
    bool handle_signals = false;                            ///< SIGTERM, SIGINT, SIGHUP call stop()
    /// Records looked at each second for expired ones to remove; 0: only those that operations
    /// meet.
    std::size_t purge_rate = 1000;
};

class server {
   public:
    /// Starts serving; returns once connections are accepted.
    static result<std::unique_ptr<server>> start(store& records,
                                                 const server_options& options = {});

    /// Whether start() could listen as things are: so that nothing is made before, nor opened, that
    /// is of no use without. errc::busy, denied, usage: as start() says it.
    static result<void> could_listen(const server_options& options);

    server(const server&) = delete;
    server& operator=(const server&) = delete;
    /// stop() and wait().
    ~server();

    [[nodiscard]] std::uint16_t port() const noexcept;
    /// Begins to shut down. From any thread, any number of times.
    void stop();
    /// Returns when the server has shut down.
    void wait();
    /// Why the server stopped by itself: the store could not make an epoch durable.
    [[nodiscard]] std::optional<error> failure() const;

    struct impl;

   private:
    explicit server(std::unique_ptr<impl> p) noexcept;
    std::unique_ptr<impl> impl_;
};

}  // namespace hf
