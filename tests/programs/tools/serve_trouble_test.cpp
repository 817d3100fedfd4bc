// Trouble while `holdfast serve` runs: damage, clients that die, an output that is not read. It
// continues, and ends with the exit code of its own work.
#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

class served : public ::testing::Test {
   protected:
    scratch dir;
    const std::string file = dir / "store.hf";

    static std::string set(const std::string& key, const std::string& value) {
        return "set " + key + " 0 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
    }
};

/// A connection that ends like that of a killed process: unread data is lost, and the other side
/// gets a reset.
class doomed_client {
   public:
    doomed_client(int port, const std::string& request)
        : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_port = htons(static_cast<std::uint16_t>(port));
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const linger at_once{1, 0};
        EXPECT_EQ(::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
        EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
        EXPECT_EQ(::send(fd_, request.data(), request.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(request.size()));
    }
    doomed_client(const doomed_client&) = delete;
    doomed_client& operator=(const doomed_client&) = delete;
    ~doomed_client() { ::close(fd_); }

   private:
    int fd_;
};

bool has_one_connection(const server_process& s) {
    return s.ask("stats\r\n", "END\r\n").find("STAT curr_connections 1\r\n") != std::string::npos;
}

TEST_F(served, goes_on_when_its_clients_are_killed_in_the_midst_of_something) {
    server_process s({file, "--size", "32m", "--max-connections", "40"});
    ASSERT_GT(s.port(), 0) << s.said();
    const std::string large(1'000'000, 'x');
    ASSERT_EQ(s.ask(set("large", large) + set("k", "old"), "STORED\r\nSTORED\r\n"),
              "STORED\r\nSTORED\r\n");
    std::string unread;
    for (int i = 0; i < 100; ++i) unread += "get large\r\n";
    for (int round = 0; round < 3; ++round) {  // more than the maximum number of connections
        std::vector<std::unique_ptr<doomed_client>> clients;
        for (const std::string& request :
             {std::string("set k 0 0 3\r\nne"), std::string("set k 0 0 3"), std::string("se"),
              "set k 0 0 1000000\r\n" + large.substr(1), unread, std::string("get k")}) {
            for (int i = 0; i < 5; ++i) {
                clients.push_back(std::make_unique<doomed_client>(s.port(), request));
            }
        }
        clients.clear();
        while (!has_one_connection(s)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(s.ask("get k\r\n", "END\r\n"), "VALUE k 0 3\r\nold\r\nEND\r\n");
    EXPECT_EQ(s.end(SIGTERM), 0) << s.said();
    EXPECT_EQ(holdfast({"check", file}).code, 0);
}

TEST_F(served, tells_who_asks_for_it_of_damage_that_came_while_it_ran) {
    const std::string value = "a value that is found in the file";
    server_process s({file, "--size", "16m"});
    ASSERT_GT(s.port(), 0) << s.said();
    ASSERT_EQ(s.ask(set("lost", value) + set("k", "hello"), "STORED\r\nSTORED\r\n"),
              "STORED\r\nSTORED\r\n");
    const std::uint64_t at = read_file(file).find(value);
    ASSERT_NE(at, std::string::npos);
    flip(file, at + 7);
    EXPECT_EQ(s.ask("get lost\r\n", "\r\n"), "SERVER_ERROR damaged record\r\n");
    EXPECT_EQ(s.ask("append lost 0 0 1\r\nx\r\n", "\r\n"), "SERVER_ERROR damaged record\r\n");
    EXPECT_EQ(s.ask("get k\r\n", "END\r\n"), "VALUE k 0 5\r\nhello\r\nEND\r\n");
    EXPECT_EQ(s.ask(set("k", "again"), "\r\n"), "STORED\r\n");
    EXPECT_EQ(s.end(SIGTERM), 0) << s.said();
    const outcome checked = holdfast({"check", file});
    EXPECT_EQ(checked.code, 1);
    EXPECT_NE(checked.out.find("checksum"), std::string::npos) << checked.out;
}

TEST_F(served, is_copied_without_its_damaged_records_where_that_is_asked_for) {
    const std::string value = "a value that is found in the file";
    const std::string copy = dir / "copy.hf";
    server_process s({file, "--size", "16m"});
    ASSERT_GT(s.port(), 0) << s.said();
    ASSERT_EQ(s.ask(set("lost", value) + set("k", "hello"), "STORED\r\nSTORED\r\n"),
              "STORED\r\nSTORED\r\n");
    flip(file, read_file(file).find(value) + 7);
    EXPECT_EQ(holdfast({"copy", file, copy}).code, 6);
    const outcome o = holdfast({"copy", "--skip-damaged", file, copy});
    EXPECT_EQ(o.code, 1) << o.err;
    EXPECT_NE(o.out.find(": a record's checksum is not that of its key and value\n"),
              std::string::npos)
        << o.out;
    EXPECT_NE(o.out.find("1 records; 1 violations"), std::string::npos) << o.out;
    auto names = dir.names();
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"copy.hf", "store.hf"}));
    EXPECT_EQ(holdfast({"check", copy}).code, 0);
    EXPECT_NE(holdfast({"dump", copy}).out.find("\tk\thello\n"), std::string::npos);
    // The damage goes with the record.
    EXPECT_EQ(s.ask(set("lost", "new") + "get lost\r\n", "END\r\n"),
              "STORED\r\nVALUE lost 0 3\r\nnew\r\nEND\r\n");
    const outcome again = holdfast({"copy", "--skip-damaged", "--force", "--json", file, copy});
    EXPECT_EQ(again.code, 1) << "the block of the damaged record is not free, and is listed";
    EXPECT_EQ(again.json()["records"], 2);
    EXPECT_EQ(again.json()["violation_count"], 1);
    EXPECT_EQ(holdfast({"check", copy}).code, 0);
    EXPECT_EQ(s.end(SIGTERM), 0) << s.said();
}

