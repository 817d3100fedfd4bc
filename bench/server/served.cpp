#include "bench/server/served.hpp"

#include "base/os_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace hf::bench {

namespace {

constexpr int attempts = 5;  // another program may take the port before the server listens
constexpr std::chrono::milliseconds between_looks{10};

error no_talk(const char* doing, std::string why) {
    return {errc::io, doing, "a server of the measurement", std::move(why),
            "look whether it runs, and run the measurement again"};
}

error no_answer(ssize_t got) {
    return no_talk("receive", got == 0 ? "it has closed the connection"
                                       : std::system_category().message(errno));
}

sockaddr_in local(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

/// A port that was just free; 0 if there is none: then the server reports the error.
std::uint16_t free_port() {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = local(0);
    socklen_t size = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    const bool bound = ::bind(probe, at, size) == 0 && ::getsockname(probe, at, &size) == 0;
    ::close(probe);
    return bound ? ntohs(address.sin_port) : std::uint16_t{0};
}

std::vector<std::string> arguments_of(const std::string& program, const server_bench_options& o,
                                      std::uint16_t port, const std::filesystem::path& place) {
    const std::string threads = std::to_string(o.threads);
    const std::string at = std::to_string(port);
    if (std::filesystem::path(program).filename().string().find("memcached") == 0) {
        // No evictions: 1 MiB for a thousand records is more than such values need. -u is required
        // only for root.
        const std::string room = std::to_string(1024 + o.records / 1000);
        return {program, "-l",    "127.0.0.1", "-p", at,   "-U",    "0",
                "-t",    threads, "-m",        room, "-u", "nobody"};
    }
    return {program,  "serve", "--file",    (place / "store.hf").string(),
            "--port", at,      "--threads", threads};
}

}  // namespace

result<connected> connected::to(std::uint16_t port) {
    connected c(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = local(port);
    if (::connect(c.socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return failure(no_talk("connect", std::system_category().message(errno)));
    }
    const int on = 1;
    ::setsockopt(c.socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return c;
}

connected::connected(connected&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), answers_(std::move(other.answers_)) {}

connected::~connected() {
    if (socket_ >= 0) ::close(socket_);
}

result<void> connected::send(std::string_view requests) const {
    while (!requests.empty()) {
        const auto sent = ::send(socket_, requests.data(), requests.size(), MSG_NOSIGNAL);
        if (sent < 0) return failure(no_talk("send", std::system_category().message(errno)));
        requests.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
}

result<std::string> connected::receive_until(std::string_view end) const {
    constexpr std::size_t most = 1 << 16;
    const timeval patience{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string all;
    std::array<char, 4096> piece{};
    while (!all.ends_with(end)) {
        if (all.size() > most) return failure(no_talk("receive", "what it says has no end"));
        const auto got = ::recv(socket_, piece.data(), piece.size(), 0);
        if (got <= 0) return failure(no_answer(got));
        all.append(piece.data(), static_cast<std::size_t>(got));
    }
    return all;
}

result<void> connected::receive(const script::batch& b) {
    if (answers_.size() < b.answers.size()) answers_.resize(b.answers.size());
    std::size_t there = 0;
    while (there < b.answers.size()) {
        const auto got = ::recv(socket_, answers_.data() + there, b.answers.size() - there, 0);
        if (got <= 0) return failure(no_answer(got));
        there += static_cast<std::size_t>(got);
    }
    const std::string_view all = std::string_view(answers_).substr(0, there);
    if (all == b.answers) return {};
    const auto differs =
        static_cast<std::size_t>(std::ranges::mismatch(all, b.answers).in1 - all.begin());
    return failure({errc::violation, "compare an answer", "a server of the measurement",
                    fmt::format("to \"{}\" it sent \"{}\" where \"{}\" was due", b.requests,
                                all.substr(differs), b.answers.substr(differs)),
                    "its figures are worth nothing"});
}

result<std::unique_ptr<served>> served::start(const std::string& program,
                                              const server_bench_options& o,
                                              const std::string& place) {
    std::unique_ptr<served> s(new served());
    s->place_ = o.directory / fmt::format("holdfast-bench-{}-{}", ::getpid(), place);
    s->name_ = std::filesystem::path(program).filename().string();
    std::error_code status;
    std::filesystem::create_directories(s->place_, status);
    if (status) {
        return failure({errc_of(status.value()), "make the directory", s->place_.string(),
                        status.message(), "name another one with --dir"});
    }
    for (int i = 0; i < attempts; ++i) {
        if (auto done = s->launch(program, o); !done) return tl::unexpected(done.error());
        if (s->comes_up()) return s;
        s->stop();
    }
    return failure({errc::not_found, "start a server", program, "it does not serve",
                    "try the command: " + s->command_});
}

result<void> served::launch(const std::string& program, const server_bench_options& o) {
    port_ = free_port();
    std::vector<std::string> arguments = arguments_of(program, o, port_, place_);
    command_ = fmt::format("{}", fmt::join(arguments, " "));
    std::vector<char*> pointers;
    for (std::string& one : arguments) pointers.push_back(one.data());
    pointers.push_back(nullptr);
    const pid_t parent = ::getpid();
    child_ = ::fork();
    if (child_ < 0) return failure(no_talk("fork", std::system_category().message(errno)));
    if (child_ != 0) return {};
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // an interrupt must end only this process; the servers end with the measurement
    ::setpgid(0, 0);
    const int nowhere = ::open("/dev/null", O_RDWR);  // NOLINT: the signature is the system's
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
}

namespace {

/// Another program may have taken the port first: then the child is about to end. A server that the
/// child has started is in its process group.
bool is_of(const connected& line, pid_t child) {
    constexpr std::string_view field = "STAT pid ";
    if (!line.send("stats\r\n")) return false;
    const auto said = line.receive_until("END\r\n");
    const auto at = said ? said->find(field) : std::string::npos;
    if (at == std::string::npos) return false;
    const std::string_view number = std::string_view(*said).substr(at + field.size());
    pid_t server = 0;  // not a number: getpgid(0) is our own group, which is not the child's
    std::from_chars(number.begin(), number.end(), server);
    return ::getpgid(server) == child;
}

}  // namespace

bool served::comes_up() {
    for (;;) {
        if (::waitpid(child_, nullptr, WNOHANG) != 0) {
            child_ = -1;
            return false;
        }
        if (auto line = connected::to(port_); line && is_of(*line, child_)) return true;
        std::this_thread::sleep_for(between_looks);
    }
}

void served::stop() noexcept {
    if (child_ > 0) {
        ::kill(child_, SIGKILL);  // its data is not needed any more
        ::waitpid(child_, nullptr, 0);
    }
    child_ = -1;
}

served::~served() {
    stop();
    std::error_code ignored;
    std::filesystem::remove_all(place_, ignored);
}

u64 served::cpu_ns() const noexcept {
    clockid_t clock{};
    std::timespec t{};
    if (::clock_getcpuclockid(child_, &clock) != 0 || ::clock_gettime(clock, &t) != 0) return 0;
    return static_cast<u64>(t.tv_sec) * 1'000'000'000U + static_cast<u64>(t.tv_nsec);
}

}  // namespace hf::bench
