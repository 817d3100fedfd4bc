#include "calls_of_sync.hpp"

#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cstdarg>

namespace {
// By the number of the command's bit. Counted before any constructor runs.
constinit std::array<std::atomic<hf::u64>, 64> fences{};

std::atomic<hf::u64>& count_of(long command) noexcept {
    return fences[static_cast<std::size_t>(
        command == 0 ? 63 : __builtin_ctzl(static_cast<unsigned long>(command)))];
}
}  // namespace

hf::u64 hf::test::fences_asked(int command) noexcept { return count_of(command); }

// NOLINTBEGIN: the names are the linker's.
extern "C" {
int __real_sched_yield();
int __wrap_sched_yield() {
    ++hf::test::yields_of_this_thread;
    return __real_sched_yield();
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (long& one : a) one = va_arg(list, long);
    va_end(list);
    if (number == __NR_membarrier) ++count_of(static_cast<int>(a[0]));
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
}
// NOLINTEND
