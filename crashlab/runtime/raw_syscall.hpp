// runtime/raw_syscall.hpp: a system call without libc, whose functions are interposed here.
#pragma once

namespace hf::lab {

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) noexcept {
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    long done = number;
    asm volatile("syscall"
                 : "+a"(done)
                 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return done;
}

}  // namespace hf::lab
