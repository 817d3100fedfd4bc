// tests/support/kernel.hpp: a kernel that takes less than it was given, is interrupted, is full or
// fails, as a test wants it.
//
// A test program that links hf_test_kernel has its calls of the operating system come here first
// (--wrap, cmake/HoldfastTestSupport.cmake). They are handed on unless a test says otherwise.
#pragma once

#include "base/bits.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hf::test::kernel {

struct call {
    std::string_view name;  ///< "pwrite"
    int fd = -1;            ///< -1: it has none
    u64 offset = 0;         ///< in the file; of mmap(), munmap() and madvise() the address
    u64 size = 0;           ///< bytes; of nanosleep() nanoseconds
    int option = 0;         ///< flags, a mode, a command
    std::string path = {};  ///< what is to be opened, named or removed
};

/// What it says instead of doing all that it is asked.
struct answer {
    int error = 0;        ///< an errno; 0: it does as it is told
    u64 most = ~u64{0};   ///< it takes, or gives, only so many bytes
    u64 value = 0;        ///< of a lie: the file system's type, or the time in nanoseconds
    bool is_lie = false;  ///< returns 0 and has done nothing; `error` is an old one then
    int old_error = 0;    ///< what errno says from an earlier call, if this one does as it is told
};

/// While it lives, every call in this process is answered so, and kept. A call that the answer
/// itself makes is not.
class answered {
   public:
    explicit answered(std::function<answer(const call&)> how);
    answered(const answered&) = delete;
    answered& operator=(const answered&) = delete;
    ~answered();

    /// From now on they are answered so; {}: they are handed on.
    void say(std::function<answer(const call&)> how);
    /// The calls up to here are not kept.
    void forget();

    [[nodiscard]] const std::vector<call>& calls() const noexcept;
    [[nodiscard]] u64 count(std::string_view name) const noexcept;
};

/// While it lives, what this process asks is handed on and not kept: a test looks for itself.
class aside {
   public:
    aside();
    aside(const aside&) = delete;
    aside& operator=(const aside&) = delete;
    ~aside();

   private:
    bool was_on_;
};

/// Calls of this name fail with this error, the first `good` of them excepted.
[[nodiscard]] std::function<answer(const call&)> failing(std::string_view name, int error,
                                                         u64 good = 0);

}  // namespace hf::test::kernel
