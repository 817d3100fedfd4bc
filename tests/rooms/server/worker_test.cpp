// How a worker ends, with its connections.
#include "server/worker_by_hand.hpp"

namespace hf::test {
namespace {

class worker_end : public worker_by_hand {
   protected:
    /// Whether the loop ends within the time limit.
    bool ends() {
        worker.loop().run_for(std::chrono::seconds(20));
        return worker.loop().stopped();
    }
};

TEST_F(worker_end, shut_down_it_closes_each_idle_connection_and_counts_it_once) {
    client a(port());
    adopt();
    client b(port());
    adopt();
    EXPECT_EQ(line(a, "mn\r\n"), "MN\r\n");
    EXPECT_EQ(line(b, "mn\r\n"), "MN\r\n");
    worker.shut_down();
    worker.shut_down();
    ASSERT_TRUE(ends());
    EXPECT_EQ(shared.open_connections, 0U);
    EXPECT_EQ(a.read_all(), "");
    EXPECT_EQ(b.read_all(), "");
}

TEST_F(worker_end, shut_down_without_connections_it_ends_at_once) {
    worker.shut_down();
    worker.loop().poll();  // without waiting
    EXPECT_TRUE(worker.loop().stopped());
}

TEST_F(worker_end, shut_down_it_ends_though_a_client_never_takes_its_answers) {
    must(records->set("k", std::string(1'000'000, 'x')));
    client deaf(port(), 4096);
    adopt(65536);
    deaf.send("get k\r\n");
    run_until([&] { return counted(detail::tally::cmd_get) == 1; });
    worker.shut_down();
    turns();
    EXPECT_EQ(shared.open_connections, 1U) << "it gave the client no time";
    ASSERT_TRUE(ends());
    EXPECT_EQ(shared.open_connections, 0U);
}

TEST_F(worker_end, shut_down_it_keeps_no_connection_that_comes_late) {
    worker.shut_down();
    client c(port());
    adopt();
    ASSERT_TRUE(ends());
    EXPECT_EQ(shared.open_connections, 0U);
    EXPECT_EQ(c.read_all(), "");
}

TEST_F(worker_end, abandoned_it_sends_nothing_more) {
    client c(port());
    adopt();
    EXPECT_EQ(line(c, "mn\r\n"), "MN\r\n");
    c.send("mn\r\n");
    worker.abandon();
    ASSERT_TRUE(ends());
    EXPECT_EQ(shared.open_connections, 0U);
    EXPECT_LE(c.read_all().size(), 4U);
}

}  // namespace
}  // namespace hf::test
