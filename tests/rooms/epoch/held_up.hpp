// tests/rooms/epoch/held_up.hpp: full disks, bases that stand still, and those who wait for them.
#pragma once

#include "journal/copy_gate.hpp"
#include "recovery/redo.hpp"
#include "support/full_disk.hpp"
#include "support/must.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <thread>
#include <utility>

namespace hf::test {

/// Asks again and again, for ten seconds at most.
template <class Predicate>
[[nodiscard]] bool comes_true(Predicate&& what) {
    for (int tries = 0; tries < 10'000; ++tries) {
        if (what()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

/// A call that waits, in a thread of its own.
class waiting {
   public:
    template <class Work>
    explicit waiting(Work work) : done_(std::async(std::launch::async, std::move(work))) {}
    [[nodiscard]] bool still() const {
        return done_.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout;
    }
    [[nodiscard]] bool ends() const {
        return done_.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
    }

   private:
    std::future<void> done_;
};

/// As long as it lives nothing is applied to the base, as while a copy is made.
class held_base {
   public:
    explicit held_base(const std::filesystem::path& region) {
        fd_ = ::open((detail::journal_path(region)).c_str(), O_RDWR | O_CLOEXEC);
        EXPECT_GE(fd_, 0);
        must(journal::copy_gate(fd_).hold());
    }
    held_base(const held_base&) = delete;
    held_base& operator=(const held_base&) = delete;
    ~held_base() { ::close(fd_); }

   private:
    int fd_ = -1;
};

}  // namespace hf::test
