// libholdfast_section.so in a program in C that is compiled without the plugin: linked, or loaded
// first. The program counts two words up under a mutex, and is killed.
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace hf {
namespace {

class section_library : public test::on_tmpfs {
   protected:
    struct found {
        unsigned long first = 0;
        unsigned long second = 0;
        int depth = -1;
    };

    void compile() const {
        const std::string library = HF_LIBRARY;
        const std::string folder = library.substr(0, library.rfind('/'));
        const std::string command = "cc -O2 -I " HF_INCLUDE " " HF_PROGRAM " -o " +
                                    program().string() + " -L " + folder +
                                    " -lholdfast_section -Wl,-rpath," + folder + " -lpthread";
        ASSERT_EQ(std::system(command.c_str()), 0) << command;
    }
    [[nodiscard]] std::filesystem::path program() const { return dir / "preloaded"; }

    /// Returns the state that the program found at its start; the program is then killed.
    [[nodiscard]] found run_and_kill(bool preload) const {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe(ends.data()), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            ::dup2(ends[1], 1);
            if (preload) ::setenv("LD_PRELOAD", HF_LIBRARY, 1);
            ::execl(program().c_str(), "preloaded", file.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(ends[1]);
        found f;
        std::FILE* const out = ::fdopen(ends[0], "r");
        EXPECT_EQ(std::fscanf(out, "%lu %lu %d", &f.first, &f.second, &f.depth), 3);
        ::usleep(150'000);
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status));
        std::fclose(out);
        return f;
    }
};

TEST_F(section_library, a_c_program_that_is_killed_goes_on_where_a_cut_was) {
    compile();
    unsigned long before = 0;
    for (int round = 0; round < 6; ++round) {
        const found f = run_and_kill(round % 2 == 0);
        EXPECT_EQ(f.depth, 1) << "its mutex makes a section";
        EXPECT_EQ(f.first, f.second) << "a section is there as a whole";
        EXPECT_GE(f.first, before);
        before = f.first;
    }
    EXPECT_GT(before, 0U);
}

}  // namespace
}  // namespace hf
