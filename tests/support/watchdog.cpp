#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

// Exists with a sanitizer: it prints names and lines.
extern "C" __attribute__((weak)) void __sanitizer_print_stack_trace();

namespace hf::test {
namespace {

// The functions up to `on_alarm` run in signal handlers: only write(), and preallocated memory.

char running[256] = "no test";
unsigned deadline = 0;  // seconds
std::atomic<int> answers{0};

int stack_signal() { return SIGRTMAX - 5; }

void say(const char* text) {
    // A failed write cannot be reported.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

/// The first word or line of a small file in /proc.
template <std::size_t N>
const char* read_line(const char* path, char (&into)[N]) {
    into[0] = 0;
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return into;
    const auto size = ::read(fd, into, N - 1);
    ::close(fd);
    into[size > 0 ? size : 0] = 0;
    into[std::strcspn(into, "\n")] = 0;
    return into;
}

void on_stack_signal(int) {
    const int error = errno;
    char text[64];
    std::snprintf(text, sizeof text, "--- thread %ld of process %d\n", ::syscall(SYS_gettid),
                  static_cast<int>(::getpid()));
    say(text);
    if (__sanitizer_print_stack_trace != nullptr) {
        __sanitizer_print_stack_trace();
    } else {
        void* frames[64];
        ::backtrace_symbols_fd(frames, ::backtrace(frames, 64), STDERR_FILENO);
    }
    answers.fetch_add(1);
    errno = error;
}

void wait_for_answer(int before, const char* where) {
    const timespec moment{0, 10'000'000};
    for (int i = 0; i < 300; ++i) {
        if (answers.load() != before) return;
        ::nanosleep(&moment, nullptr);
    }
    char path[96];
    char channel[96];
    std::snprintf(path, sizeof path, "%s/wchan", where);
    say("--- a thread does not answer: ");
    say(where);
    say(", which waits in ");
    say(read_line(path, channel));
    say("\n");
}

/// Calls f(number) for each entry of a directory in /proc that is a number.
template <class F>
void each_number(const char* directory, F&& f) {
    const int fd = ::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    alignas(8) char buffer[4096];
    for (;;) {
        const long size = ::syscall(SYS_getdents64, fd, buffer, sizeof buffer);
        if (size <= 0) break;
        for (long at = 0; at < size;) {
            const auto* const entry = reinterpret_cast<const dirent64*>(buffer + at);
            if (const int number = std::atoi(entry->d_name); number > 0) f(number);
            at += entry->d_reclen;
        }
    }
    ::close(fd);
}

void ask_children(int thread) {
    char path[64];
    char children[512];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/children", thread);
    read_line(path, children);
    for (char* at = children; *at != 0;) {
        const int child = static_cast<int>(std::strtol(at, &at, 10));
        while (*at == ' ') ++at;
        char text[96];
        char name[64];
        std::snprintf(path, sizeof path, "/proc/%d/comm", child);
        std::snprintf(text, sizeof text, "--- child %d: %s\n", child, read_line(path, name));
        say(text);
        // A child that was executed, not only forked, has the default handler and dies of the
        // signal, as intended.
        ::kill(child, stack_signal());
    }
    const timespec moment{0, 500'000'000};
    if (children[0] != 0) ::nanosleep(&moment, nullptr);
}

void on_alarm(int) {
    char text[400];
    std::snprintf(text, sizeof text,
                  "\n*** %s has run for %u s: stacks of all threads, then the end\n", running,
                  deadline);
    say(text);
    const long self = ::syscall(SYS_gettid);
    on_stack_signal(0);
    each_number("/proc/self/task", [self](int thread) {
        if (thread == self) return;
        const int before = answers.load();
        char where[64];
        std::snprintf(where, sizeof where, "/proc/self/task/%d", thread);
        if (::syscall(SYS_tgkill, ::getpid(), thread, stack_signal()) == 0) {
            wait_for_answer(before, where);
        }
    });
    each_number("/proc/self/task", ask_children);
    say("*** names for addresses: addr2line -Cfpe PROGRAM +0x...\n");
    ::signal(SIGABRT, SIG_DFL);
    std::abort();
}

class watchdog final : public ::testing::EmptyTestEventListener {
   public:
    void OnTestStart(const ::testing::TestInfo& test) override {
        std::snprintf(running, sizeof running, "%s.%s", test.test_suite_name(), test.name());
        ::alarm(deadline);
    }
    void OnTestEnd(const ::testing::TestInfo&) override { ::alarm(0); }
};

}  // namespace

void watch_tests() {
    const char* const wanted = std::getenv("HF_TEST_DEADLINE");
    deadline = wanted == nullptr ? 0 : static_cast<unsigned>(std::strtoul(wanted, nullptr, 10));
    if (deadline == 0) return;
    void* frame = nullptr;
    ::backtrace(&frame, 1);  // loads its library now, which a handler must not do
    struct sigaction action{};
    action.sa_flags = SA_RESTART;
    ::sigfillset(&action.sa_mask);
    action.sa_handler = on_stack_signal;
    ::sigaction(stack_signal(), &action, nullptr);
    // The handler waits for the answers of other threads and may be signalled itself.
    ::sigemptyset(&action.sa_mask);
    action.sa_handler = on_alarm;
    ::sigaction(SIGALRM, &action, nullptr);
    ::testing::UnitTest::GetInstance()->listeners().Append(new watchdog);  // takes ownership
}

}  // namespace hf::test
