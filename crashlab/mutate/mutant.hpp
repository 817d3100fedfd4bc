// mutate/mutant.hpp: selects a mutated program's mutant; mutate.py puts it before every file of the
// mutated tree.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <type_traits>

namespace hf {

[[nodiscard]] inline int mutant_of_environment() noexcept {
    const char* text = std::getenv("HF_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
}

/// Read from the environment variable HF_MUTANT before main(); 0: the unmodified program.
inline const int mutant_number = mutant_of_environment();

/// One byte for each mutant, in the file named by HF_MUTANTS_REACHED, shared with all processes of
/// a test. nullptr: not requested. Uses direct system calls, because this runs before main(), and
/// tests replace library functions.
[[nodiscard]] inline unsigned char* reached_of_environment() noexcept {
    constexpr long most_mutants = 1L << 16;
    const char* path = std::getenv("HF_MUTANTS_REACHED");
    const long fd =
        path == nullptr ? -1 : ::syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return nullptr;
    const long p =
        ::syscall(SYS_mmap, nullptr, most_mutants, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    ::syscall(SYS_close, fd);
    return p == -1 ? nullptr : reinterpret_cast<unsigned char*>(p);
}

inline unsigned char* const mutants_reached = reached_of_environment();

/// In constant expressions the code is not mutated.
[[nodiscard]] constexpr bool is_mutant(int number) noexcept {
    if (std::is_constant_evaluated()) return false;
    if (mutants_reached != nullptr) mutants_reached[number] = 1;
    return mutant_number == number;
}

/// Replaces a call that is not made, whatever it returns.
template <class T>
T done() {
    return T();
}

/// ordered_store(), or a release store, without its memory order.
template <class T>
void weak_store(std::atomic<T>& field, std::type_identity_t<T> value) noexcept {
    field.store(value, std::memory_order_relaxed);
}
template <class T>
void weak_store(T& field, std::type_identity_t<T> value) noexcept {
    field = value;
}

}  // namespace hf
