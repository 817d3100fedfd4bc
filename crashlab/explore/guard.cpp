#include "crashlab/explore/guard.hpp"

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <exception>

namespace hf::lab {
namespace {

sigjmp_buf way_back;
bool is_guarding = false;
bool cut_short = false;
const char* cause = nullptr;

[[noreturn]] void leave(const char* why) {
    cause = why;
    cut_short = true;
    siglongjmp(way_back, 1);
}

void on_signal(int number) {
    if (!is_guarding) {
        std::signal(number, SIG_DFL);
        std::raise(number);
        return;
    }
    switch (number) {
        case SIGABRT:
            leave("it aborted (its message stands above)");
        case SIGSEGV:
        case SIGBUS:
            leave("it touched memory that is not there");
        case SIGFPE:
            leave("it divided by zero");
        default:
            leave("it ran into an illegal instruction");
    }
}

void catch_signals() {
    static const bool done = [] {
        struct sigaction a{};
        a.sa_handler = on_signal;
        a.sa_flags = SA_NODEFER;
        for (const int s : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(s, &a, nullptr);
        return true;
    }();
    static_cast<void>(done);
}

}  // namespace

void stop_endless() {
    if (is_guarding) leave("it does not end");
}

bool was_cut_short() noexcept { return cut_short; }

std::optional<std::string> guarded(const std::function<void()>& work) {
    catch_signals();
    is_guarding = true;
    if (sigsetjmp(way_back, 1) != 0) {
        is_guarding = false;
        return cause;
    }
    std::optional<std::string> wrong;
    try {
        work();
    } catch (const std::exception& e) {
        wrong = e.what();
    }
    is_guarding = false;
    return wrong;
}

}  // namespace hf::lab
