#include "interruption.hpp"

#include <holdfast/result.hpp>

#include "image/unfinished.hpp"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace hf::tool {

namespace {

/// The signal's action is the default one again (SA_RESETHAND), so raise() ends the process.
extern "C" void remove_and_end(int signal) {
    detail::unfinished_name::remove_all();
    static_cast<void>(std::raise(signal));
}

/// Async-signal-safe.
extern "C" void say_and_end(int) {
    constexpr std::string_view line =
        "holdfast: cannot go on: a page of the region's file cannot be read: the file was cut "
        "short "
        "by another process, or its disk has failed; stop what changes the file, and `holdfast "
        "check` it\n";
    static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
    ::_exit(11);  // of errc::io
}

}  // namespace

void remove_unfinished_when_interrupted() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action{};
        if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
        action = {};
        action.sa_handler = remove_and_end;
        action.sa_flags = static_cast<int>(SA_RESETHAND);
        ::sigaction(signal, &action, nullptr);
    }
}

void say_bus_errors() {
    struct sigaction action{};
    action.sa_handler = say_and_end;
    ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace hf::tool
