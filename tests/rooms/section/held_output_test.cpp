// The queue of held output, with sections that become stable when a test says so.
#include "section/held_output.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

namespace hf::section {
namespace {

using namespace std::chrono_literals;

/// The two ends of a socket, with a time limit for reads.
class connection {
   public:
    explicit connection(int type = SOCK_STREAM) {
        EXPECT_EQ(::socketpair(AF_UNIX, type, 0, ends_.data()), 0);
        const timeval limit{5, 0};
        ::setsockopt(ends_[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() {
        close_ours();
        close_peer();
    }
    [[nodiscard]] int ours() const { return ends_[0]; }
    [[nodiscard]] int peer() const { return ends_[1]; }
    void close_ours() { close_end(ends_[0]); }
    void close_peer() { close_end(ends_[1]); }
    /// The bytes that the peer reads next; "": nothing has come, or the end of the stream.
    [[nodiscard]] std::string peer_has() const { return receive(MSG_DONTWAIT); }
    /// Waits for n bytes, or the end of the stream.
    [[nodiscard]] std::string peer_reads(std::size_t n) const {
        std::string all;
        while (all.size() < n) {
            const std::string piece = receive(0);
            if (piece.empty()) break;
            all += piece;
        }
        return all;
    }
    [[nodiscard]] bool is_at_its_end() const {
        char c = 0;
        return ::recv(ends_[1], &c, 1, 0) == 0;
    }

   private:
    [[nodiscard]] std::string receive(int flags) const {
        std::array<char, 4096> bytes{};
        const ssize_t n = ::recv(ends_[1], bytes.data(), bytes.size(), flags);
        return {bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
    }
    static void close_end(int& fd) {
        if (fd >= 0) ::close(fd);
        fd = -1;
    }
    std::array<int, 2> ends_{-1, -1};
};

class held_output_queue : public ::testing::Test {
   protected:
    void SetUp() override { open(1 << 20); }
    void TearDown() override {
        stable_ = ~u64{0};
        static_cast<void>(output_.close(true));
    }
    void open(u64 limit) {
        output_.open(limit, 100ms,
                     {[this](const held_output::stamp& s) { return stable_.load() >= s.ticket; },
                      [this] { ++hastened_; }});
    }
    ssize_t hold(int fd, std::string_view bytes, u64 ticket, bool is_inside = false) {
        const iovec part{const_cast<char*>(bytes.data()), bytes.size()};
        return output_.hold(fd, {.parts = &part, .count = 1}, {nullptr, ticket}, is_inside);
    }
    /// Time in which the writer would have written what it may not.
    static void let_the_writer_run() { std::this_thread::sleep_for(3ms); }

    std::atomic<u64> stable_{0};
    std::atomic<int> hastened_{0};
    held_output output_;
    connection c_;
};

TEST_F(held_output_queue, writes_a_message_once_it_is_stable_and_not_before) {
    ASSERT_EQ(hold(c_.ours(), "one", 1), 3);
    ASSERT_EQ(hold(c_.ours(), "two", 2), 3);
    let_the_writer_run();
    EXPECT_EQ(c_.peer_has(), "");
    stable_ = 1;
    EXPECT_EQ(c_.peer_reads(3), "one");
    let_the_writer_run();
    EXPECT_EQ(c_.peer_has(), "");
    stable_ = 2;
    EXPECT_EQ(c_.peer_reads(3), "two");
}

TEST_F(held_output_queue, keeps_the_order_of_a_descriptor_but_not_between_descriptors) {
    const connection other;
    ASSERT_EQ(hold(c_.ours(), "late", 9), 4);
    ASSERT_EQ(hold(c_.ours(), "early", 1), 5);
    ASSERT_EQ(hold(other.ours(), "other", 1), 5);
    stable_ = 1;
    EXPECT_EQ(other.peer_reads(5), "other");
    EXPECT_EQ(c_.peer_has(), "");
    stable_ = 9;
    EXPECT_EQ(c_.peer_reads(9), "lateearly");
}

TEST_F(held_output_queue, a_caller_without_room_fails_after_its_patience_or_at_once_inside) {
    open(8);
    ASSERT_EQ(hold(c_.ours(), "12345678", 1), 8);
    errno = 0;
    EXPECT_EQ(hold(c_.ours(), "9", 1, true), -1);
    EXPECT_EQ(errno, ENOBUFS);
    EXPECT_EQ(hastened_, 0) << "its own section is in the way";
    errno = 0;
    EXPECT_EQ(hold(c_.ours(), "9", 1), -1);
    EXPECT_EQ(errno, ENOBUFS);
    EXPECT_GT(hastened_, 0);
    stable_ = 1;
    EXPECT_EQ(c_.peer_reads(8), "12345678");
}

TEST_F(held_output_queue, a_caller_without_room_goes_on_when_there_is_some) {
    open(8);
    stable_ = 1;
    const std::string text(1000, 'x');
    std::thread caller([&] { EXPECT_EQ(hold(c_.ours(), text, 1), 1000); });
    EXPECT_EQ(c_.peer_reads(text.size()), text);
    caller.join();
}

TEST_F(held_output_queue, a_descriptor_that_does_not_block_gets_EAGAIN_without_room) {
    open(8);
    ::fcntl(c_.ours(), F_SETFL, O_NONBLOCK);
    ASSERT_EQ(hold(c_.ours(), "12345678", 1), 8);
    errno = 0;
    EXPECT_EQ(hold(c_.ours(), "9", 1), -1);
    EXPECT_EQ(errno, EAGAIN);
}

TEST_F(held_output_queue, waits_for_a_peer_that_reads_slowly_and_not_with_other_descriptors) {
    ::fcntl(c_.ours(), F_SETFL, O_NONBLOCK);
    const connection other;
    std::string text;
    for (int i = 0; i < 60000; ++i) text += std::to_string(i);
    stable_ = 1;
    ASSERT_EQ(hold(c_.ours(), text, 1), static_cast<ssize_t>(text.size()));
    let_the_writer_run();
    ASSERT_EQ(hold(other.ours(), "other", 1), 5);
    EXPECT_EQ(other.peer_reads(5), "other");
    EXPECT_EQ(c_.peer_reads(text.size()), text);
}

TEST_F(held_output_queue, a_full_pipe_does_not_stop_other_descriptors) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    stable_ = 1;
    const std::string text(200'000, 'p');
    ASSERT_EQ(hold(pipe[1], text, 1), 200'000);
    let_the_writer_run();
    ASSERT_EQ(hold(c_.ours(), "other", 1), 5);
    EXPECT_EQ(c_.peer_reads(5), "other");
    ::close(pipe[1]);
    std::string got;
    std::array<char, 4096> bytes{};
    for (ssize_t n = 0; (n = ::read(pipe[0], bytes.data(), bytes.size())) > 0;) {
        got.append(bytes.data(), static_cast<std::size_t>(n));
    }
    EXPECT_EQ(got, text);
    ::close(pipe[0]);
}

TEST_F(held_output_queue, closing_or_reusing_a_descriptor_loses_nothing) {
    connection other;
    const int number = c_.ours();
    ASSERT_EQ(hold(number, "first", 1), 5);
    ASSERT_EQ(::dup2(other.ours(), number), number);
    other.close_ours();
    ASSERT_EQ(hold(number, "second", 1), 6);
    stable_ = 1;
    EXPECT_EQ(c_.peer_reads(5), "first");
    EXPECT_TRUE(c_.is_at_its_end());
    EXPECT_EQ(other.peer_reads(6), "second");
    ::close(number);
    EXPECT_TRUE(other.is_at_its_end()) << "the duplicate is closed as well";
}

TEST_F(held_output_queue, shutdown_waits_for_the_bytes_before_it) {
    EXPECT_FALSE(output_.hold_shutdown(c_.ours(), SHUT_WR)) << "nothing waits";
    ASSERT_EQ(hold(c_.ours(), "last", 1), 4);
    EXPECT_TRUE(output_.hold_shutdown(c_.ours(), SHUT_WR));
    let_the_writer_run();
    stable_ = 1;
    EXPECT_EQ(c_.peer_reads(4), "last");
    EXPECT_TRUE(c_.is_at_its_end());
}

TEST_F(held_output_queue, an_error_is_reported_once_by_the_next_call) {
    stable_ = 1;
    c_.close_peer();
    ASSERT_EQ(hold(c_.ours(), "lost", 1), 4);
    ASSERT_TRUE(output_.flush());
    errno = 0;
    EXPECT_EQ(hold(c_.ours(), "next", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    EXPECT_EQ(hold(c_.ours(), "again", 1), 5) << "whose error comes later";
}

TEST_F(held_output_queue, a_datagram_is_written_as_a_whole) {
    open(8);
    const connection d(SOCK_SEQPACKET);
    errno = 0;
    EXPECT_EQ(hold(d.ours(), "123456789", 1), -1);
    EXPECT_EQ(errno, EMSGSIZE);
    ASSERT_EQ(hold(d.ours(), "123", 1), 3);
    ASSERT_EQ(hold(d.ours(), "45", 1), 2);
    stable_ = 1;
    EXPECT_EQ(d.peer_reads(1), "123");
    EXPECT_EQ(d.peer_reads(1), "45");
}

TEST_F(held_output_queue, each_of_several_threads_keeps_its_order) {
    const connection d(SOCK_SEQPACKET);
    const auto run = [&](char name) {
        for (int i = 0; i < 100; ++i) {
            const std::string text = name + std::to_string(1000 + i);
            EXPECT_EQ(hold(d.ours(), text, static_cast<u64>(i)), 5);
        }
    };
    std::thread a(run, 'a');
    std::thread b(run, 'b');
    std::thread clock([&] {
        for (u64 i = 0; i < 100; ++i) stable_ = i;
    });
    std::array<std::string, 2> newest;
    for (int i = 0; i < 200; ++i) {
        const std::string text = d.peer_reads(1);
        ASSERT_EQ(text.size(), 5U);
        std::string& before = newest[text[0] == 'a' ? 0 : 1];
        EXPECT_LT(before, text);
        before = text;
    }
    a.join();
    b.join();
    clock.join();
}

TEST_F(held_output_queue, close_writes_what_is_stable_and_drops_the_rest) {
    const connection other;
    stable_ = 1;
    ASSERT_EQ(hold(c_.ours(), "stable", 1), 6);
    ASSERT_EQ(hold(other.ours(), "not", 2), 3);
    EXPECT_EQ(output_.close(false), 3U);
    EXPECT_EQ(c_.peer_has(), "stable");
    EXPECT_EQ(other.peer_has(), "");
    open(8);
    EXPECT_EQ(hold(c_.ours(), "again", 1), 5);
    EXPECT_EQ(c_.peer_reads(5), "again");
}

}  // namespace
}  // namespace hf::section
