// tests/support/kernel.hpp: a kernel whose calls are short, interrupted, without space or failing,
// as a test requires.
//
// In a test program that links hf_test_kernel, system calls are intercepted (--wrap,
// cmake/HoldfastTestSupport.cmake). They are passed on unless a test says otherwise.
#pragma once

#include "base/bits.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hf::test::kernel {

struct call {
    std::string_view name;  ///< "pwrite"
    int fd = -1;            ///< -1: none
    u64 offset = 0;         ///< in the file; the address for mmap(), munmap() and madvise()
    u64 size = 0;           ///< bytes; nanoseconds for nanosleep()
    int option = 0;         ///< flags, a mode, a command
    std::string path = {};  ///< the file to be opened, named or removed
};

/// A changed behaviour of a call.
struct answer {
    int error = 0;        ///< an errno; 0: the call is executed
    u64 most = ~u64{0};   ///< it reads or writes at most this many bytes
    u64 value = 0;        ///< of a lie: the file system's type, or the time in nanoseconds
    bool is_lie = false;  ///< returns 0 without doing anything; then `error` is a stale errno
    int old_error = 0;    ///< stale errno before the call, if it is executed
};

/// While it exists, every call in this process is answered by the function, and recorded. Calls
/// made by the function itself are not.
class answered {
   public:
    explicit answered(std::function<answer(const call&)> how);
    answered(const answered&) = delete;
    answered& operator=(const answered&) = delete;
    ~answered();

    /// Sets the function; {}: calls are passed on.
    void say(std::function<answer(const call&)> how);
    /// Drops the calls recorded so far.
    void forget();

    [[nodiscard]] const std::vector<call>& calls() const noexcept;
    [[nodiscard]] u64 count(std::string_view name) const noexcept;
};

/// While it exists, calls of this process are passed on and not recorded: for the test's own
/// accesses.
class aside {
   public:
    aside();
    aside(const aside&) = delete;
    aside& operator=(const aside&) = delete;
    ~aside();

   private:
    bool was_on_;
};

/// Calls of this name fail with this error, except for the first `good` ones.
[[nodiscard]] std::function<answer(const call&)> failing(std::string_view name, int error,
                                                         u64 good = 0);

}  // namespace hf::test::kernel
