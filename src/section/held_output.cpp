#include "section/held_output.hpp"

#include "base/thread_name.hpp"
#include "section/inside_runtime.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <thread>
#include <utility>

namespace hf::section {
namespace {

using clock = std::chrono::steady_clock;
constexpr auto look_again = std::chrono::microseconds(500);
constexpr auto room_again = std::chrono::microseconds(100);
constexpr std::size_t max_failed_channels = 256;

std::size_t size_of(const held_output::message& m) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < m.count; ++i) n += m.parts[i].iov_len;
    return n;
}

/// Appends bytes [from, from + n) of the parts.
void append(std::pmr::vector<char>& to, const held_output::message& m, std::size_t from,
            std::size_t n) {
    for (std::size_t i = 0; i < m.count && n != 0; ++i) {
        const iovec& part = m.parts[i];
        if (from >= part.iov_len) {
            from -= part.iov_len;
            continue;
        }
        const std::size_t piece = std::min(n, part.iov_len - from);
        const char* const bytes = static_cast<const char*>(part.iov_base) + from;
        to.insert(to.end(), bytes, bytes + piece);
        from = 0;
        n -= piece;
    }
}

bool does_not_block(int fd, int flags) {
    return (flags & MSG_DONTWAIT) != 0 || (::fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

}  // namespace

void held_output::open(u64 limit, std::chrono::milliseconds patience, owner o) {
    const lock l(mutex_);
    owner_ = std::move(o);
    limit_ = std::max<u64>(limit, 2);
    patience_ = patience;
    newest_ticket_.store(0, std::memory_order_release);
    ending_ = false;
}

// ----------------------------------------------------------------------------------- by a caller

/// The channel of the descriptor, with a duplicate of it; nullptr: there is no such descriptor, or
/// none can be duplicated.
held_output::channel* held_output::channel_of(int fd) {
    struct stat s{};
    if (::fstat(fd, &s) != 0) return nullptr;
    kind is = S_ISFIFO(s.st_mode) ? kind::pipe : kind::file;
    if (S_ISSOCK(s.st_mode)) {
        int type = 0;
        socklen_t n = sizeof type;
        if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) != 0) return nullptr;
        is = type == SOCK_STREAM ? kind::stream : kind::datagram;
    }
    const key of{s.st_ino, s.st_dev, is == kind::file ? fd : -1};
    channel& c = channels_.try_emplace(of, &memory_).first->second;
    if (c.fd == -1 && c.error == 0) {
        c.is = is;
        c.fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (c.fd == -1) return nullptr;
    }
    return &c;
}

ssize_t held_output::hold(int fd, const message& m, const stamp& by, bool is_inside) {
    lock l(mutex_);
    const std::size_t all = size_of(m);
    auto until = clock::now() + patience_;
    std::size_t done = 0;
    const auto so_far = [&] { return done != 0 ? static_cast<ssize_t>(done) : -1; };
    for (;;) {
        channel* const c = channel_of(fd);
        if (c == nullptr) return so_far();
        if (c->error != 0) {
            if (done == 0) errno = std::exchange(c->error, 0);
            return so_far();
        }
        const std::size_t rest = all - done;
        const bool is_whole = c->is == kind::datagram;
        if (is_whole && rest > limit_) {
            errno = EMSGSIZE;
            return -1;
        }
        const u64 room = limit_ - std::min(limit_, bytes_);
        if (room >= (is_whole ? rest : std::min<u64>(rest, limit_ / 2))) {
            const std::size_t n = std::min<u64>(rest, room);
            if (n != 0 || is_whole) take(*c, m, done, n, by);
            done += n;
            until = clock::now() + patience_;
            if (done == all) return static_cast<ssize_t>(done);
        } else if (!wait_for_room(l, fd, m.flags, is_inside, until)) {
            return so_far();
        }
    }
}

bool held_output::wait_for_room(lock& l, int fd, int flags, bool is_inside,
                                clock::time_point until) {
    const bool may_not = does_not_block(fd, flags);
    if (may_not || is_inside || clock::now() >= until) {
        errno = may_not ? EAGAIN : ENOBUFS;
        return false;
    }
    l.unlock();
    owner_.hasten();
    std::this_thread::sleep_for(room_again);
    l.lock();
    return true;
}

/// Waits a moment without the mutex.
void held_output::let_others_go_on(lock& l) {
    l.unlock();
    std::this_thread::sleep_for(look_again);
    l.lock();
}

void held_output::take(channel& c, const message& m, std::size_t from, std::size_t n,
                       const stamp& by) {
    held h(&memory_);
    h.bytes.reserve(n);
    append(h.bytes, m, from, n);
    h.by = by;
    h.flags = m.flags;
    if (m.to != nullptr) {
        const char* const to = reinterpret_cast<const char*>(m.to);
        h.to.assign(to, to + m.to_bytes);
    }
    c.waiting.push_back(std::move(h));
    bytes_ += n;
    ++messages_;
    const u64 newest = newest_ticket_.load(std::memory_order_relaxed);
    newest_ticket_.store(std::max(newest, by.ticket), std::memory_order_release);
    start();
}

