// tests/journal/kernel.hpp: what the kernel answers to the calls of a file.
//
// A test program with kernel.cpp is linked so that these calls come there first (--wrap in
// CMakeLists.txt).
#pragma once

#include "base/bits.hpp"

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

// NOLINTBEGIN: the names are the linker's.
extern "C" {
ssize_t __real_pwrite(int fd, const void* p, size_t n, off_t at);
ssize_t __real_pwritev(int fd, const iovec* v, int n, off_t at);
ssize_t __real_pread(int fd, void* p, size_t n, off_t at);
int __real_fdatasync(int fd);
int __real_fallocate(int fd, int mode, off_t from, off_t n);
int __real_fstat(int fd, struct stat* s);
int __real_fcntl(int fd, int command, ...);
}
// NOLINTEND

namespace hf::test {

/// What the kernel says instead of doing all that it is asked: an errno, or that it has taken only
/// so many bytes.
struct answer {
    int error = 0;
    u64 most = ~u64{0};
};

struct call {
    std::string name;
    u64 offset = 0;
    u64 size = 0;
    int option = 0;
    friend bool operator==(const call&, const call&) = default;
};

inline struct scripted_kernel {
    std::function<answer(const call&)> answers;  ///< {}: it does as it is told
    std::vector<call> calls;
    std::mutex mutex;

    answer next(call c) {
        const std::lock_guard lock(mutex);
        calls.push_back(std::move(c));
        return answers ? answers(calls.back()) : answer{};
    }
    [[nodiscard]] std::size_t count(const std::string& name) const {
        return static_cast<std::size_t>(std::count_if(
            calls.begin(), calls.end(), [&](const call& c) { return c.name == name; }));
    }
} kernel;

}  // namespace hf::test
