#include "process.hpp"

#include "base/os_error.hpp"
#include "channel.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>

namespace hf::machine {

namespace {

constexpr int not_executed = 127;
constexpr int by_signal = 128;

[[noreturn]] void become(char* const* argv, const std::vector<int>& descriptors, int log,
                         pid_t parent) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(not_executed);
    // Ctrl-C must end only this process, which then ends its children.
    (void)setpgid(0, 0);
    for (const int fd : descriptors) (void)fcntl(fd, F_SETFD, 0);
    (void)dup2(log, STDOUT_FILENO);
    (void)dup2(log, STDERR_FILENO);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)dup2(nothing, STDIN_FILENO);
    (void)execvp(argv[0], argv);
    constexpr std::string_view sorry = "cannot be executed\n";
    (void)!write(STDERR_FILENO, sorry.data(), sorry.size());
    _exit(not_executed);
}

}  // namespace

process& process::operator=(process&& other) noexcept {
    kill();
    pid_ = std::exchange(other.pid_, -1);
    return *this;
}

result<process> process::start(const std::vector<std::string>& command,
                               const std::vector<int>& descriptors,
                               const std::filesystem::path& log) {
    std::vector<std::string> copies = command;
    std::vector<char*> argv;
    for (std::string& word : copies) argv.push_back(word.data());
    argv.push_back(nullptr);
    const descriptor output(
        open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (output.get() < 0) return failure(os_error("write a log", log.string(), "make room there"));
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) become(argv.data(), descriptors, output.get(), parent);
    if (pid < 0) return failure(os_error("start a program", command.front(), "end some programs"));
    process p;
    p.pid_ = pid;
    return p;
}

void process::kill() noexcept {
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);
    (void)wait();
}

int process::wait() noexcept {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : by_signal + WTERMSIG(status);
}

result<std::string> run(const std::vector<std::string>& command, const std::filesystem::path& log) {
    auto program = process::start(command, {}, log);
    if (!program) return tl::unexpected(program.error());
    const int status = program->wait();
    std::string said = text_of(log);
    if (status == 0) return said;
    return failure({errc::io, "run " + command.front(), command.back(),
                    "exit status " + std::to_string(status) + ": " + said,
                    "see that its package is installed and that there is room"});
}

std::string text_of(const std::filesystem::path& file) {
    std::ostringstream all;
    all << std::ifstream(file).rdbuf();
    return all.str();
}

}  // namespace hf::machine
