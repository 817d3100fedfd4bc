// A server whose disk fails while it runs (disk_faults.cpp): its answers, its exit, and the stored
// data.
#include "tools/program.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <tuple>

namespace hf::test {
namespace {

class server_faults : public ::testing::Test {
   protected:
    server_faults() {
        ::setenv("LD_PRELOAD", HF_DISK_FAULTS, 1);
        ::setenv("HF_FAULTS", dir.path().c_str(), 1);
    }
    ~server_faults() override {
        ::unsetenv("LD_PRELOAD");
        ::unsetenv("HF_FAULTS");
    }
    void turn_on(const std::string& fault) const { std::ofstream(dir / fault) << "on\n"; }
    void turn_off(const std::string& fault) const { std::filesystem::remove(dir / fault); }

    [[nodiscard]] std::vector<std::string> arguments(const std::string& ack) const {
        return {file, "--size", "16m", "--medium", "file", "--epoch", "5ms", "--ack", ack};
    }
    static std::string set(const server_process& s, const std::string& key) {
        return s.ask("set " + key + " 0 0 1\r\nx\r\n", "\r\n");
    }
    static bool has(const server_process& s, const std::string& key) {
        return s.ask("get " + key + "\r\n", "END\r\n") != "END\r\n";
    }
    static int journal_records(const server_process& s) {
        const std::string name = "STAT journal_records ";
        const std::string stats = s.ask("stats\r\n", "END\r\n");
        const auto at = stats.find(name);
        return at == std::string::npos ? -1 : std::stoi(stats.substr(at + name.size()));
    }
    /// Sets keys "<prefix>0", "<prefix>1", ... until the answer is STORED, or is not, as `stored`
    /// says.
    std::string set_until(const server_process& s, const std::string& prefix, bool stored) {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        std::string answer;
        for (unsigned i = 0; std::chrono::steady_clock::now() < give_up; ++i) {
            answer = set(s, prefix + std::to_string(i));
            if (answer == "STORED\r\n") stored_.push_back(prefix + std::to_string(i));
            if ((answer == "STORED\r\n") == stored) return answer;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return "in a minute none but " + answer;
    }

    void expect_what_was_stored(const server_process& s) const {
        for (const std::string& key : stored_) EXPECT_TRUE(has(s, key)) << key;
    }

    scratch dir;
    const std::string file = dir / "store.hf";
    std::vector<std::string> stored_;
};

TEST_F(server_faults, a_full_disk_refuses_writes_until_there_is_room_again) {
    server_process s(arguments("buffered"));
    ASSERT_GT(s.port(), 0) << s.said();
    ASSERT_EQ(set(s, "before"), "STORED\r\n");
    turn_on("no_space");
    const std::string refused = set_until(s, "full", false);
    EXPECT_TRUE(refused.starts_with("SERVER_ERROR ")) << refused;
    EXPECT_NE(refused.find("free space"), std::string::npos) << refused;
    EXPECT_TRUE(has(s, "before")) << "reads do not go on";
    expect_what_was_stored(s);
    EXPECT_NE(s.ask("delete before\r\n", "\r\n"), "DELETED\r\n");
    const std::string stats = s.ask("stats\r\n", "END\r\n");
    EXPECT_EQ(stats.find("STAT journal_refuses no\r\n"), std::string::npos) << stats;
    turn_off("no_space");
    EXPECT_EQ(set_until(s, "after", true), "STORED\r\n");
    EXPECT_EQ(s.end(SIGTERM), 0) << s.said();

    server_process again(arguments("buffered"));
    ASSERT_GT(again.port(), 0) << again.said();
    EXPECT_TRUE(has(again, "before"));
    expect_what_was_stored(again);  // records from before the refusal, too, are durable
}

TEST_F(server_faults, durable_answers_wait_for_room) {
    server_process s(arguments("durable"));
    ASSERT_GT(s.port(), 0) << s.said();
    ASSERT_EQ(set(s, "before"), "STORED\r\n");  // no write is in flight
    turn_on("no_space");
    std::string answer;
    std::thread client([&] { answer = set(s, "waits"); });
    while (s.ask("stats\r\n", "END\r\n").find("journal_refuses no\r\n") != std::string::npos) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    turn_off("no_space");
    client.join();
    EXPECT_EQ(answer, "STORED\r\n");
    EXPECT_EQ(s.end(SIGKILL), 1000 + SIGKILL);
    server_process again(arguments("durable"));
    EXPECT_TRUE(has(again, "waits"));
}

TEST_F(server_faults, closed_on_a_full_disk_it_says_what_is_lost_and_keeps_what_was_durable) {
    {
        server_process s(arguments("durable"));
        ASSERT_GT(s.port(), 0) << s.said();
        ASSERT_EQ(set(s, "durable"), "STORED\r\n");
        EXPECT_EQ(s.end(SIGTERM), 0) << s.said();
    }
    {
        server_process s(arguments("buffered"));
        ASSERT_GT(s.port(), 0) << s.said();
        turn_on("no_space");
        ASSERT_TRUE(set_until(s, "full", false).starts_with("SERVER_ERROR "));
        EXPECT_EQ(s.end(SIGTERM), 8) << s.said();
        EXPECT_EQ(s.said().find("\nclosed cleanly"), std::string::npos) << s.said();
        EXPECT_NE(s.said().find("free space"), std::string::npos) << s.said();
    }
    turn_off("no_space");
    EXPECT_EQ(holdfast({"check", file}).code, 0);
    server_process again(arguments("buffered"));
    ASSERT_GT(again.port(), 0) << again.said();
    EXPECT_TRUE(has(again, "durable"));
}

// After a failed write the disk's contents are unknown, as after a failed sync.
TEST_F(server_faults, a_disk_that_takes_no_more_ends_the_server_with_the_disks_error) {
    for (const std::string ack : {"durable", "buffered"}) {
        {
            server_process s(arguments(ack));
            ASSERT_GT(s.port(), 0) << s.said();
            const int had = journal_records(s);
            ASSERT_EQ(set(s, ack), "STORED\r\n");
            while (journal_records(s) <= had) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            turn_on("broken");
            // there may be an answer if the epoch ends before it is sent
            const std::string answer = set(s, "after");
            EXPECT_TRUE(answer.empty() || ack == "buffered") << answer;
            EXPECT_EQ(s.end(0), 1000 + SIGABRT) << s.said();
            EXPECT_NE(s.said().find("fatal: "), std::string::npos) << s.said();
            EXPECT_NE(s.said().find("Input/output error"), std::string::npos) << s.said();
            EXPECT_EQ(s.said().find("\nclosed cleanly"), std::string::npos) << s.said();
        }
        turn_off("broken");
        EXPECT_EQ(holdfast({"check", file}).code, 0);
        server_process again(arguments(ack));
        ASSERT_GT(again.port(), 0) << again.said();
        EXPECT_TRUE(has(again, ack));
        std::ignore = again.end(SIGKILL);
    }
}

TEST_F(server_faults, a_failed_sync_ends_the_server_and_acknowledges_nothing) {
    {
        server_process s(arguments("durable"));
        ASSERT_GT(s.port(), 0) << s.said();
        ASSERT_EQ(set(s, "before"), "STORED\r\n");
        turn_on("sync");
        EXPECT_EQ(set(s, "after"), "");
        EXPECT_EQ(s.end(0), 1000 + SIGABRT) << s.said();
        EXPECT_NE(s.said().find("fatal: "), std::string::npos) << s.said();
        EXPECT_NE(s.said().find("sync"), std::string::npos) << s.said();
    }
    turn_off("sync");
    EXPECT_EQ(holdfast({"check", file}).code, 0);
    server_process again(arguments("durable"));
    ASSERT_GT(again.port(), 0) << again.said();
    EXPECT_TRUE(has(again, "before"));
}

}  // namespace
}  // namespace hf::test
