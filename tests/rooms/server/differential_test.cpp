// The server's answers are the same as memcached's, byte for byte.
//
// Each script is sent to both as a whole, over a connection of its own; both answers are read to
// their ends. Cas uniques and versions differ and are replaced by placeholders. Skipped if
// memcached is not installed.
#include "server/client.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace hf::test {
namespace {

using namespace std::string_literals;

/// A port that was just free.
std::uint16_t free_port() {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(probe, reinterpret_cast<const sockaddr*>(&address), size);
    ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(probe);
    return ntohs(address.sin_port);
}

/// memcached in a child process.
class memcached {
   public:
    /// nullptr: it is not installed.
    static std::unique_ptr<memcached> start() {
        for (int attempt = 0; attempt < 5; ++attempt) {
            auto one = std::unique_ptr<memcached>(new memcached(free_port()));
            if (one->comes_up()) {
                return one;
            }
        }
        return nullptr;
    }
    ~memcached() {
        if (child_ > 0) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
    }
    [[nodiscard]] std::uint16_t port() const { return port_; }

   private:
    explicit memcached(std::uint16_t port) : port_(port) {
        const auto number = std::to_string(port);
        child_ = ::fork();
        if (child_ == 0) {
            const int nowhere = ::open("/dev/null", O_RDWR);
            ::dup2(nowhere, STDOUT_FILENO);
            ::dup2(nowhere, STDERR_FILENO);
            // One thread and no crawlers: memcached pads a shrinking number only if no other thread
            // holds the item at that moment. -u is required only for root.
            ::execlp("memcached", "memcached", "-l", "127.0.0.1", "-p", number.c_str(), "-U", "0",
                     "-u", "nobody", "-t", "1", "-o", "no_lru_crawler,no_lru_maintainer",
                     static_cast<char*>(nullptr));
            ::_exit(127);
        }
    }
    bool comes_up() {
        for (;;) {
            if (::waitpid(child_, nullptr, WNOHANG) != 0) {
                child_ = -1;
                return false;
            }
            if (client c(port_); c.connected() && is_mine(c)) {
                return true;
            }
            ::usleep(10'000);
        }
    }
    /// Another program may have taken the port first: then this memcached is about to end.
    [[nodiscard]] bool is_mine(client& c) const {
        const auto pid = "STAT pid " + std::to_string(child_) + "\r\n";
        return c.get("stats\r\n").find(pid) != std::string::npos;
    }

    std::uint16_t port_;
    pid_t child_ = -1;
};

/// The answer up to `last_line`, or, if that is empty, up to the end of the stream.
std::string converse(std::uint16_t port, std::string_view script, std::string_view last_line) {
    client c(port);
    c.send(script);
    if (!last_line.empty()) {
        return c.read_until(last_line);
    }
    c.end_sending();
    return c.read_all();
}

/// Replaces versions and cas uniques, numbered by appearance, by placeholders.
std::string normalized(std::string_view answer) {
    std::string out;
    std::map<std::string, std::string> uniques;
    while (!answer.empty()) {
        const auto end = std::min(answer.find("\r\n"), answer.size());
        const auto line = answer.substr(0, end);
        answer.remove_prefix(std::min(end + 2, answer.size()));
        if (line.starts_with("VERSION ")) {
            out += "VERSION\n";
            continue;
        }
        out += line;
        out += '\n';
        if (!line.starts_with("VALUE ")) {
            continue;
        }
        std::vector<std::string> words(1);
        for (const char c : line) {
            c == ' ' ? words.emplace_back() : words.back() += c;
        }
        if (words.size() == 5) {
            const auto place =
                uniques.emplace(words[4], "cas" + std::to_string(uniques.size())).first;
            out.erase(out.size() - 1 - words[4].size());
            out += place->second + '\n';
        }
        const auto size = words.size() > 3 ? std::stoul(words[3]) : 0;
        out += answer.substr(0, size);
        answer.remove_prefix(std::min<std::size_t>(size, answer.size()));
    }
    return out;
}

/// Shortens long runs of a character, for failure messages.
std::string shown(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool run =
            i >= 8 && text.substr(i - 8, 8).find_first_not_of(text[i]) == std::string_view::npos;
        out += run ? "" : std::string(1, text[i]);
    }
    return out;
}

class differential : public ::testing::Test {
   protected:
    static void SetUpTestSuite() { reference = memcached::start().release(); }
    static void TearDownTestSuite() {
        delete reference;
        reference = nullptr;
    }
    void SetUp() override {
        if (reference == nullptr) {
            GTEST_SKIP() << "memcached is not installed: nothing to compare with";
        }
        // The clocks must agree: memcached uses the system's.
        store_.emplace(must(store::over(records_.as_map())));
        server_options options;
        options.port = 0;
        server_ = must(server::start(*store_, options));
        flush();
    }
    void TearDown() override {
        server_.reset();
        store_.reset();
    }
    void flush() {
        client theirs(reference->port());
        client ours(server_->port());
        EXPECT_EQ(theirs.line("flush_all\r\n"), "OK\r\n");
        EXPECT_EQ(ours.line("flush_all\r\n"), "OK\r\n");
    }
    void compare(const std::string& script, std::string_view last_line = {}) {
        const auto theirs = converse(reference->port(), script, last_line);
        const auto ours = converse(server_->port(), script, last_line);
        if (normalized(ours) != normalized(theirs)) {
            EXPECT_EQ(shown(normalized(ours)), shown(normalized(theirs)))
                << "for: " << shown(script);
        }
    }

