// Wrappers of library functions that write through pointers: hf_lib_<name> behaves as <name>, but
// announces what it writes to a region (<holdfast/section_hooks.h>).
//
// The compiler plugin redirects the calls of a program to them (pass/library_names.cpp lists the
// functions). A wrapper whose pointers are all outside of the arena calls the original at once.
// Else one of two forms is used:
//
//   L1  A function that only computes (strcpy) runs between the hooks, which enclose its bytes.
//   L2  A function that may block, or whose result is known only afterwards (read, strtol), works
//       on private memory; what it has written there is then copied between the hooks. Rule C12 of
//       sections: outside of all sections a thread must not block between the hooks, or no cut can
//       be made until another process sends something.
//
// errno after a wrapper is what the original left there.
//
// Not wrapped: %n of the printf family, and objects that must not be in a region (streams, locks,
// jump buffers).
#pragma once

#include <holdfast/section_hooks.h>

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hf::section_libc {

/// True iff p may point into a region. By the dynamic number, so that programs under a sanitizer,
/// whose arena is elsewhere, can use the same library.
inline bool is_persistent(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) >> HF_SECTION_ARENA_SHIFT == hf_section_arena_number;
}

/// Calls `write`, which stores to no byte outside of [p, p + n) and does not block (L1).
template <class Write>
void announced(void* p, std::size_t n, const Write& write) {
    if (n == 0 || !is_persistent(p)) {
        write();
        return;
    }
    const int kept = errno;
    const int alone = hf_section_store(p, n);
    write();
    if (alone != 0) hf_section_stored();
    errno = kept;
}

/// Copies n bytes; the ranges may overlap.
inline void copy(void* to, const void* from, std::size_t n) {
    announced(to, n, [&] { std::memmove(to, from, n); });
}

template <class T>
void assign(T& to, const T& value) {
    copy(&to, &value, sizeof(T));
}

/// The T that a function returns by a pointer (L2): the user's own, or a copy of it, which is
/// copied back in the end. The pointer may be null.
template <class T>
class out {
   public:
    explicit out(T* user) : user_(user), is_copied_(user != nullptr && is_persistent(user)) {
        if (is_copied_) std::memcpy(&copy_, user, sizeof(T));
    }
    ~out() {
        if (is_copied_ && std::memcmp(user_, &copy_, sizeof(T)) != 0) {
            copy(user_, &copy_, sizeof(T));
        }
    }
    out(const out&) = delete;
    out& operator=(const out&) = delete;

    [[nodiscard]] T* get() { return is_copied_ ? &copy_ : user_; }

   private:
    T* user_;
    bool is_copied_;
    T copy_;
};

/// n bytes of private memory (L2): on the stack up to 16 KiB, else mapped, for the program's malloc
/// is not ours to call.
class private_buffer {
   public:
    explicit private_buffer(std::size_t n) : size_(n) {
        if (n <= sizeof near_) return;
        void* const at =
            ::mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        far_ = at == MAP_FAILED ? nullptr : at;
    }
    ~private_buffer() {
        const int kept = errno;
        if (far_ != nullptr) ::munmap(far_, size_);
        errno = kept;
    }
    private_buffer(const private_buffer&) = delete;
    private_buffer& operator=(const private_buffer&) = delete;

    /// Null, with errno set, if there is no memory.
    [[nodiscard]] void* get() { return size_ <= sizeof near_ ? near_ : far_; }

   private:
    std::size_t size_;
    void* far_ = nullptr;
    alignas(16) unsigned char near_[16384];
};

/// Has `call(buffer)` fill up to n bytes of private memory and copies as many as it returns to
/// `to`. Returns what `call` returns: a number of bytes, or -1.
template <class Call>
std::ptrdiff_t through_buffer(void* to, std::size_t n, const Call& call) {
    if (!is_persistent(to)) return call(to);
    private_buffer buffer(n);
    void* const at = buffer.get();
    if (at == nullptr) return -1;
    const std::ptrdiff_t got = call(at);
    if (got > 0)
        copy(to, at, static_cast<std::size_t>(got) < n ? static_cast<std::size_t>(got) : n);
    return got;
}

/// glibc's end of a program that would overrun a buffer whose size the compiler knows.
extern "C" [[noreturn]] void __chk_fail();

inline void check_room(std::size_t wanted, std::size_t room) {
    if (wanted > room) __chk_fail();
}

}  // namespace hf::section_libc
