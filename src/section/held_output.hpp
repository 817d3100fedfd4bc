// section/held_output.hpp: output that is written once no crash can undo what it tells.
//
// Purpose. A program answers a client from inside a section, or after it. The answer is true only
// if the section survives; so it is kept here until the section is stable, and then written by a
// thread of the runtime:
//
//     hold(fd, message, stamp)        the caller goes on; the bytes wait in the channel of fd
//     ... the section's cut becomes durable: is_stable(stamp) ...
//     the writer sends them
//
// Invariants.
//  HO1  No byte of a message is written before is_stable(its stamp) has been true.
//  HO2  The messages of one channel are written in the order in which hold() took them: the writer
//       checks the first one only, and is the only thread that writes.
//  HO3  At most `limit` bytes wait. A caller beyond that waits itself, outside of sections only.
//       Inside one it gets ENOBUFS at once: its own section would have to end first.
//  HO4  A channel has a duplicate of the descriptor, while messages wait. close(), dup2() and the
//       reuse of the number by the program therefore lose nothing; the peer sees the end of the
//       stream after the last byte.
//  HO5  hold() may be called by a signal handler, whatever its thread was doing: the mutex is held
//       with all signals blocked (signal_mutex.hpp), messages lie in memory of their own
//       (mapped_memory.hpp), and no call waits for another thread while it holds the mutex. Only
//       the writer must have been started before.
//
// Channels. One for each socket or pipe, also if it has several descriptors, and one for each
// descriptor of a file: its key is the inode, and for files the number as well. So a number that
// was closed and given to another connection is a channel of its own.
//
// Errors of a held write (the peer has closed) are reported by the next hold() of that channel, as
// the kernel reports those of write-back; the messages that waited after it are dropped.
//
// Crash, _exit(), exec: the messages that wait are lost, and so the peer knows less than is stable.
//
// Concurrency. One mutex; the writer releases it while it writes. Callers that wait look again from
// time to time, without the mutex. is_stable is called with it held,
// and must not block. Every call is made inside the runtime. A child of fork() begins empty: the
// messages belong to the parent.
//
// Literature. Chakrabarti and Boehm, "Durability Semantics for Lock-based Multithreaded Programs",
// HotPar 2013, section 2: output has to wait until the sections that it depends on are durable.
#pragma once

#include "section/mapped_memory.hpp"
#include "section/signal_mutex.hpp"
#include "section/threads.hpp"

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory_resource>
#include <mutex>
#include <tuple>
#include <vector>

namespace hf::section {

class held_output {
   public:
    /// The moment of a call: stable once no crash can undo what the writer had done by then.
    struct stamp {
        const thread_record* writer;
        u64 ticket;
    };
    struct message {
        const iovec* parts = nullptr;
        std::size_t count = 0;
        int flags = 0;  ///< of send()
        const sockaddr* to = nullptr;
        socklen_t to_bytes = 0;
    };
    struct owner {
        std::function<bool(const stamp&)> is_stable;
        std::function<void()> hasten;  ///< makes a cut come soon; outside of sections
    };

    /// A group has been opened. `patience`: of a caller that waits for room, and of finish().
    void open(u64 limit, std::chrono::milliseconds patience, owner o);
    /// Starts the writer, which the first message starts otherwise: with malloc (HO5).
    void start_writer();
    /// Takes the message. Returns how many of its bytes, which are fewer only in the cases in which
    /// write() takes fewer; or -1 with errno: of an earlier message, or EAGAIN (a descriptor that
    /// does not block), ENOBUFS (HO3: inside a section, or no room within `patience`), EMSGSIZE.
    [[nodiscard]] ssize_t hold(int fd, const message& m, const stamp& by, bool is_inside);
    /// As shutdown(), after the messages that wait. False: none does, and nothing was done.
    [[nodiscard]] bool hold_shutdown(int fd, int how);
    /// Whether a message waits that only a cut of `epoch` makes stable.
    [[nodiscard]] bool needs_cut(u64 epoch) const noexcept {
        return newest_ticket_.load(std::memory_order_acquire) >= epoch;
    }
    /// Waits until no message waits. False: one still does after `patience`.
    [[nodiscard]] bool flush();
    /// Waits until all that is stable has been written, `patience` at most. Returns the number of
    /// bytes that remain.
    [[nodiscard]] u64 finish();
    /// The group, which is_stable asks, is about to be closed: no message becomes stable until
    /// close(), and is_stable is not called any more.
    void group_closes();
    /// The group was closed, after a last cut that is durable or has failed: writes what is stable,
    /// drops the rest, and ends the writer. Returns the number of bytes dropped.
    [[nodiscard]] u64 close(bool is_all_stable);
    [[nodiscard]] u64 limit() const noexcept { return limit_; }

    // --- around fork() ---
    void before_fork() { mutex_.lock(); }
    void parent_after_fork() { mutex_.unlock(); }
    void child_after_fork();

   private:
    using memory = std::pmr::memory_resource;
    struct held {
        explicit held(memory* from) : bytes(from), to(from) {}
        std::pmr::vector<char> bytes;
        std::size_t written = 0;
        stamp by{};
        int flags = 0;
        std::pmr::vector<char> to;  ///< the address; empty: none
        int shutdown_how = -1;      ///< not a message, but the end of the stream
    };
    enum class kind : u8 { stream, datagram, pipe, file };
    struct channel {
        explicit channel(memory* from) : waiting(from) {}
        int fd = -1;  ///< the duplicate; -1: nothing waits
        kind is = kind::file;
        int error = 0;
        std::pmr::deque<held> waiting;
    };
    using key = std::tuple<ino_t, dev_t, int>;  ///< the number is -1 but for files
    using lock = std::unique_lock<signal_mutex>;

    [[nodiscard]] channel* channel_of(int fd);
    [[nodiscard]] bool wait_for_room(lock& l, int fd, int flags, bool is_inside,
                                     std::chrono::steady_clock::time_point until);
    void take(channel& c, const message& m, std::size_t from, std::size_t n, const stamp& by);
    static void let_others_go_on(lock& l);
    void start();
    void run();
    [[nodiscard]] bool write_stable(lock& l, channel& c);
    void fail(channel& c, int why);
    void tidy();
    [[nodiscard]] bool has_stable() const;
    [[nodiscard]] static ssize_t put(const channel& c, held& h);

    signal_mutex mutex_;
    std::condition_variable_any wake_;  ///< the writer's
    mapped_memory pages_;
    std::pmr::unsynchronized_pool_resource memory_{&pages_};
    std::pmr::map<key, channel> channels_{&memory_};
    owner owner_;
    u64 limit_ = 0;
    std::chrono::milliseconds patience_{0};
    u64 bytes_ = 0;     ///< that wait
    u64 messages_ = 0;  ///< that wait
    std::atomic<u64> newest_ticket_{0};
    bool running_ = false;
    bool ending_ = false;
};

}  // namespace hf::section