    static memcached* reference;
    temporary_store records_;
    std::optional<store> store_;
    std::unique_ptr<server> server_;
};

memcached* differential::reference = nullptr;

TEST_F(differential, lines_that_are_no_commands) {
    for (const std::string line : {"",
                                   " ",
                                   "x",
                                   "xx",
                                   "get",
                                   "get ",
                                   "gets",
                                   "gat",
                                   "gats",
                                   "set",
                                   "add",
                                   "replace",
                                   "append",
                                   "prepend",
                                   "cas",
                                   "delete",
                                   "incr",
                                   "decr",
                                   "touch",
                                   "verbosity",
                                   "GET k",
                                   "Set k 0 0 1",
                                   "getk",
                                   "get\tk",
                                   "bget",
                                   "set k",
                                   "set k 0",
                                   "set k 0 0",
                                   "set k 0 0 1 noreply x",
                                   "cas k 0 0 1",
                                   "cas k 0 0 1 2 noreply x",
                                   "incr k",
                                   "incr k 1 noreply x",
                                   "decr k",
                                   "touch k",
                                   "touch k 1 noreply x",
                                   "delete k 0 noreply x",
                                   "flush_all 1 2 3",
                                   "verbosity 1 2 3",
                                   "nonsense",
                                   "nonsense noreply",
                                   "nonsense HTTP/1.1x y",
                                   "a b c d e f g h i j k l m n o",
                                   "shutdown",
                                   "slabs",
                                   "lru",
                                   "lru_crawler",
                                   "extstore",
                                   "stats nonsense",
                                   "stats detail x y z",
                                   "delete / HTTP/1.1",
                                   "m",
                                   "mz k",
                                   "\x01\x02",
                                   "\r",
                                   "set\r",
                                   "get k\r\r"}) {
        if (line.starts_with("stats detail")) {
            continue;  // memcached's own statistics
        }
        compare(line + "\r\n");
        compare(line + "\n");
        compare(line + "\r\nversion\r\n");
    }
    compare("get k\0x\r\nversion\r\n"s);
    compare("\0get k\r\nversion\r\n"s);
    compare("GET / HTTP/1.1\r\nversion\r\n");
    compare("POST / HTTP/1.0\r\n\r\n");
    compare(std::string(2049, 'x'));
    compare(std::string(2048, 'x') + "\r\nversion\r\n");
    compare(" " + std::string(101, ' ') + "get " + std::string(2000, 'k'));
}

TEST_F(differential, numbers) {
    const std::vector<std::string> numbers{"0",
                                           "1",
                                           "-1",
                                           "+1",
                                           "007",
                                           "1x",
                                           "x",
                                           "1\t",
                                           "\t1",
                                           "1\tx",
                                           "--1",
                                           "-",
                                           "+",
                                           "0x1",
                                           "1.5",
                                           "-0",
                                           "99",
                                           "250",
                                           "18446744073709551615",
                                           "18446744073709551616",
                                           "-18446744073709551615",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "99999999999999999999999",
                                           "2147483647",
                                           "2147483645",
                                           "2147483646"};
    for (const auto& n : numbers) {
        compare("set k " + n + " 0 1\r\na\r\nget k\r\n");
        compare("cas k 0 0 1 " + n + "\r\na\r\nget k\r\n");
        compare("cas nokey 0 0 1 " + n + "\r\na\r\nget nokey\r\n");
        compare("set n 0 0 2\r\n10\r\nincr n " + n + "\r\n");
        compare("set n 0 0 2\r\n10\r\ndecr n " + n + "\r\nget other\r\n");
        compare("set n 0 0 " + std::to_string(n.size()) + "\r\n" + n + "\r\nincr n 1\r\n");
        compare("verbosity " + (n.starts_with("-") || n.starts_with("+") ? n : "x" + n) + "\r\n");
    }
    // Values that do not fit into 32 bits, where memcached truncates them, are left out
    // (docs/server.md). Expiry times are later than the end of the test: a second may end between
    // the two servers' answers.
    for (const std::string n : {"0", "1000", "-1", "+1000", "1x", "x", "\t5000", "-", "-2147483648",
                                "2147483647", "99999999999999999999999"}) {
        compare("set k 0 " + n + " 1\r\na\r\nget k\r\n");
        compare("set k 0 0 1\r\na\r\ntouch k " + n + "\r\nget k\r\n");
        compare("set k 0 0 1\r\na\r\ngat " + n + " k\r\nget k\r\n");
    }
    for (const std::string n : {"0", "1", "-1", "+1", "1x", "x", "5\t", "-", "2147483646",
                                "2147483647", "-2147483648", "99999999999999999999999"}) {
        compare("set k 0 0 " + n + "\r\na\r\nversion\r\n");
        compare("set k 0 0 " + n + " noreply\r\na\r\nversion\r\n");
    }
}

TEST_F(differential, data_blocks) {
    for (const std::string block :
         {"abc\r\n", "abcd\r\n", "ab\r\n", "a\r\n", "\r\n", "abc\n", "abc\r", "abc\n\r\n",
          "abc\r\r\n", "abcXX", "abcX\n", "abcdefghijkl\r\n", "abc\r\n\r\n", "abc", "ab", ""}) {
        for (const std::string suffix : {"", " noreply"}) {
            for (const std::string verb : {"set", "add", "replace", "append", "prepend"}) {
                compare("set k 0 0 3\r\nold\r\n" + verb + " k 5 0 3" + suffix + "\r\n" + block +
                        "get k\r\nversion\r\n");
                compare("delete k\r\n" + verb + " k 5 0 3" + suffix + "\r\n" + block +
                        "get k\r\nversion\r\n");
            }
        }
    }
    compare("set k 0 0 0\r\n\r\nget k\r\nappend k 0 0 0\r\n\r\nget k\r\n");
    compare("set k 0 0 10\r\n\r\n\r\n\0\r\nabc\r\nget k\r\n"s);
}

TEST_F(differential, keys) {
    const std::string longest(250, 'k');
    for (const std::string& key :
         {longest, longest + "k", std::string("a\tb"), std::string("\x01"), std::string("\xff\xfe"),
          std::string("a\rb"), std::string("noreply"), std::string("0")}) {
        compare("set " + key + " 1 0 1\r\na\r\n");
        compare("get " + key + "\r\n");
        compare("get x " + key + " x\r\n");
        compare("gat 0 " + key + "\r\n");
        compare("append " + key + " 1 0 1\r\na\r\n");
        compare("incr " + key + " 1\r\n");
        compare("touch " + key + " 0\r\n");
        compare("delete " + key + "\r\n");
        compare("delete " + key + "\r\n");
    }
    std::string many = "get";
    for (int i = 0; i < 200; ++i) {
        many += i % 3 == 0 ? "  k" : " x";
    }
    compare("set k 0 0 1\r\na\r\n" + many + "\r\n" + many + " \r\nget k" + std::string(30, ' ') +
            "\r\n");
}

TEST_F(differential, counting) {
    for (const std::string value :
         {"0", "9", "10", "99", "100", " 5", "5 ", "5 x", "x", "-1", "+5", "", "5x",
          "18446744073709551615", "18446744073709551616", "00000000000000000000005"}) {
        const auto stored = "set n 3 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
        for (const std::string command :
             {"incr n 1", "decr n 1", "incr n 0", "decr n 100", "incr n 18446744073709551615"}) {
            compare(stored + command + "\r\n");
            compare("get n\r\n");
            compare(command + " noreply\r\n");
            compare("gets n\r\n");
        }
    }
}

TEST_F(differential, noreply_everywhere) {
    compare(
        "set k 0 0 1 noreply\r\n1\r\nadd k 0 0 1 noreply\r\n2\r\nreplace k 0 0 1 "
        "noreply\r\n3\r\nget k\r\n");
    compare("append k 0 0 1 noreply\r\n1\r\nprepend k 0 0 1 noreply\r\n2\r\nget k\r\n");
    compare("cas k 0 0 1 1 noreply\r\n1\r\ncas none 0 0 1 1 noreply\r\n1\r\nget k\r\n");
    compare(
        "set n 0 0 1\r\n1\r\nincr n 1 noreply\r\ndecr n x noreply\r\nincr none 1 "
        "noreply\r\nversion\r\n");
    compare("touch k 0 noreply\r\ntouch none 0 noreply\r\ntouch k x noreply\r\nversion\r\n");
    compare("delete none noreply\r\ndelete k 0 noreply\r\ndelete k 5 noreply\r\nversion\r\n");
    compare(
        "verbosity 0 noreply\r\nverbosity noreply\r\nflush_all noreply\r\nflush_all x "
        "noreply\r\nversion\r\n");
    compare("set k 0 0 x noreply\r\nset k 0 0 -1 noreply\r\nincr " + std::string(251, 'k') +
            " 1 noreply\r\nversion\r\n");
}

TEST_F(differential, sizes) {
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{1000}, std::size_t{100'000}, std::size_t{900'000}}) {
        const std::string data(size, 'd');
        compare("set k 0 0 " + std::to_string(size) + "\r\n" + data +
                "\r\nget k\r\ngets k\r\nget k k\r\n");
        compare("touch k 100\r\nget k\r\n");
        compare("append k 0 0 3\r\nend\r\nget k\r\n");
    }
    const std::string data(1'100'000, 'd');
    for (const std::string verb : {"set", "add", "replace", "append"}) {
        for (const std::string suffix : {"", " noreply"}) {
            compare("set k 0 0 1\r\na\r\n" + verb + " k 0 0 1100000" + suffix + "\r\n" + data +
                    "\r\nget k\r\n");
        }
    }
}

