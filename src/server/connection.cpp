#include "server/connection.hpp"

#include <asio/buffer.hpp>
#include <asio/post.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

namespace hf::detail {
namespace {

/// Pieces of output passed to one system call.
constexpr std::size_t pieces_a_write = 16;
/// Rounds that a connection may use before other connections are served.
constexpr int rounds_a_turn = 4;

bool would_block(const asio::error_code& status) {
    static_assert(EWOULDBLOCK == EAGAIN);
    return status == asio::error::would_block;
}

}  // namespace

void connection::begin() {
    asio::error_code status;
    socket_.non_blocking(true, status);
    if (!status) {
        asio::error_code ignored;  // without these options the connection still works
        socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
        socket_.set_option(asio::socket_base::keep_alive(true), ignored);
        return drive();
    }
    close();
}

void connection::drive() {
    auto& answers = session_.answers();
    for (int round = 0; !closed_; ++round) {
        answers.release(owner_.context_.records.durable_epoch());
        if (!write()) {
            return;
        }
        session_.count_unread();
        if (answers.awaited() != 0) {
            owner_.wait_for(shared_from_this(), answers.awaited());
        }
        const bool over = session_.finished() || ended_;
        if (over && answers.size() == 0) {
            return close();
        }
        if (over || session_.blocked()) {
            return;  // resumed when the client reads, or when the epoch is durable
        }
        if (!carried_fresh_) {
            return wait_readable();
        }
        if (round == rounds_a_turn) {
            asio::post(owner_.loop(), [self = shared_from_this()] { self->drive(); });
            return;
        }
        feed();
    }
}

void connection::note_carried() { carried_fresh_ = session_.blocked() || session_.paused(); }

void connection::feed() {
    const std::size_t taken = session_.consume(carried_);
    carried_.erase(0, taken);
    if (carried_.empty()) {
        carried_ = std::string();
    }
    note_carried();
}

void connection::read() {
    asio::error_code status;
    const std::size_t size = socket_.read_some(asio::buffer(owner_.input_), status);
    if (would_block(status)) {
        return;
    }
    if (status == asio::error::eof) {
        ended_ = true;
        return;
    }
    if (status) {
        return close();
    }
    owner_.context_.count.add(tally::bytes_read, size);
    const std::string_view fresh(owner_.input_.data(), size);
    if (carried_.empty()) {
        carried_.assign(fresh.substr(session_.consume(fresh)));
        return note_carried();
    }
    carried_.append(fresh);
    feed();
}

bool connection::write() {
    auto& answers = session_.answers();
    while (answers.sendable() != 0 && !waiting_writable_) {
        std::array<std::string_view, pieces_a_write> pieces;
        const std::size_t count = answers.gather(pieces);
        std::array<asio::const_buffer, pieces_a_write> buffers;
        std::ranges::transform(std::span(pieces).first(count), buffers.begin(),
                               [](std::string_view one) { return asio::buffer(one); });
        asio::error_code status;
        // Usually there is one piece: send is faster than sendmsg.
        const std::size_t size = count == 1
                                     ? socket_.write_some(buffers.front(), status)
                                     : socket_.write_some(std::span(buffers).first(count), status);
        if (would_block(status)) {
            wait_writable();
            break;
        }
        if (status) {
            close();
            return false;
        }
        owner_.context_.count.add(tally::bytes_written, size);
        answers.sent(size);
    }
    return true;
}

void connection::wait_readable() {
    if (waiting_readable_) {
        return;
    }
    waiting_readable_ = true;
    socket_.async_wait(asio::socket_base::wait_read,
                       [self = shared_from_this()](asio::error_code status) {
                           self->waiting_readable_ = false;
                           if (status) {
                               return self->close();
                           }
                           if (!self->ended_) {
                               self->read();
                           }
                           self->drive();
                       });
}

void connection::wait_writable() {
    waiting_writable_ = true;
    socket_.async_wait(asio::socket_base::wait_write,
                       [self = shared_from_this()](asio::error_code status) {
                           self->waiting_writable_ = false;
                           if (status) {
                               return self->close();
                           }
                           self->drive();
                       });
}

void connection::release() {
    in_waiting_list_ = false;
    drive();
}

void connection::finish() {
    ended_ = true;
    drive();
}

void connection::close() {
    if (closed_) {
        return;
    }
    closed_ = true;
    ended_ = true;
    session_.count_unread(true);
    asio::error_code ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
    owner_.forget(shared_from_this());
}

}  // namespace hf::detail