bool held_output::hold_shutdown(int fd, int how) {
    const lock l(mutex_);
    if (messages_ == 0) return false;
    channel* const c = channel_of(fd);
    if (c == nullptr || c->waiting.empty()) return false;
    held h(&memory_);
    h.by = c->waiting.back().by;
    h.shutdown_how = how;
    c->waiting.push_back(std::move(h));
    ++messages_;
    return true;
}

bool held_output::flush() {
    lock l(mutex_);
    const auto until = clock::now() + patience_;
    while (messages_ != 0 && clock::now() < until) let_others_go_on(l);
    return messages_ == 0;
}

u64 held_output::finish() {
    lock l(mutex_);
    const auto until = clock::now() + patience_;
    while (has_stable() && clock::now() < until) let_others_go_on(l);
    return bytes_;
}

void held_output::group_closes() {
    const lock l(mutex_);
    owner_.is_stable = [](const stamp&) { return false; };
}

u64 held_output::close(bool is_all_stable) {
    {
        const lock l(mutex_);
        if (is_all_stable) owner_.is_stable = [](const stamp&) { return true; };
    }
    const u64 dropped = finish();
    lock l(mutex_);
    ending_ = true;
    wake_.notify_all();
    while (running_) let_others_go_on(l);
    for (auto& [of, c] : channels_) fail(c, 0);
    channels_.clear();
    return dropped;
}

// ------------------------------------------------------------------------------------- the writer

void held_output::start_writer() {
    const lock l(mutex_);
    start();
}

void held_output::start() {
    wake_.notify_all();
    if (std::exchange(running_, true)) return;
    std::thread([this] {
        belong_to_runtime();
        name_this_thread("hf-output");
        // A peer that has closed is an error of the write; signals are for the program's threads.
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
        run();
    }).detach();
}

void held_output::run() {
    lock l(mutex_);
    while (!ending_) {
        if (messages_ == 0) {
            wake_.wait(l);
            continue;
        }
        bool has_moved = false;
        for (auto& [of, c] : channels_) has_moved |= write_stable(l, c);
        tidy();
        if (!has_moved) wake_.wait_for(l, look_again);
    }
    running_ = false;
}

/// Writes the channel's first messages while they are stable and the descriptor takes them. Returns
/// whether it took any.
bool held_output::write_stable(lock& l, channel& c) {
    bool has_moved = false;
    while (!c.waiting.empty() && !ending_ && owner_.is_stable(c.waiting.front().by)) {
        held& first = c.waiting.front();  // stays where it is: callers append at the other end
        l.unlock();
        const ssize_t n = put(c, first);
        const int why = errno;
        l.lock();
        if (n < 0) {
            if (why == EINTR) continue;
            if (why == EAGAIN) return has_moved;
            fail(c, why);
            return true;
        }
        has_moved = true;
        first.written += static_cast<std::size_t>(n);
        bytes_ -= static_cast<u64>(n);
        if (first.written == first.bytes.size()) {
            c.waiting.pop_front();
            --messages_;
        }
    }
    return has_moved;
}

/// Never waits for a peer: other channels would wait with it. EAGAIN: it takes nothing now.
ssize_t held_output::put(const channel& c, held& h) {
    char* const from = h.bytes.data() + h.written;
    const std::size_t n = h.bytes.size() - h.written;
    if (h.shutdown_how >= 0) return ::shutdown(c.fd, h.shutdown_how);
    if (c.is == kind::stream || c.is == kind::datagram) {
        iovec part{from, n};
        msghdr m{};
        m.msg_iov = &part;
        m.msg_iovlen = 1;
        m.msg_name = h.to.empty() ? nullptr : h.to.data();
        m.msg_namelen = static_cast<socklen_t>(h.to.size());
        return ::sendmsg(c.fd, &m, h.flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (c.is == kind::file) return ::write(c.fd, from, n);
    // A pipe that is writable has room for PIPE_BUF bytes.
    pollfd writable{c.fd, POLLOUT, 0};
    if (::poll(&writable, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return ::write(c.fd, from, std::min<std::size_t>(n, PIPE_BUF));
}

/// Drops what waits, and remembers why.
void held_output::fail(channel& c, int why) {
    for (const held& h : c.waiting) bytes_ -= h.bytes.size() - h.written;
    messages_ -= c.waiting.size();
    c.waiting.clear();
    if (c.fd != -1) ::close(std::exchange(c.fd, -1));
    c.error = why;
}

/// Closes the duplicates of channels in which nothing waits. Errors that no caller asked for are
/// kept for up to 256 channels.
void held_output::tidy() {
    std::size_t failed = 0;
    for (auto i = channels_.begin(); i != channels_.end();) {
        channel& c = i->second;
        if (c.waiting.empty() && c.fd != -1) ::close(std::exchange(c.fd, -1));
        const bool is_over = c.fd == -1 && (c.error == 0 || ++failed > max_failed_channels);
        i = is_over ? channels_.erase(i) : std::next(i);
    }
}

bool held_output::has_stable() const {
    return std::ranges::any_of(channels_, [this](const auto& entry) {
        const auto& waiting = entry.second.waiting;
        return !waiting.empty() && owner_.is_stable(waiting.front().by);
    });
}

void held_output::child_after_fork() {
    for (auto& [of, c] : channels_) fail(c, 0);
    channels_.clear();
    running_ = false;
    mutex_.unlock();
}

}  // namespace hf::section
