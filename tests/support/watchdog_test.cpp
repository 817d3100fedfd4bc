// A hanging test is named, with the stack of each of its threads.
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

namespace hf::test {
namespace {

// Run by the test below, in a process of its own.
TEST(hanging, DISABLED_for_ever) {
    std::thread([] {
        for (;;) ::pause();
    }).join();
}

TEST(watchdog, names_a_test_that_hangs_and_shows_every_stack_and_ends_it) {
    const std::string command =
        "HF_TEST_DEADLINE=1 exec /proc/" + std::to_string(::getpid()) +
        "/exe --gtest_also_run_disabled_tests --gtest_filter=hanging.* 2>&1";
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string said;
    char some[256];
    while (std::fgets(some, sizeof some, pipe) != nullptr) said += some;
    const int status = ::pclose(pipe);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
    EXPECT_NE(said.find("hanging.DISABLED_for_ever has run for 1 s"), std::string::npos) << said;
    std::size_t threads = 0;
    for (std::size_t at = 0; (at = said.find("--- thread ", at)) != std::string::npos; ++at) {
        ++threads;
    }
    EXPECT_EQ(threads, 2U) << said;
    EXPECT_EQ(said.find("does not answer"), std::string::npos) << said;
}

}  // namespace
}  // namespace hf::test