TEST_F(differential, cas_with_the_uniques_that_each_has_given_out) {
    for (const std::string between :
         {"", "touch k 100\r\n", "gat 100 k\r\n", "append k 0 0 1\r\nx\r\n", "set k 0 0 1\r\n1\r\n",
          "incr k 1\r\n", "delete k\r\n", "get k\r\n"}) {
        std::string answers[2];
        for (const bool ours : {false, true}) {
            client c(ours ? server_->port() : reference->port());
            c.line("set k 0 0 1\r\n5\r\n");
            const auto shown = c.get("gets k\r\n");
            const auto unique = shown.substr(12, shown.find('\r') - 12);
            c.send(between + "cas k 0 0 1 " + unique + "\r\nx\r\ncas k 0 0 1 " + unique +
                   "\r\ny\r\nget k\r\n");
            c.end_sending();
            answers[ours ? 1 : 0] = c.read_all();
        }
        EXPECT_EQ(answers[1], answers[0]) << between;
    }
}

TEST_F(differential, flush_all) {
    compare("set k 0 0 1\r\na\r\nflush_all\r\nget k\r\nset k 0 0 1\r\nb\r\nget k\r\n");
    for (const std::string arguments :
         {"", " 0", " -1", " noreply", " 0 noreply", " x", " 0 0", " 100"}) {
        compare("set k 0 0 1\r\na\r\nflush_all" + arguments +
                "\r\nget k\r\nadd k 0 0 1\r\nb\r\nget k\r\n");
    }
}