TEST_F(served, keeps_what_it_has_open_when_its_file_is_removed_and_says_so) {
    server_process s({file, "--size", "16m"});
    ASSERT_GT(s.port(), 0) << s.said();
    std::filesystem::remove(file);
    EXPECT_EQ(s.ask(set("k", "hello"), "\r\n"), "STORED\r\n");
    EXPECT_EQ(s.ask("get k\r\n", "END\r\n"), "VALUE k 0 5\r\nhello\r\nEND\r\n");
    while (s.said().find("warning: cannot keep the file") == std::string::npos) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(s.end(SIGTERM), 11) << s.said();
    EXPECT_EQ(s.said().find("closed cleanly"), std::string::npos) << s.said();
    EXPECT_TRUE(dir.names().empty()) << "it was made again";
}

TEST_F(served, ends_with_one_line_when_its_file_is_cut_short) {
    server_process s({file, "--size", "16m", "--threads", "1"});
    ASSERT_GT(s.port(), 0) << s.said();
    std::filesystem::resize_file(file, 4096);
    EXPECT_EQ(s.ask(set("k", "hello") + "get k\r\n", "END\r\n"), "");
    EXPECT_EQ(s.end(SIGCONT), 11) << s.said();
    EXPECT_NE(s.said().find("holdfast: cannot go on: a page of the region's file"),
              std::string::npos)
        << s.said();
}

// `timeout` sends a second signal, and so do terminals. During the close it must not end the
// process: on tmpfs what was answered is lost with the epoch that the close was to end.
TEST_F(served, closes_in_order_whatever_number_of_signals_comes) {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        SCOPED_TRACE(signal);
        std::filesystem::remove(file);
        server_process s({file, "--size", "256m", "--epoch", "10s"});
        ASSERT_GT(s.port(), 0) << s.said();
        constexpr int records = 20'000;
        std::string request;
        for (int i = 0; i < records; ++i) {
            request += "set k" + std::to_string(i) + " 0 0 1000 noreply\r\n";
            request += std::string(1000, 'x') + "\r\n";
        }
        ASSERT_EQ(s.ask(request + "get k0\r\n", "END\r\n").substr(0, 8), "VALUE k0");
        EXPECT_EQ(s.end_repeating(signal), 0) << s.said();
        EXPECT_NE(s.said().find("closed cleanly"), std::string::npos) << s.said();
        server_process again({file});
        ASSERT_GT(again.port(), 0) << again.said();
        const std::string last = "get k" + std::to_string(records - 1) + "\r\n";
        EXPECT_EQ(again.ask(last, "END\r\n").substr(0, 5), "VALUE");
        EXPECT_EQ(again.end(SIGTERM), 0);
    }
}

