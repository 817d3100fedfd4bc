// `holdfast serve` serves, closes in order, and recovers after SIGKILL.
#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

namespace hf::test {
namespace {

class serve : public ::testing::Test {
   protected:
    scratch dir;
    const std::string file = dir / "store.hf";

    bool is_clean() { return holdfast({"info", file, "--json"}).json()["clean"].get<bool>(); }
};

/// "NAME VALUE" of each line of an answer to `stats`.
std::map<std::string, std::string> figures_of(const server_process& s, const std::string& what) {
    std::istringstream in(s.ask(what + "\r\n", "END\r\n"));
    std::map<std::string, std::string> all;
    for (std::string stat, name, value; in >> stat && stat == "STAT";) {
        in >> name;
        std::getline(in >> std::ws, value, '\r');
        all[name] = value;
    }
    return all;
}

int epoch_of(const server_process& s) { return std::stoi(figures_of(s, "stats").at("epoch")); }

const std::string set_k = "set k 0 0 5\r\nhello\r\n";
const std::string hello = "VALUE k 0 5\r\nhello\r\nEND\r\n";

TEST_F(serve, creates_a_region_and_closes_it_in_order) {
    for (const int signal : {SIGTERM, SIGINT}) {
        std::filesystem::remove(file);
        server_process s({"--file", file, "--size", "16m"});
        ASSERT_GT(s.port(), 0) << s.said();
        EXPECT_EQ(s.ask(set_k, "STORED\r\n"), "STORED\r\n");
        EXPECT_EQ(s.ask("get k\r\n", "END\r\n"), hello);
        EXPECT_EQ(s.end(signal), 0);
        EXPECT_NE(s.said().find("created"), std::string::npos) << s.said();
        EXPECT_NE(s.said().find("closed cleanly"), std::string::npos) << s.said();
        EXPECT_TRUE(is_clean());
        EXPECT_EQ(holdfast({"check", file}).code, 0);
    }
}

TEST_F(serve, serves_again_what_was_durable_before_it_was_killed) {
    {
        server_process s({file, "--size", "16m", "--ack", "durable", "--threads", "1"});
        ASSERT_GT(s.port(), 0) << s.said();
        EXPECT_EQ(s.ask(set_k, "STORED\r\n"), "STORED\r\n");
        EXPECT_EQ(s.end(SIGKILL), 1000 + SIGKILL);
    }
    EXPECT_FALSE(is_clean());
    EXPECT_EQ(holdfast({"check", file}).code, 0);
    server_process s({file});
    ASSERT_GT(s.port(), 0) << s.said();
    EXPECT_NE(s.said().find("recovered in "), std::string::npos) << s.said();
    EXPECT_EQ(s.ask("get k\r\n", "END\r\n"), hello);
    EXPECT_EQ(s.end(SIGTERM), 0);
    EXPECT_TRUE(is_clean());
}

TEST_F(serve, serves_again_what_the_journal_of_a_killed_process_has) {
    {
        server_process s(
            {file, "--size", "16m", "--ack", "durable", "--threads", "1", "--image", "journalled"});
        ASSERT_GT(s.port(), 0) << s.said();
        EXPECT_NE(s.said().find("medium shm, image journalled"), std::string::npos) << s.said();
        EXPECT_EQ(s.ask(set_k, "STORED\r\n"), "STORED\r\n");
        EXPECT_EQ(s.end(SIGKILL), 1000 + SIGKILL);
    }
    EXPECT_TRUE(std::filesystem::exists(file + ".journal"));
    server_process s({file});
    ASSERT_GT(s.port(), 0) << s.said();
    EXPECT_EQ(s.ask("get k\r\n", "END\r\n"), hello);
    EXPECT_FALSE(std::filesystem::exists(file + ".journal")) << "the image is shared now";
    EXPECT_EQ(s.end(SIGTERM), 0);
    EXPECT_TRUE(is_clean());
}

/// A region with a record whose value is damaged.
TEST_F(serve, what_can_be_read_of_a_damaged_region_and_changes_nothing_in_it) {
    const std::string value = "a value that is found in the file";
    {
        server_process s({file, "--size", "16m", "--read-only-if-damaged"});
        ASSERT_GT(s.port(), 0) << s.said();
        EXPECT_EQ(s.said().find("damaged"), std::string::npos) << "there was no region";
        EXPECT_EQ(s.ask(set_k, "STORED\r\n"), "STORED\r\n");
        EXPECT_EQ(s.ask("set lost 0 0 33\r\n" + value + "\r\n", "STORED\r\n"), "STORED\r\n");
        EXPECT_EQ(s.end(SIGTERM), 0);
    }
    {
        server_process s({file, "--read-only-if-damaged"});
        EXPECT_EQ(s.said().find("damaged"), std::string::npos) << "it is sound";
        EXPECT_EQ(s.ask(set_k, "STORED\r\n"), "STORED\r\n");
        EXPECT_EQ(s.end(SIGTERM), 0);
    }
    const std::uint64_t at = read_file(file).find(value);
    ASSERT_NE(at, std::string::npos);
    flip(file, at + 5);
    const std::string damaged = read_file(file);
    EXPECT_EQ(holdfast({"check", file}).code, 1);
    server_process s({file, "--read-only-if-damaged", "--medium", "shm"});
    ASSERT_GT(s.port(), 0) << s.said();
    EXPECT_NE(s.said().find("read-only"), std::string::npos) << s.said();
    EXPECT_NE(s.said().find("checksum is not that of its key and value"), std::string::npos);
    EXPECT_EQ(s.ask("get k\r\n", "END\r\n"), hello);
    EXPECT_EQ(s.ask("get lost\r\n", "\r\n"), "SERVER_ERROR damaged record\r\n");
    for (const char* write : {"set k 0 0 1\r\nx\r\n", "delete k\r\n", "append k 0 0 1\r\nx\r\n"}) {
        EXPECT_EQ(s.ask(write, "\r\n"), "SERVER_ERROR the store is served read-only\r\n");
    }
    EXPECT_EQ(s.end(SIGTERM), 0);
    EXPECT_EQ(read_file(file), damaged);
}

TEST_F(serve, makes_the_directory_of_the_default_file) {
    server_process s({"--size", "16m"}, dir.path());
    ASSERT_GT(s.port(), 0) << s.said();
    EXPECT_TRUE(std::filesystem::exists(dir / "data/store.hf"));
    const auto mode = std::filesystem::status(dir / "data").permissions();
    EXPECT_EQ(mode & std::filesystem::perms::all, std::filesystem::perms::owner_all);
    EXPECT_EQ(s.end(SIGTERM), 0);
}

TEST_F(serve, takes_all_its_options) {
    server_process s({"-f",
                      file,
                      "-l",
                      "127.0.0.1",
                      "-t",
                      "2",
                      "--ack",
                      "buffered",
                      "--epoch",
                      "10ms",
                      "--max-value",
                      "64k",
                      "--size",
                      "16MiB",
                      "--max-size",
                      "1G",
                      "--medium",
                      "shm",
                      "--flush",
                      "always",
                      "--fence-latency",
                      "pcm",
                      "--max-connections",
                      "5"});
    ASSERT_GT(s.port(), 0) << s.said();
    EXPECT_NE(s.said().find("lines written back with"), std::string::npos) << s.said();
    EXPECT_EQ(s.ask("set k 0 0 70000\r\n" + std::string(70000, 'x') + "\r\n", "\r\n"),
              "SERVER_ERROR object too large for cache\r\n");
    EXPECT_NE(s.said().find("the last epoch, 10 ms at most (--ack buffered)"), std::string::npos);
    auto told = figures_of(s, "stats settings");
    EXPECT_EQ(told.at("num_threads"), "2");
    EXPECT_EQ(told.at("item_size_max"), "65536");
    EXPECT_EQ(told.at("maxconns"), "5");
    EXPECT_EQ(told.at("ack"), "buffered");
    EXPECT_EQ(told.at("inter"), "127.0.0.1");
    EXPECT_EQ(told.at("tcpport"), std::to_string(s.port()));
    told = figures_of(s, "stats");
    EXPECT_EQ(told.at("limit_maxbytes"), std::to_string(1 << 30));
    EXPECT_EQ(told.at("region_bytes"), std::to_string(16 << 20));
    EXPECT_EQ(told.at("medium"), "shm");
    EXPECT_EQ(told.at("fence_latency_ns"), "180");
    EXPECT_NE(told.at("flush_instruction"), "none");
    EXPECT_EQ(s.end(SIGTERM), 0);
}

TEST_F(serve, has_other_settings_where_other_options_are_given) {
    server_process s({file, "--listen", "0.0.0.0", "--threads", "1", "--ack", "durable",
                      "--max-size", "20m", "--flush", "never", "--epoch", "10s"});
    ASSERT_GT(s.port(), 0) << s.said();
    EXPECT_NE(s.said().find(" on 0.0.0.0:" + std::to_string(s.port()) + " with 1 threads"),
              std::string::npos)
        << s.said();
    EXPECT_NE(s.said().find("no lines written back"), std::string::npos) << s.said();
    EXPECT_NE(s.said().find("(--ack durable)"), std::string::npos) << s.said();
}

// Tmpfs needs no fences, unless a latency is set for them.
TEST_F(serve, waits_at_each_fence_as_long_as_it_was_told) {
    for (const std::string latency : {"0", "1", "700", "sttm"}) {
        std::filesystem::remove(file);
        const server_process s({file, "--size", "16m", "--flush", "never", "--ack", "durable",
                                "--fence-latency", latency});
        ASSERT_GT(s.port(), 0) << s.said();
        EXPECT_EQ(s.ask(set_k, "STORED\r\n"), "STORED\r\n");
        const auto told = figures_of(s, "stats");
        EXPECT_EQ(told.at("fence_latency_ns"), latency == "sttm" ? "60" : latency);
        EXPECT_EQ(told.at("fences") == "0", latency == "0") << told.at("fences");
    }
}

// Modified pages are counted if the region may exceed the memory budget.
TEST_F(serve, takes_the_memory_that_it_was_told) {
    for (const std::string memory : {"0", "1g", "8m"}) {
        const server_process s({dir / memory, "--size", "16m", "--medium", "file", "--ack",
                                "durable", "--memory", memory});
        ASSERT_GT(s.port(), 0) << s.said();
        EXPECT_EQ(s.ask(set_k, "STORED\r\n"), "STORED\r\n");
        const auto told = figures_of(s, "stats");
        EXPECT_EQ(told.at("journal_private_bytes") == "0", memory != "8m")
            << memory << ": " << told.at("journal_private_bytes");
    }
}

TEST_F(serve, begins_with_no_more_than_the_region_may_become) {
    server_process s({file, "--max-size", "20m", "--ack", "durable", "--flush", "never"});
    ASSERT_GT(s.port(), 0) << s.said();
    const auto told = figures_of(s, "stats");
    EXPECT_EQ(told.at("limit_maxbytes"), std::to_string(20 << 20));
    EXPECT_LE(std::stoi(told.at("region_bytes")), 20 << 20);
    EXPECT_GT(std::stoi(told.at("region_bytes")), 19 << 20);
    EXPECT_EQ(told.at("ack"), "durable");
    EXPECT_EQ(told.at("flush_instruction"), "none");
    EXPECT_EQ(figures_of(s, "stats settings").at("item_size_max"), std::to_string(1 << 20));
}

TEST_F(serve, has_a_thread_for_each_processor_unless_told_otherwise) {
    const server_process s({file, "--size", "16m"});
    ASSERT_GT(s.port(), 0) << s.said();
    EXPECT_EQ(figures_of(s, "stats settings").at("num_threads"),
              std::to_string(std::clamp(std::thread::hardware_concurrency(), 1U, 16U)));
}

TEST_F(serve, removes_what_has_expired_though_nobody_asks_for_it) {
    const server_process s({file, "--size", "16m"});
    ASSERT_GT(s.port(), 0) << s.said();
    EXPECT_EQ(s.ask("set k 0 1 5\r\nhello\r\n", "STORED\r\n"), "STORED\r\n");
    while (figures_of(s, "stats").at("crawler_reclaimed") != "1") {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(figures_of(s, "stats").at("curr_items"), "0");
}

TEST_F(serve, has_epochs_as_long_as_it_was_told) {
    const server_process slow({file, "--size", "16m", "--epoch", "10s"});
    const server_process quick({dir / "quick.hf", "--size", "16m", "--epoch", "1ms"});
    ASSERT_GT(slow.port(), 0) << slow.said();
    ASSERT_GT(quick.port(), 0) << quick.said();
    while (epoch_of(quick) < 100) {  // an epoch without writes does not end
        for (const server_process* one : {&slow, &quick}) {
            ASSERT_EQ(one->ask(set_k, "STORED\r\n"), "STORED\r\n");
        }
    }
    EXPECT_LT(epoch_of(slow), 10);
}

TEST_F(serve, compares_what_it_reads_with_its_checksum_unless_told_not_to) {
    const std::string value = "a value that is found in the file";
    {
        server_process s({file, "--size", "16m"});
        ASSERT_GT(s.port(), 0) << s.said();
        EXPECT_EQ(s.ask("set k 0 0 33\r\n" + value + "\r\n", "STORED\r\n"), "STORED\r\n");
        EXPECT_EQ(s.end(SIGTERM), 0);
    }
    const std::uint64_t at = read_file(file).find(value);
    ASSERT_NE(at, std::string::npos);
    flip(file, at);
    {
        server_process s({file});
        EXPECT_EQ(s.ask("get k\r\n", "\r\n"), "SERVER_ERROR damaged record\r\n");
        EXPECT_EQ(s.end(SIGTERM), 0);
    }
    const server_process s({file, "--trust-reads"});
    EXPECT_EQ(s.ask("get k\r\n", "END\r\n"),
              "VALUE k 0 33\r\n\x60" + value.substr(1) + "\r\nEND\r\n");
}

TEST_F(serve, refuses_a_region_that_is_being_served) {
    server_process first({file, "--size", "16m"});
    ASSERT_GT(first.port(), 0);
    const outcome o = holdfast({"serve", file, "--port", "0"});
    EXPECT_EQ(o.code, 5);
    expect_one_clear_error(o);
}

TEST_F(serve, refuses_a_port_that_is_taken_and_leaves_no_region_behind) {
    server_process first({dir / "first.hf", "--size", "16m"});
    ASSERT_GT(first.port(), 0);
    const outcome o =
        holdfast({"serve", file, "--size", "16m", "--port", std::to_string(first.port())});
    EXPECT_EQ(o.code, 5);
    expect_one_clear_error(o);
    EXPECT_NE(o.err.find("; choose another port"), std::string::npos) << o.err;
    const outcome far = holdfast({"serve", file, "--port", "0", "--listen", "192.0.2.1"});
    EXPECT_EQ(far.code, 2);
    expect_one_clear_error(far);
    EXPECT_NE(far.err.find("; choose an address of this machine"), std::string::npos) << far.err;
    EXPECT_EQ(dir.names(), (std::vector<std::string>{"first.hf"}));
}

TEST_F(serve, refuses_what_is_no_region) {
    write_file(file, std::string(100'000, 'x'));
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    const std::string before = read_file(file);
    const outcome garbage = holdfast({"serve", file, "--port", "0"});
    EXPECT_EQ(garbage.code, 6);
    expect_one_clear_error(garbage);
    EXPECT_TRUE(read_file(file) == before);
    EXPECT_EQ(holdfast({"serve", dir.path(), "--port", "0"}).code, 4);
    EXPECT_EQ(holdfast({"serve", dir / "no/such/directory.hf", "--port", "0"}).code, 3);
    EXPECT_EQ(holdfast({"serve", file, "--port", "0", "--medium", "dax"}).code, 10);
}

}  // namespace
}  // namespace hf::test