/// The counters in `stats`, by name.
std::map<std::string, long> counts_of(std::uint16_t port) {
    std::map<std::string, long> all;
    client c(port);
    const std::string report = c.get("stats\r\n");
    for (std::size_t at = 0; (at = report.find("STAT ", at)) != std::string::npos; ++at) {
        const auto space = report.find(' ', at + 5);
        all[report.substr(at + 5, space - at - 5)] = std::atol(report.c_str() + space);
    }
    return all;
}

TEST_F(differential, statistics) {
    // memcached counts a write over an expired record as a miss of a get; this server counts only
    // gets.
    const std::string script =
        "set k 0 0 1\r\na\r\nget k x\r\ngets k\r\nadd k 0 0 1\r\nb\r\nadd l 0 0 1\r\nb\r\n"
        "replace none 0 0 1\r\nb\r\nappend k 0 0 1\r\nb\r\nset n 0 0 1\r\n5\r\nincr n 1\r\n"
        "decr n 1\r\nincr none 1\r\ndecr none 1\r\nincr k 1\r\ntouch k 100\r\ntouch none 0\r\n"
        "gat 100 k none\r\ncas none 0 0 1 1\r\nb\r\ncas k 0 0 1 1\r\nb\r\ndelete l\r\ndelete l\r\n"
        "set dead 0 -1 1\r\na\r\nget dead\r\nget dead\r\nset dead 0 -1 1\r\na\r\ngat 0 dead\r\n"
        "set k 0 0 x\r\nget\r\nset big 0 0 1100000\r\n" +
        std::string(1'100'000, 'd') + "\r\nget k n dead\r\nflush_all\r\nget k k none\r\n";
    compare("get k l n x none dead big\r\n");  // removes flushed leftovers of earlier tests
    const auto theirs_before = counts_of(reference->port());
    const auto ours_before = counts_of(server_->port());
    compare(script);
    const auto theirs = counts_of(reference->port());
    const auto ours = counts_of(server_->port());
    for (const auto* name : {"cmd_get",           "cmd_set",
                             "cmd_flush",         "cmd_touch",
                             "get_hits",          "get_misses",
                             "get_expired",       "get_flushed",
                             "delete_misses",     "delete_hits",
                             "incr_misses",       "incr_hits",
                             "decr_misses",       "decr_hits",
                             "cas_misses",        "cas_hits",
                             "cas_badval",        "touch_hits",
                             "touch_misses",      "store_too_large",
                             "store_no_memory",   "total_items",
                             "curr_items",        "evictions",
                             "total_connections", "listen_disabled_num",
                             "accepting_conns"}) {
        ASSERT_TRUE(theirs.contains(name) && ours.contains(name)) << name;
        EXPECT_EQ(ours.at(name) - ours_before.at(name), theirs.at(name) - theirs_before.at(name))
            << name;
    }
}

