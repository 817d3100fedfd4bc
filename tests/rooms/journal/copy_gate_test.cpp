// Which holders may be inside the gate together, and which wait.
#include "journal/copy_gate.hpp"

#include "journal/format.hpp"
#include "on_kernel.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

namespace hf::test {
namespace {

class copy_gate : public on_kernel {
   protected:
    /// Opens the same file again, as another process would.
    static int again(int of) {
        return ::open(("/proc/self/fd/" + std::to_string(of)).c_str(), O_RDWR | O_CLOEXEC);
    }
    void TearDown() override {
        for (const int fd : {mine, others, prying}) ::close(fd);
    }
    /// Whether another process could get that lock on the byte at once.
    [[nodiscard]] bool is_free(short type, u64 byte = journal::gate_offset) const {
        struct flock lock{};
        lock.l_type = type;
        lock.l_whence = SEEK_SET;
        lock.l_start = static_cast<off_t>(byte);
        lock.l_len = 1;
        const kernel::aside quiet;
        EXPECT_EQ(::fcntl(prying, F_OFD_GETLK, &lock), 0);
        return lock.l_type == F_UNLCK;
    }

    int mine = ::memfd_create("copy_gate_test", MFD_CLOEXEC);
    int others = again(mine);
    int prying = again(mine);
    journal::copy_gate here{mine};
    journal::copy_gate there{others};
};

}  // namespace

TEST_F(copy_gate, holds_many_and_is_shut_for_one_alone) {
    EXPECT_TRUE(is_free(F_WRLCK));
    ASSERT_TRUE(here.hold());
    EXPECT_TRUE(is_free(F_RDLCK));
    EXPECT_FALSE(is_free(F_WRLCK)) << "a copy holds it open";
    ASSERT_TRUE(there.hold());
    here.release();
    EXPECT_FALSE(is_free(F_WRLCK)) << "the other copy holds it still";
    there.release();
    EXPECT_TRUE(is_free(F_WRLCK));
    ASSERT_TRUE(here.shut());
    EXPECT_FALSE(is_free(F_RDLCK)) << "it is shut";
    here.release();
    EXPECT_TRUE(is_free(F_WRLCK));
}

// Users of a region lock other bytes of its files.
TEST_F(copy_gate, locks_one_byte) {
    ASSERT_TRUE(here.shut());
    EXPECT_TRUE(is_free(F_WRLCK, journal::gate_offset - 1));
    EXPECT_TRUE(is_free(F_WRLCK, journal::gate_offset + 1));
    EXPECT_TRUE(is_free(F_WRLCK, 0));
}

TEST_F(copy_gate, makes_wait_who_comes_too_early) {
    for (const bool shut_first : {false, true}) {
        ASSERT_TRUE(shut_first ? here.shut() : here.hold());
        std::atomic<bool> released{false};
        std::thread waits([&] {
            EXPECT_TRUE(shut_first ? there.hold() : there.shut());
            EXPECT_TRUE(released) << "it did not wait";
            there.release();
        });
        released = true;
        here.release();
        waits.join();
    }
}

TEST_F(copy_gate, is_waited_for_through_signals) {
    for (const bool shut : {false, true}) {
        int interrupted = 3;
        say([&](const call&) { return answer{interrupted-- > 0 ? EINTR : 0}; });
        EXPECT_TRUE(shut ? here.shut() : here.hold());
        EXPECT_EQ(script.calls().back().option, F_OFD_SETLKW);
        EXPECT_EQ(is_free(F_RDLCK), !shut);
        EXPECT_FALSE(is_free(F_WRLCK));
        interrupted = 3;
        here.release();
        EXPECT_TRUE(is_free(F_WRLCK));
    }
}

TEST_F(copy_gate, says_that_the_file_system_has_no_such_locks) {
    say([](const call&) { return answer{ENOLCK}; });
    for (const auto& got : {here.shut(), here.hold()}) {
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error().code, errc::io);
    }
    const auto tried = here.try_shut();
    ASSERT_FALSE(tried);
    EXPECT_EQ(tried.error().code, errc::io);
    EXPECT_EQ(script.calls().size(), 3U) << "it is not asked again";
}

TEST_F(copy_gate, may_be_of_the_first_descriptor_of_all) {
    const int kept = ::dup(0);
    ASSERT_EQ(::dup2(mine, 0), 0);
    const journal::copy_gate zero(0);
    EXPECT_TRUE(zero.shut());
    EXPECT_FALSE(is_free(F_RDLCK));
    zero.release();
    ASSERT_TRUE(there.hold());
    const auto meanwhile = zero.try_shut();
    EXPECT_TRUE(meanwhile && !*meanwhile);
    there.release();
    const auto then = zero.try_shut();
    EXPECT_TRUE(then && *then);
    EXPECT_FALSE(is_free(F_RDLCK));
    zero.release();
    EXPECT_TRUE(is_free(F_WRLCK));
    kept < 0 ? ::close(0) : ::dup2(kept, 0);
    ::close(kept);
}

TEST_F(copy_gate, of_no_file_lets_everybody_pass) {
    const journal::copy_gate none;
    EXPECT_TRUE(none.shut());
    const auto shut = none.try_shut();
    EXPECT_TRUE(shut && *shut);
    EXPECT_TRUE(none.hold());
    none.release();
    EXPECT_TRUE(script.calls().empty());
}

}  // namespace hf::test
