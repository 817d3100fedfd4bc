// server/connection.hpp: a client's socket and its session.
//
// Purpose. Moves bytes between a non-blocking socket and a session. Input is read into the worker's
// buffer, so an idle connection holds none; what the session has not taken, at most a line and a
// bufferful, is carried over.
//
//     readable --> read --> session --> write --+--> output below the bound: wait for input
//                             ^                 |
//                             |                 +--> above: wait until the client reads, or the
//                             epoch is durable
//                             +--- carried over input <--+
//
// I1  Input is waited for only when the session has room for answers: a client that does not read
//     is not read from (session.hpp, I2).
// I2  A session that has finished is closed when the last answer is sent.
// I3  `shared_from_this` is held by each wait under way, so a handler never meets a dead
// connection.
// I4  While input is waited for, nothing of the carried input is fresh, and the session is neither
// finished nor blocked: only input makes it so. So there is something fresh only before input ends.
// I5  At most one wait for input, and one for room in the socket, is under way.
//
// Concurrency. Its worker's thread alone.
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
    /// Further epochs are durable: answers that waited for them may be sent.
    void release();
    /// No more input; closes when everything is sent.
    void finish();
    void close();

   private:
    friend class worker;

    void drive();
    void feed();
    void note_carried();
    void read();
    /// Sends what can be sent; false: the connection is closed.
    bool write();
    void wait_readable();
    void wait_writable();

    worker& owner_;
    asio::ip::tcp::socket socket_;
    session session_;
    std::string carried_;
    bool carried_fresh_ = false;  ///< the session may go on with it, if there is any
    bool ended_ = false;          ///< no more input will be read
    bool waiting_readable_ = false;
    bool waiting_writable_ = false;
    bool in_waiting_list_ = false;
    bool closed_ = false;
};

}  // namespace hf::detail