/// Lines that are almost valid, and their continuation: words for each position, some of them
/// invalid, too many or too few.
TEST_F(differential, random_lines) {
    std::mt19937 random(7);
    const auto below = [&](std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
    };
    const auto one_of = [&](const std::vector<std::string>& all) { return all[below(all.size())]; };
    const std::vector<std::string> odd{
        "",    "x",   "-1",      "+1",  "1x", "0x1",     "-",
        "\t",  "5\t", "noreply", "1.5", "k",  "NOREPLY", "99999999999999999999999",
        "\x7f"};
    const std::vector<std::string> keys{"k", "n", "none", std::string(250, 'k')};
    // By the positions of their words: key, flags, exptime, size, cas unique, delta.
    const std::vector<std::pair<std::string, std::string>> commands{
        {"set", "kfes"},     {"add", "kfes"},  {"replace", "kfes"}, {"append", "kfes"},
        {"prepend", "kfes"}, {"cas", "kfesc"}, {"incr", "kd"},      {"decr", "kd"},
        {"touch", "ke"},     {"delete", "k"},  {"get", "k"},        {"gets", "kk"},
        {"gat", "ek"},       {"gats", "ekk"},  {"verbosity", "f"},  {"version", ""},
        {"mn", ""},          {"flush_all", ""}};
    // As a time, so long that it does not end between the two servers' answers.
    const auto lasting = [](const std::string& word) -> std::string {
        return word == "+1" ? "+1000" : word == "5\t" ? "5000\t" : word;
    };
    const auto word_at = [&](char place) -> std::string {
        if (below(8) == 0) return place == 'e' ? lasting(one_of(odd)) : one_of(odd);
        switch (place) {
            case 'k':
                return one_of(keys);
            case 'f':
                return one_of({"0", "7", "4294967295"});
            case 'e':
                return one_of({"0", "0", "100", "-1"});
            case 's':
                return one_of({"3", "3", "0", "4"});
            default:
                return one_of({"1", "10", "18446744073709551615"});
        }
    };
    for (int round = 0; round < hf::test::effort(1500); ++round) {
        std::string script = "set k 0 0 3\r\nold\r\nset n 0 0 2\r\n10\r\n";
        for (std::size_t left = 1 + below(2); left != 0; --left) {
            const auto& [verb, places] = commands[below(commands.size())];
            script += verb;
            for (const char place : places) {
                if (below(20) == 0) continue;
                script += one_of({" ", " ", " ", "  "}) + word_at(place);
            }
            if (below(5) == 0) script += " noreply";
            if (below(12) == 0) {
                const bool is_time = verb == "touch" || verb == "flush_all";
                script += " " + (is_time ? lasting(one_of(odd)) : one_of(odd));
            }
            script += one_of({"\r\n", "\r\n", "\n", " \r\n"});
            if (places.starts_with("kfes"))
                script += one_of({"abc\r\n", "abc\r\n", "\r\n", "abcd\r\n"});
        }
        compare(script + "get k\r\nget n\r\nget none\r\n");
        if (HasFailure()) return;
    }
}

