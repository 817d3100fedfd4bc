// Each program of examples/sections is killed under load, several times, and checks its own data.
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace hf {
namespace {

struct example {
    const char* name;
    const char* mode;  ///< as HOLDFAST_SECTION_MODE; "": the default
};

class section_examples : public test::on_tmpfs, public ::testing::WithParamInterface<example> {
   protected:
    [[nodiscard]] pid_t start(const char* what) const {
        const std::string program = std::string(HF_EXAMPLES) + "/section_" + GetParam().name;
        const pid_t child = ::fork();
        if (child == 0) {
            ::setenv("HOLDFAST_SECTION_MODE", GetParam().mode, 1);
            ::execl(program.c_str(), program.c_str(), file.c_str(), what, nullptr);
            ::_exit(127);
        }
        return child;
    }
    static int wait(pid_t child) {
        int status = 0;
        ::waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
};

TEST_P(section_examples, is_consistent_after_each_kill) {
    // Once something has survived it stays.
    bool has_progress = false;
    for (unsigned round = 0; round < 4 || (!has_progress && round < 30); ++round) {
        const pid_t child = start("run");
        ::usleep(120'000 + round * 37'000);
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        ASSERT_EQ(wait(child), 1000 + SIGKILL) << "it ended before it was killed";
        const int found = wait(start("check"));
        ASSERT_TRUE(found == 0 || (found == 3 && !has_progress))
            << "round " << round << ": " << found;
        has_progress = found == 0;
    }
    EXPECT_TRUE(has_progress);
}

class audited_examples : public section_examples {};

/// In the debugging mode: each store of the program was announced.
TEST_P(audited_examples, announce_all_of_their_stores) {
    const std::string said = file.string() + ".audit";
    const std::string command =
        std::string(
            "ASAN_OPTIONS=detect_leaks=0 HOLDFAST_SECTION_AUDIT=compare HOLDFAST_SECTION_MODE=") +
        GetParam().mode + " '" + HF_EXAMPLES + "/section_" + GetParam().name + "' '" +
        file.string() + "' run 300 2> '" + said + "'";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream in(said);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_NE(text.find("audit: 0 unannounced stores; "), std::string::npos) << text;
    EXPECT_EQ(text.find("; 0 were announced"), std::string::npos) << text;
}

std::string name_of(const ::testing::TestParamInfo<example>& p) {
    const std::string mode(p.param.mode);
    return p.param.name + (mode.empty() ? mode : "_in_" + mode + "_mode");
}

INSTANTIATE_TEST_SUITE_P(programs, audited_examples,
                         ::testing::Values(example{"bank", ""}, example{"queue", ""},
                                           example{"queue", "graph"}),
                         name_of);
#ifdef HF_DEDUP
INSTANTIATE_TEST_SUITE_P(pipeline, audited_examples, ::testing::Values(example{"dedup", ""}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(pipeline, section_examples,
                         ::testing::Values(example{"dedup", ""}, example{"dedup", "graph"}),
                         name_of);
#endif
INSTANTIATE_TEST_SUITE_P(programs, section_examples,
                         ::testing::Values(example{"bank", ""}, example{"queue", ""},
                                           example{"cache", ""}, example{"avl", ""},
                                           example{"phone_book", ""}, example{"bank", "graph"},
                                           example{"queue", "graph"}),
                         name_of);

}  // namespace
}  // namespace hf
