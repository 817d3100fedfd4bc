#include "server_process.hpp"

#include "base/clock.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <string_view>
#include <utility>

namespace hf::demo {

namespace {

struct started {
    pid_t pid = -1;
    int output = -1;  ///< to read from
};

/// With stdout and stderr in a pipe; the child ends with this process.
started spawn(const std::filesystem::path& program, const std::vector<std::string>& arguments) {
    std::vector<char*> argv;
    std::string name = program.string();
    std::vector<std::string> copies = arguments;
    argv.push_back(name.data());
    for (std::string& a : copies) argv.push_back(a.data());
    argv.push_back(nullptr);

    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {};
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(127);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)execv(name.c_str(), argv.data());
        constexpr std::string_view sorry = "cannot be executed\n";
        (void)!write(STDERR_FILENO, sorry.data(), sorry.size());
        _exit(127);
    }
    (void)close(ends[1]);
    return {pid, ends[0]};
}

bool read_some(int pipe, std::string& text) {
    std::array<char, 4096> block{};
    const ssize_t n = read(pipe, block.data(), block.size());
    if (n > 0) text.append(block.data(), static_cast<std::size_t>(n));
    return n > 0;
}

std::optional<int> wait_for(pid_t pid) {
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return std::nullopt;
    return WEXITSTATUS(status);
}

/// "... on 127.0.0.1:11211 with ...": the number after the last colon before " with ".
std::uint16_t port_in(std::string_view text) {
    const std::size_t end = text.find(" with ", text.find("serving memcached"));
    if (text.find("serving memcached") == std::string_view::npos || end == std::string_view::npos) {
        return 0;
    }
    const std::size_t colon = text.rfind(':', end);
    std::uint16_t port = 0;
    std::from_chars(text.data() + colon + 1, text.data() + end, port);
    return port;
}

}  // namespace

server_process::server_process(std::filesystem::path program, std::filesystem::path file,
                               std::vector<std::string> arguments)
    : program_(std::move(program)), file_(std::move(file)), arguments_(std::move(arguments)) {
    arguments_.insert(arguments_.begin(), {"serve", "--file", file_.string(), "--port", "0"});
}

server_process::~server_process() {
    if (pid_ > 0) server_process::kill();
}

bool server_process::start() {
    output_.clear();
    port_ = 0;
    started_ns_ = now_ns();
    const started s = spawn(program_, arguments_);
    pid_ = s.pid;
    output_pipe_ = s.output;
    if (pid_ < 0) return false;
    while (port_ == 0) {
        if (!read_some(output_pipe_, output_)) {
            (void)wait_for(pid_);
            pid_ = -1;
            close_output();
            return false;
        }
        port_ = port_in(output_);
    }
    return true;
}

void server_process::kill() {
    (void)::kill(pid_, SIGKILL);
    (void)wait_for(pid_);
    pid_ = -1;
    close_output();
}

std::optional<int> server_process::stop() {
    (void)::kill(pid_, SIGTERM);
    while (read_some(output_pipe_, output_)) {
    }
    const auto status = wait_for(pid_);
    pid_ = -1;
    close_output();
    return status;
}

void server_process::close_output() {
    if (output_pipe_ >= 0) (void)close(std::exchange(output_pipe_, -1));
}

int server_process::check(std::string& output) {
    const started s = spawn(program_, {"check", file_.string()});
    if (s.pid < 0) return -1;
    while (read_some(s.output, output)) {
    }
    (void)close(s.output);
    return wait_for(s.pid).value_or(-1);
}

}  // namespace hf::demo