/// Random streams over few keys. Data that is parsed as a line because its size was wrong is
/// shorter than the maximum line: above it memcached's answer depends on packet boundaries. Numbers
/// have separate keys: memcached does not pad a shrinking number while an answer with it is still
/// in flight.
TEST_F(differential, random_conversations) {
    std::mt19937 random(20240229);
    const auto below = [&](std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
    };
    const auto one_of = [&](const std::vector<std::string>& all) { return all[below(all.size())]; };
    const std::vector<std::string> keys{"a", "b", "c", "none"};
    const std::vector<std::string> counters{"m", "n"};
    const std::vector<std::string> data{"",      "x",      "hello",
                                        "get a", "a\r\nb", std::string(1500, 'z')};
    for (int round = 0; round < hf::test::effort(300); ++round) {
        std::string script;
        for (std::size_t left = 1 + below(30); left != 0; --left) {
            const auto quiet = below(5) == 0 ? std::string(" noreply") : std::string();
            const auto value = one_of(data);
            const auto exptime = one_of({"0", "0", "100", "-1"});
            const auto size = std::to_string(value.size() + (below(15) == 0 ? 1 : 0));
            switch (below(9)) {
                case 0:
                case 1:
                case 2:
                    script += one_of({"set", "add", "replace", "append", "prepend"}) + " " +
                              one_of(keys) + " " + std::to_string(below(4)) + " " + exptime + " " +
                              size + quiet + "\r\n" + value + "\r\n";
                    break;
                case 3:
                case 4:
                    script +=
                        one_of({"get ", "gets "}) + one_of(keys) + " " + one_of(keys) + "\r\n";
                    break;
                case 5:
                    script += "delete " + one_of(keys) + quiet + "\r\n";
                    break;
                case 6:
                    script += "touch " + one_of(keys) + " " + exptime + quiet + "\r\n";
                    break;
                case 7:
                    script += one_of({"incr ", "decr "}) + one_of(counters) + " " +
                              std::to_string(below(200)) + quiet + "\r\n";
                    break;
                default:
                    script += below(2) == 0 ? "set " + one_of(counters) + " 0 0 2\r\n" +
                                                  std::to_string(10 + below(90)) + "\r\n"
                                            : one_of({"flush_all", "gat 0 a b", "nonsense",
                                                      "cas a 0 0 1 1\r\nx", "version"}) +
                                                  "\r\n";
                    break;
            }
        }
        // The final lines complete a data block that is still open. If there are more commands than
        // memcached executes in a row, they are answered only while the client keeps its side open.
        compare(script + "\r\n\r\nincr m 0\r\nincr n 0\r\nmn\r\n", "MN\r\n");
        if (HasFailure()) {
            return;
        }
    }
}

}  // namespace
}  // namespace hf::test
