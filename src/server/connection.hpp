// server/connection.hpp: a client's socket and its session.
//
// Purpose. Moves bytes between a non-blocking socket and a session. Input is read into the worker's
// buffer, so an idle connection holds none. Input that the session did not consume, at most a line
// and a bufferful, is carried over.
//
//     readable --> read --> session --> write --+--> output below the bound: wait for input
//                             ^                 |
//                             |                 +--> above: wait until the client reads, or the
//                             |                      epoch is durable
//                             +--- carried over input <--+
//
// C1  The connection waits for input only if the session has room for answers: a client that does
//     not read its answers is not read from (session.hpp, S2).
// C2  A session that has finished is closed after the last answer is sent.
// C3  Each pending wait holds `shared_from_this`, so a handler never runs on a destroyed
//     connection.
// C4  While the connection waits for input, no carried input is fresh, and the session is neither
//     finished nor blocked: only input changes that. So carried input is fresh only before input
//     ends.
// I5  At most one wait for input, and one for space in the socket, is pending.
//
// Concurrency. Only its worker's thread.
#pragma once

#include "server/session.hpp"
#include "server/worker.hpp"

#include <asio/ip/tcp.hpp>

#include <memory>
#include <string>

namespace hf::detail {

class connection : public std::enable_shared_from_this<connection> {
   public:
    connection(worker& owner, asio::ip::tcp::socket socket)
        : owner_(owner), socket_(std::move(socket)), session_(owner.context()) {}

    void begin();
    /// More epochs are durable: sends answers that waited for them.
    void release();
    /// Reads no more input; closes after everything is sent.
    void finish();
    void close();

   private:
    friend class worker;

    void drive();
    void feed();
    void note_carried();
    void read();
    /// Sends the sendable bytes; false: the connection is closed.
    bool write();
    void wait_readable();
    void wait_writable();

    worker& owner_;
    asio::ip::tcp::socket socket_;
    session session_;
    std::string carried_;
    bool carried_fresh_ = false;  ///< the session may be able to consume carried input
    bool ended_ = false;          ///< no more input will be read
    bool waiting_readable_ = false;
    bool waiting_writable_ = false;
    bool in_waiting_list_ = false;
    bool closed_ = false;
};

}  // namespace hf::detail
