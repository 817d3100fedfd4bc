#include "library_names.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace hf::pass {
namespace {

struct named {
    llvm::StringRef name;
    std::uint32_t written;
};

constexpr std::uint32_t any = 1U << 31;

/// Argument numbers as bits.
constexpr std::uint32_t args(std::initializer_list<unsigned> numbers) {
    std::uint32_t bits = 0;
    for (const unsigned n : numbers) bits |= 1U << n;
    return bits;
}

// Each has a wrapper in src/section/libc; a test compares the two lists.
constexpr named wrapped[] = {
    // Blocks of memory, and strings.
    {"memcpy", args({0})}, {"memmove", args({0})}, {"memset", args({0})}, {"mempcpy", args({0})},
    {"memccpy", args({0})}, {"bcopy", args({1})}, {"bzero", args({0})},
    {"explicit_bzero", args({0})}, {"swab", args({1})},
    {"__memcpy_chk", args({0})}, {"__memmove_chk", args({0})}, {"__memset_chk", args({0})},
    {"__mempcpy_chk", args({0})},
    {"strcpy", args({0})}, {"strncpy", args({0})}, {"strcat", args({0})}, {"strncat", args({0})},
    {"stpcpy", args({0})}, {"stpncpy", args({0})}, {"strtok", args({0})}, {"strtok_r", args({0, 2})},
    {"__strtok_r", args({0, 2})}, {"strsep", args({0})}, {"strxfrm", args({0})},
    {"__xpg_strerror_r", args({1})}, {"strerror_r", args({1})},
    {"__strcpy_chk", args({0})}, {"__strncpy_chk", args({0})}, {"__strcat_chk", args({0})},
    {"__strncat_chk", args({0})}, {"__stpcpy_chk", args({0})}, {"__stpncpy_chk", args({0})},
    {"wcscpy", args({0})}, {"wcsncpy", args({0})}, {"wcscat", args({0})}, {"wmemcpy", args({0})},
    {"wmemmove", args({0})}, {"wmemset", args({0})}, {"mbstowcs", args({0})},
    {"wcstombs", args({0})},
    // Formatting and conversion.
    {"sprintf", args({0})}, {"snprintf", args({0})}, {"vsprintf", args({0})},
    {"vsnprintf", args({0})}, {"__sprintf_chk", args({0})}, {"__snprintf_chk", args({0})},
    {"__vsprintf_chk", args({0})}, {"__vsnprintf_chk", args({0})}, {"asprintf", args({0})},
    {"vasprintf", args({0})}, {"__asprintf_chk", args({0})}, {"__vasprintf_chk", args({0})},
    {"sscanf", args({2}) | any}, {"__isoc99_sscanf", args({2}) | any},
    {"strtol", args({1})}, {"strtoul", args({1})}, {"strtoll", args({1})}, {"strtoull", args({1})},
    {"strtod", args({1})}, {"strtof", args({1})}, {"strtold", args({1})}, {"strtoimax", args({1})},
    {"strtoumax", args({1})}, {"frexp", args({1})}, {"modf", args({1})}, {"modff", args({1})},
    {"sincos", args({1, 2})}, {"inet_pton", args({2})}, {"inet_ntop", args({2})},
    {"inet_aton", args({1})},
    // Input. read and its like are where a thread blocks (C12).
    {"read", args({1})}, {"pread", args({1})}, {"pread64", args({1})}, {"readv", args({1})},
    {"preadv", args({1})}, {"recv", args({1})}, {"recvfrom", args({1, 4, 5})},
    {"recvmsg", args({1})}, {"fread", args({0})}, {"fread_unlocked", args({0})},
    {"fgets", args({0})}, {"fgets_unlocked", args({0})}, {"getline", args({0, 1})},
    {"getdelim", args({0, 1})}, {"__getdelim", args({0, 1})}, {"readlink", args({1})},
    {"getcwd", args({0})}, {"realpath", args({1})}, {"gethostname", args({0})},
    {"getrandom", args({0})}, {"getentropy", args({0})},
    {"__read_chk", args({1})}, {"__pread_chk", args({1})}, {"__pread64_chk", args({1})},
    {"__recv_chk", args({1})}, {"__recvfrom_chk", args({1, 4, 5})}, {"__fgets_chk", args({0})},
    {"__fread_chk", args({0})}, {"__readlink_chk", args({1})}, {"__getcwd_chk", args({0})},
    {"__realpath_chk", args({1})}, {"__gethostname_chk", args({0})},
    // Results by pointer.
    {"time", args({0})}, {"gettimeofday", args({0, 1})}, {"clock_gettime", args({1})},
    {"clock_getres", args({1})}, {"localtime_r", args({1})}, {"gmtime_r", args({1})},
    {"mktime", args({0})}, {"timegm", args({0})}, {"asctime_r", args({1})}, {"ctime_r", args({1})},
    {"strftime", args({0})}, {"nanosleep", args({1})}, {"stat", args({1})}, {"fstat", args({1})},
    {"lstat", args({1})}, {"fstatat", args({2})}, {"stat64", args({1})}, {"fstat64", args({1})},
    {"lstat64", args({1})}, {"uname", args({0})}, {"getrlimit", args({1})},
    {"getrlimit64", args({1})}, {"getrusage", args({1})}, {"getsockname", args({1, 2})},
    {"getpeername", args({1, 2})}, {"accept", args({1, 2})}, {"accept4", args({1, 2})},
    {"getsockopt", args({3, 4})}, {"pipe", args({0})}, {"pipe2", args({0})},
    {"socketpair", args({3})}, {"poll", args({0})}, {"__poll_chk", args({0})},
    {"epoll_wait", args({1})}, {"select", args({1, 2, 3, 4})}, {"getaddrinfo", args({3})},
    {"posix_memalign", args({0})}, {"pthread_create", args({0})}, {"rand_r", args({0})},
    // Sorting.
    {"qsort", args({0})}, {"qsort_r", args({0})},
    // Parts of libstdc++ that change nodes of containers in compiled code.
    {"_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_", args({1, 2, 3})},
    {"_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_", args({0, 1})},
    {"_ZNSt8__detail15_List_node_base7_M_hookEPS0_", args({0, 1})},
    {"_ZNSt8__detail15_List_node_base9_M_unhookEv", args({0})},
    {"_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_", args({0, 1, 2})},
    {"_ZNSt8__detail15_List_node_base10_M_reverseEv", args({0})},
    {"_ZNSt8__detail15_List_node_base4swapERS0_S1_", args({0, 1})},
    {"_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm", args({0})},
    {"_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm", args({0})},
};

// Their pointers are read, or point to objects that are never in a region: streams, directories,
// locks and condition variables (which must be outside of regions, or are registered with the
// runtime), attributes, signal masks, jump buffers, blocks of malloc.
constexpr llvm::StringLiteral harmless[] = {
    "free", "malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "abort", "exit",
    "_exit", "_Exit", "quick_exit", "atexit", "on_exit", "__cxa_atexit", "__cxa_thread_atexit",
    "__assert_fail", "__stack_chk_fail", "__fortify_fail", "__chk_fail", "err", "errx", "warn",
    "warnx", "verr", "verrx", "vwarn", "vwarnx", "perror", "error", "psignal",
    // Output, and streams.
    "printf", "fprintf", "dprintf", "vprintf", "vfprintf", "vdprintf", "__printf_chk",
    "__fprintf_chk", "__dprintf_chk", "__vprintf_chk", "__vfprintf_chk", "puts", "fputs", "fputc",
    "putc", "putchar", "fwrite", "fputs_unlocked", "fwrite_unlocked", "fflush", "fclose", "fopen",
    "fopen64", "fdopen", "freopen", "fseek", "fseeko", "ftell", "ftello", "rewind", "feof", "ferror",
    "clearerr", "fileno", "fgetc", "getc", "getchar", "ungetc", "setvbuf", "setbuf", "setlinebuf",
    "_IO_getc", "_IO_putc", "getc_unlocked", "putc_unlocked", "flockfile", "funlockfile", "popen",
    "pclose", "tmpfile", "write", "pwrite", "pwrite64", "writev", "pwritev", "send", "sendto",
    "sendmsg", "sendfile", "syslog", "vsyslog", "__syslog_chk", "openlog", "closelog",
    // Files and sockets.
    "open", "open64", "openat", "__open_2", "__open64_2", "__openat_2", "creat", "close", "unlink",
    "unlinkat", "rename", "renameat", "link", "symlink", "mkdir", "rmdir", "chmod", "fchmod",
    "chown", "fchown", "access", "faccessat", "chdir", "umask", "truncate", "ftruncate", "fsync",
    "fdatasync", "opendir", "readdir", "readdir64", "closedir", "mkfifo", "mknod", "utime",
    "utimes", "futimes", "utimensat", "fcntl", "fcntl64", "flock", "lockf", "mmap", "mmap64",
    "munmap", "mprotect", "msync", "madvise", "posix_madvise", "mlock", "mlockall", "munlock",
    "shm_open", "shm_unlink", "socket", "bind", "connect", "listen", "shutdown", "setsockopt",
    "epoll_ctl", "epoll_create1", "eventfd", "freeaddrinfo", "gai_strerror", "if_nametoindex",
    // Processes, users, the environment.
    "execl", "execlp", "execle", "execv", "execve", "execvp", "system", "kill", "getenv",
    "secure_getenv", "setenv", "putenv", "unsetenv", "setrlimit", "setrlimit64", "getpwnam",
    "getpwuid", "getgrnam", "initgroups", "setgroups", "getopt", "getopt_long", "daemon", "prctl",
    "setlocale", "localeconv", "tzset", "dlopen", "dlsym", "dlclose", "dlerror", "qsort_s",
    // Signals and jumps.
    "signal", "sigaction", "sigemptyset", "sigfillset", "sigaddset", "sigdelset", "sigismember",
    "sigprocmask", "pthread_sigmask", "sigsuspend", "sigwait", "setjmp", "_setjmp", "__sigsetjmp",
    "longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "alarm", "setitimer",
    // Numbers and strings that are read.
    "bsearch", "memchr", "memrchr", "memcmp", "bcmp", "memmem", "strlen", "strnlen", "strcmp",
    "strncmp", "strcasecmp", "strncasecmp", "strchr", "strrchr", "strstr", "strcasestr", "strpbrk",
    "strspn", "strcspn", "strchrnul", "rawmemchr", "strdup", "strndup", "__strdup", "strcoll",
    "strerror", "atoi", "atol", "atoll", "atof", "wcslen", "wcscmp", "wcschr", "wmemcmp",
    "localtime", "gmtime", "asctime", "ctime", "difftime", "clock_settime", "usleep",
    "utimensat64", "inet_addr", "inet_ntoa", "gethostbyname", "crypt",
    // The C++ runtime.
    "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t",
    "__cxa_begin_catch", "__cxa_end_catch", "__cxa_throw", "__cxa_rethrow", "__cxa_free_exception",
    "__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort", "__gxx_personality_v0",
    "__dynamic_cast", "_Unwind_Resume", "_ZSt9terminatev", "__clang_call_terminate",
    "__cxa_bad_cast", "__cxa_bad_typeid", "_ZSt17__throw_bad_allocv", "_ZSt20__throw_length_errorPKc",
    "_ZSt19__throw_logic_errorPKc", "_ZSt20__throw_out_of_rangePKc",
    "_ZSt24__throw_out_of_range_fmtPKcz", "_ZSt28__throw_bad_array_new_lengthv",
    "_ZSt25__throw_bad_function_callv", "_ZSt20__throw_system_errori", "_ZSt16__throw_bad_castv",
    "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base", "_ZSt11_Hash_bytesPKvmm",
};

// Whole families: locks and threads (src/section interposes them), mathematics is declared to write
// to no memory, sanitizers' and profilers' runtimes write to memory of their own.
constexpr llvm::StringLiteral harmless_prefixes[] = {
    "pthread_", "sem_", "mtx_", "cnd_", "thrd_", "tss_", "sched_", "posix_spawn", "__sanitizer_",
    "__asan_", "__tsan_", "__ubsan_", "__msan_", "__llvm_profile_", "__gcov_", "regfree",
};

}  // namespace

std::optional<wrapped_function> find_wrapped(llvm::StringRef name) {
    const auto* found = std::find_if(std::begin(wrapped), std::end(wrapped),
                                     [&](const named& n) { return n.name == name; });
    if (found == std::end(wrapped)) return std::nullopt;
    return wrapped_function{found->written};
}

bool is_harmless(llvm::StringRef name) {
    return std::find(std::begin(harmless), std::end(harmless), name) != std::end(harmless) ||
           std::any_of(std::begin(harmless_prefixes), std::end(harmless_prefixes),
                       [&](llvm::StringRef prefix) { return name.starts_with(prefix); });
}

}  // namespace hf::pass
