// A connection's requests to its event loop, and its end.
#include "server/worker_by_hand.hpp"

#include <asio/post.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace hf::test {
namespace {

class connection : public worker_by_hand {
   protected:
    /// A client that requests more than the sockets can buffer, and does not read it.
    void fill_the_sockets(client& deaf) {
        must(records->set("k", std::string(data_size, 'x')));
        adopt(65536);
        deaf.send("get k\r\n");
        run_until([&] { return counted(detail::tally::cmd_get) == 1; });
        EXPECT_LT(turns(), few);
        EXPECT_LT(counted(detail::tally::bytes_written), data_size);
    }
    /// Adopts the client, answers it once, and leaves more input from it unread.
    int adopt_with_input(client& c) {
        const int fd = adopt();
        EXPECT_EQ(line(c, "mn\r\n"), "MN\r\n");
        turns();
        c.send("mn\r\n");
        pollfd readable{fd, POLLIN, 0};
        EXPECT_EQ(::poll(&readable, 1, -1), 1);
        return fd;
    }
    static bool is_whole(const std::string& answer) {
        return answer.size() == whole && answer.starts_with("VALUE k 0 1000000\r\nx") &&
               answer.ends_with("x\r\nEND\r\n");
    }

    static constexpr std::size_t data_size = 1'000'000;
    static constexpr std::size_t whole = data_size + 19 + 7;
    static constexpr std::size_t few = 50;
};

TEST_F(connection, rests_while_the_client_that_ended_sending_does_not_read) {
    worker.context().output_bound = 2 * data_size;
    client c(port(), 4096);
    fill_the_sockets(c);
    c.end_sending();
    EXPECT_LT(turns(), few);
    EXPECT_EQ(shared.open_connections, 1U);
    EXPECT_TRUE(is_whole(meanwhile([&] { return c.read_all(); })));
    EXPECT_EQ(shared.open_connections, 0U);
}

TEST_F(connection, rests_while_the_client_that_does_not_read_sends) {
    worker.context().output_bound = 1;
    client c(port(), 4096);
    fill_the_sockets(c);
    c.send("version\r\n");
    EXPECT_LT(turns(), few);
    EXPECT_TRUE(is_whole(meanwhile([&] { return c.read_exactly(whole); })));
    EXPECT_EQ(meanwhile([&] { return c.read_until("\r\n"); }), "VERSION test\r\n");
    EXPECT_LT(turns(), few);
}

TEST_F(connection, waits_for_room_once_however_often_it_has_something_to_send) {
    worker.context().output_bound = 2 * data_size;
    client c(port(), 4096);
    fill_the_sockets(c);
    constexpr std::size_t commands = 1000;
    for (std::size_t i = 0; i < commands; ++i) {
        const auto before = counted(detail::tally::bytes_read);
        c.send("mn\r\n");
        run_until([&] { return counted(detail::tally::bytes_read) != before; });
    }
    std::atomic<bool> done{false};
    std::string got;
    std::thread reading([&] {
        got = c.read_exactly(whole + 4 * commands);
        done = true;
    });
    std::size_t n = 0;
    while (!done) n += worker.loop().run_one_for(std::chrono::milliseconds(1));
    reading.join();
    EXPECT_LT(n, commands / 2);
    EXPECT_TRUE(is_whole(got.substr(0, whole)));
    EXPECT_TRUE(got.ends_with("MN\r\nMN\r\n"));
}

TEST_F(connection, waits_for_input_once_however_many_epochs_end) {
    detail::durability_waiter waiter(
        *records, [&](ticket) { worker.release(); },
        [](const error& e) { ADD_FAILURE() << e.to_string(); });
    shared.waiter = &waiter;
    worker.context().ack_durable = true;
    client c(port());
    adopt();
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(line(c, "set k 0 0 1\r\na\r\n"), "STORED\r\n");
    }
    turns();
    c.send("mn\r\n");
    EXPECT_LT(turns(), 10U);
    EXPECT_EQ(c.read_until("\r\n"), "MN\r\n");
}

TEST_F(connection, reads_nothing_more_once_it_is_to_finish) {
    worker.context().output_bound = 2 * data_size;
    client c(port(), 4096);
    fill_the_sockets(c);
    worker.shut_down();
    turns();
    const auto before = counted(detail::tally::bytes_read);
    c.send("set late 0 0 1\r\na\r\n");
    EXPECT_LT(turns(), few);
    EXPECT_EQ(counted(detail::tally::bytes_read), before);
    store::record found;
    EXPECT_FALSE(must(records->get("late", found)));
}

TEST_F(connection, stays_when_there_was_nothing_to_read_after_all) {
    client c(port());
    const int fd = adopt_with_input(c);
    // Runs after the loop has polled the sockets, and before it handles the result.
    asio::post(worker.loop(), [&] {
        char bytes[16];
        EXPECT_EQ(::recv(fd, bytes, sizeof bytes, 0), 4);
    });
    EXPECT_LT(turns(), few);
    EXPECT_EQ(line(c, "version\r\n"), "VERSION test\r\n");
}

TEST_F(connection, ends_when_its_socket_cannot_be_read) {
    client c(port());
    const int fd = adopt_with_input(c);
    asio::post(worker.loop(), [&] {
        const int other = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        EXPECT_EQ(::dup3(other, fd, O_CLOEXEC), fd);
        ::close(other);
    });
    EXPECT_LT(turns(), few);
    EXPECT_EQ(shared.open_connections, 0U);
}

TEST_F(connection, ends_without_a_reset_though_the_client_sent_more_than_was_read) {
    client c(port());
    c.send("quit\r\n" + std::string(100'000, 'x'));
    adopt();
    EXPECT_EQ(meanwhile([&] { return c.read_all(); }), "");
    EXPECT_EQ(c.trouble(), 0) << "an end, not an error";
}

}  // namespace
}  // namespace hf::test