/// Runs `holdfast serve` after `before` in a shell, until it serves; then kills it: its output.
std::string first_words_of_server(const std::string& before, const std::string& options,
                                  const std::string& file) {
    return bash(
               before + " exec 4< <(exec '" HF_PROGRAM "' serve '" + file +
               "' --size 16m --port 0 " + options +
               " 2>&1); server=$!\n"
               "while read -r line <&4; do echo \"$line\"; [[ $line == serving* ]] && break; done\n"
               "kill -TERM $server; wait $server\n")
        .out;
}

TEST_F(served, warns_of_an_address_that_other_machines_reach) {
    for (const std::string address : {"0.0.0.0", "::"}) {
        const std::string said = first_words_of_server("", "--listen " + address, file);
        EXPECT_NE(said.find("holdfast: warning: the address " + address), std::string::npos)
            << said;
        EXPECT_NE(said.find("no authentication"), std::string::npos) << said;
    }
    for (const std::string address : {"127.0.0.1", "127.9.9.9", "::1"}) {
        const std::string said = first_words_of_server("", "--listen " + address, file);
        EXPECT_EQ(said.find("warning"), std::string::npos) << said;
    }
}

// Connection 1,009 of 1,024 would wait for a descriptor for ever.
TEST_F(served, raises_the_limit_of_open_files_or_says_how_many_connections_it_allows) {
    EXPECT_EQ(first_words_of_server("ulimit -Sn 100;", "", file).find("warning"),
              std::string::npos);
    const std::string said =
        first_words_of_server("ulimit -n 200;", "--threads 2 --max-connections 1000", file);
    EXPECT_NE(said.find("holdfast: warning: the limit of open files allows 128 connections, fewer "
                        "than 1000"),
              std::string::npos)
        << said;
}

TEST_F(served, has_as_many_connections_as_it_promises) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit few = before;
    few.rlim_cur = 256;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    server_process s({file, "--size", "16m", "--threads", "1", "--max-connections", "300"});
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_GT(s.port(), 0) << s.said();
    std::vector<std::unique_ptr<doomed_client>> clients;
    for (int i = 0; i < 299; ++i) {
        clients.push_back(std::make_unique<doomed_client>(s.port(), "mn\r\n"));
    }
    EXPECT_EQ(s.ask("mn\r\n", "\r\n"), "MN\r\n");
}

/// Runs a server with standard output `out`: its answers and its exit code.
outcome served_with_output(const std::string& out, const std::string& file, int port) {
    return bash("'" HF_PROGRAM "' serve '" + file + "' --size 16m --port " + std::to_string(port) +
                " > " + out + " & server=$!\n" + "while ! exec 3<>/dev/tcp/127.0.0.1/" +
                std::to_string(port) +
                "; do kill -0 $server || break; sleep 0.01; done 2>/dev/null\n"
                "printf 'set k 0 0 5\\r\\nhello\\r\\n' >&3; head -n 1 <&3\n"
                "kill -TERM $server; wait $server; echo $?\n");
}

TEST_F(served, whether_or_not_anybody_takes_its_output) {
    int port = 0;
    {
        server_process s({file, "--size", "16m"});
        port = s.port();
        ASSERT_GT(port, 0) << s.said();
        EXPECT_EQ(s.end(SIGTERM), 0);
    }
    EXPECT_EQ(served_with_output("/dev/full", file, port).out, "STORED\r\n0\n");
    EXPECT_EQ(served_with_output(">(exit)", file, port).out, "STORED\r\n0\n") << "a pipe";
}

}  // namespace
}  // namespace hf::test
