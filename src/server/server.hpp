// server/server.hpp: serves a store over TCP with the memcached text protocol.
//
// Purpose. Several `worker` threads, each with its own event loop. A connection belongs to one
// worker for life, so its state needs no locks. The first worker accepts connections and assigns
// them round-robin.
//
//     client <--> connection (socket) --> session (protocol, answers) --> store
//                      ^ worker thread                                      |
//                      +----- durable epochs <--- durability_waiter <-------+   (--ack durable)
//
// Durability. --ack buffered answers at once, as memcached does: a crash may undo writes that were
// answered in the last epoch. --ack durable sends the answer to a write after its epoch is durable;
// no thread blocks meanwhile, and all waiting answers share one epoch (group commit).
//
// Bounds. The number of connections, unread output of a client (max_pending_output; beyond it, its
// input is not read) and of all clients together (total_output.hpp), line lengths, and value sizes.
// A connection's memory is proportional to the bytes that have really arrived.
//
// Shutdown. stop() ends accepting and reading, waits a few seconds for pending epochs and output,
// and closes. The store stays open: it belongs to the caller, and must outlive the server.
#pragma once

#include <holdfast/store.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace hf {

enum class ack_mode : std::uint8_t { buffered, durable };

struct server_options {
    /// A region has 256 lanes, one a thread that operates on it. The process has other such
    /// threads: the one that opens and closes the store, the epoch's clock, the background pass.
    static constexpr unsigned most_threads = 240;

    std::string address = "127.0.0.1";                 ///< a numeric address, IPv4 or IPv6
    std::uint16_t port = 11211;                        ///< 0: a free one, returned by port()
    unsigned threads = 4;                              ///< 1 to most_threads
    std::size_t max_item_size = std::size_t{1} << 20;  ///< bytes of data; 1 to 64 MiB
    ack_mode ack = ack_mode::buffered;
    /// further ones get an error and are closed
    unsigned max_connections = 1024;
    std::size_t max_pending_output = std::size_t{1} << 20;  ///< bytes a client may leave unread
    /// Bytes that all clients together may leave unread; at least max_item_size. Beyond it, each
    /// client has 16 KiB, and longer values are answered with an error.
    std::size_t max_total_output = std::size_t{256} << 20;
    bool handle_signals = false;  ///< SIGTERM, SIGINT, SIGHUP call stop()
    /// Records checked for expiry each second, to free them; more while many of them are dead
    /// (server/purge_pace.hpp). 0: only those that operations read, or that are in the way of a
    /// write without room.
    std::size_t purge_rate = 1000;
    /// Called once, from a worker's thread, if a file of the store is removed while it is served,
    /// which is checked once a second.
    std::function<void(const error&)> on_missing_file;
};

class server {
   public:
    /// Starts serving; returns when connections are accepted.
    static result<std::unique_ptr<server>> start(store& records,
                                                 const server_options& options = {});

    /// Checks whether start() could listen now, before a region is created or opened for it. Fails
    /// like start(): errc::busy, denied, usage.
    static result<void> could_listen(const server_options& options);

    server(const server&) = delete;
    server& operator=(const server&) = delete;
    /// Calls stop() and wait().
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
