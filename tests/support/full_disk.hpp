// tests/support/full_disk.hpp: simulates a full file system, for this process.
#pragma once

#include "base/bits.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>

namespace hf::test {

/// While it exists, this process cannot write beyond the first `most` bytes of a file.
class full_disk {
   public:
    explicit full_disk(u64 most = 4096) {
        std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit none{most, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
    }
    full_disk(const full_disk&) = delete;
    full_disk& operator=(const full_disk&) = delete;
    ~full_disk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

   private:
    rlimit before_{};
};

}  // namespace hf::test
