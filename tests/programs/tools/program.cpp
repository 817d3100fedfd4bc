#include "tools/program.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

namespace hf::test {

namespace {

std::string read_all(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

int code_of(int status) {
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// The first word is the program.
pid_t start(std::vector<std::string> words, const std::string& directory, const std::string& out,
            const std::string& err) {
    std::vector<char*> argv;
    for (std::string& one : words) argv.push_back(one.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child != 0) return child;
    const auto redirect = [](const char* path, int to) {
        const int fd = ::open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (fd < 0 || ::dup2(fd, to) < 0) ::_exit(98);
    };
    redirect(out.c_str(), STDOUT_FILENO);
    redirect(err.c_str(), STDERR_FILENO);
    if (::chdir(directory.c_str()) != 0) ::_exit(97);
    ::execv(argv[0], argv.data());
    ::_exit(99);
}

std::string temporary_name() {
    static std::atomic<int> number{0};
    return ::testing::TempDir() + "holdfast-" + std::to_string(::getpid()) + "-" +
           std::to_string(number++);
}

}  // namespace

nlohmann::json outcome::json() const {
    auto parsed = nlohmann::json::parse(out, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << out;
    return parsed;
}

namespace {

/// Does not read its stdout.
outcome run(const std::vector<std::string>& words, const std::string& directory,
            const std::string& out) {
    const std::string err = temporary_name() + ".err";
    const pid_t child = start(words, directory, out, err);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    outcome o{code_of(status), "", read_all(err)};
    std::filesystem::remove(err);
    return o;
}

outcome run(const std::vector<std::string>& words, const std::string& directory) {
    const std::string out = temporary_name() + ".out";
    outcome o = run(words, directory, out);
    o.out = read_all(out);
    std::filesystem::remove(out);
    return o;
}

std::vector<std::string> with_program(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), HF_PROGRAM);
    return arguments;
}

}  // namespace

outcome holdfast(const std::vector<std::string>& arguments, const std::string& directory) {
    return run(with_program(arguments), directory);
}

outcome holdfast_into(const std::string& out, const std::vector<std::string>& arguments) {
    return run(with_program(arguments), "/", out);
}

outcome bash(const std::string& script) { return run({"/bin/bash", "-c", script}, "/"); }

std::string line_of(const std::string& text, const std::string& name) {
    const std::size_t at = text.find("\n  " + name + "  ");
    if (at == std::string::npos) return "";
    const std::size_t begin = text.find_first_not_of(' ', at + 3 + name.size());
    return text.substr(begin, text.find('\n', begin) - begin);
}

void expect_one_clear_error(const outcome& o) {
    EXPECT_TRUE(o.err.starts_with("holdfast: cannot ")) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_TRUE(o.err.ends_with('\n')) << o.err;
    EXPECT_NE(o.err.find("; "), std::string::npos) << "says nothing of what to do: " << o.err;
}

server_process::server_process(const std::vector<std::string>& arguments,
                               const std::string& directory)
    : output_(temporary_name()) {
    std::vector<std::string> all{HF_PROGRAM, "serve", "--port", "0"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    child_ = start(all, directory, output_, output_);
    wait_until_serving();
}

server_process::~server_process() {
    if (child_ > 0) end(SIGKILL);
    std::filesystem::remove(output_);
}

std::string server_process::said() const { return read_all(output_); }

void server_process::wait_until_serving() {
    for (;;) {
        const std::string text = said();
        const std::size_t line = text.find("serving ");
        if (line != std::string::npos && text.find('\n', line) != std::string::npos) {
            const std::size_t colon = text.find(':', line);
            port_ = std::atoi(text.c_str() + colon + 1);
            return;
        }
        int status = 0;
        if (::waitpid(child_, &status, WNOHANG) == child_) {
            child_ = -1;
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

std::string server_process::ask(const std::string& request, const std::string& until) const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<std::uint16_t>(port_));
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string answer;
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0 &&
        ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(request.size())) {
        char buffer[4096];
        while (!answer.ends_with(until)) {
            const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
            if (n <= 0) break;
            answer.append(buffer, static_cast<std::size_t>(n));
        }
    }
    ::close(fd);
    return answer;
}

int server_process::end(int signal) {
    ::kill(child_, signal);
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    return code_of(status);
}

int server_process::end_repeating(int signal) {
    int status = 0;
    for (;;) {
        ::kill(child_, signal);
        if (::waitpid(child_, &status, WNOHANG) == child_) break;
        ::usleep(200);
    }
    child_ = -1;
    return code_of(status);
}

scratch::scratch() {
    const char* base = std::getenv("HF_TEST_DIR");
    path_ = std::string(base != nullptr ? base : "/dev/shm") + "/holdfast-tools-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
}

scratch::~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> scratch::names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
        all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace hf::test
