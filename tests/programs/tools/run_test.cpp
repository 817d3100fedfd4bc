// `holdfast run`: a program in C without the plugin, whose locks and stores are found; and programs
// that cannot be run. The environment's variables are those that the verb sets.
#include "tools/program.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace hf::test {
namespace {

class run_verb : public ::testing::Test {
   protected:
    void SetUp() override {
        if (std::string(HF_LIBRARY).empty()) GTEST_SKIP() << "built without the shared runtime";
        const std::string library = HF_LIBRARY;
        const std::string folder = library.substr(0, library.rfind('/'));
        ASSERT_EQ(bash("cc -O1 -I " HF_INCLUDE " " HF_PRELOADED " -o " + program() + " -L " +
                       folder + " -lholdfast_section -Wl,-rpath," + folder + " -lpthread")
                      .code,
                  0);
    }
    [[nodiscard]] std::string program() const { return dir_ / "program"; }
    [[nodiscard]] std::string file() const { return dir_ / "group.hf"; }
    /// The program's first line, before it is killed: two counters, and its depth under a mutex.
    [[nodiscard]] outcome run_and_kill(const std::string& options) const {
        return bash(HF_PROGRAM " run " + options + " timeout -s KILL 0.3 " + program() + " " +
                    (dir_ / "another.hf"));
    }

    scratch dir_;
};

TEST_F(run_verb, finds_locks_and_stores_and_puts_the_group_where_it_was_told_to) {
    const outcome first = run_and_kill("--period 5 --file " + file());
    EXPECT_EQ(first.out, "0 0 1\n") << first.err;
    const outcome second = run_and_kill("--period 5 --file " + file());
    unsigned long a = 0;
    unsigned long b = 0;
    int depth = 0;
    ASSERT_EQ(std::sscanf(second.out.c_str(), "%lu %lu %d", &a, &b, &depth), 3) << second.out;
    EXPECT_GT(a, 0U) << "no cut became durable";
    EXPECT_EQ(a, b);
    EXPECT_EQ(depth, 1);
    EXPECT_EQ(bash("test ! -e " + (dir_ / "another.hf")).code, 0);
}

/// The last number that the program has told, and what it finds at its next start.
struct told_and_found {
    unsigned long told = 0;
    unsigned long found = 0;
};

class run_output : public run_verb {
   protected:
    [[nodiscard]] told_and_found kill_and_look(const std::string& options) const {
        const std::string run = HF_PROGRAM " run --period 40 --file " + file() + " ";
        const std::string killed = " timeout -s KILL 0.5 " + program() + " x";
        const outcome first = bash(run + options + killed + " tell | tail -c 21");
        const outcome second = bash(run + killed);
        return {std::strtoul(first.out.c_str(), nullptr, 10),
                std::strtoul(second.out.c_str(), nullptr, 10)};
    }
};

TEST_F(run_output, that_is_held_tells_of_nothing_that_the_kill_undoes) {
    const told_and_found held = kill_and_look("--hold-output");
    EXPECT_GT(held.told, 0U);
    EXPECT_LE(held.told, held.found);
}

TEST_F(run_output, that_is_not_held_is_ahead_of_the_last_cut) {
    const told_and_found free = kill_and_look("");
    EXPECT_GT(free.told, free.found);
}

TEST_F(run_verb, returns_the_programs_exit_code_and_passes_its_arguments) {
    const outcome o = bash(HF_PROGRAM " run sh -c 'echo \"$1\" $2; exit 7' x --file 'a b'");
    EXPECT_EQ(o.code, 7);
    EXPECT_EQ(o.out, "--file a b\n");
}

TEST_F(run_verb, takes_a_separator_before_the_program_and_leaves_later_ones_to_it) {
    const std::string script = "sh -c 'echo \"$@\"' x -- --file a -- b";
    for (const char* const options :
         {"--", "--report --", "--period 5 --file y --", "--period=5 --"}) {
        const outcome o = bash(std::string(HF_PROGRAM " run ") + options + " " + script);
        EXPECT_EQ(o.code, 0) << options << o.err;
        EXPECT_EQ(o.out, "-- --file a -- b\n") << options;
    }
    const outcome nothing = holdfast({"run", "--"});
    expect_one_clear_error(nothing);
    EXPECT_EQ(nothing.code, 2);
}

TEST_F(run_verb, refuses_what_cannot_be_run) {
    const auto code_of = [](const std::string& program) {
        const outcome o = holdfast({"run", program});
        expect_one_clear_error(o);
        return o.code;
    };
    EXPECT_EQ(code_of("no-such-program"), 3);
    EXPECT_EQ(code_of("/etc/passwd"), 9);
    ASSERT_EQ(
        bash("echo 'int main(void){return 0;}' | cc -static -x c - -o " + (dir_ / "static")).code,
        0);
    EXPECT_EQ(code_of(dir_ / "static"), 2);
    EXPECT_EQ(holdfast({"run", "--library", dir_ / "none.so", "true"}).code, 3);
}

TEST_F(run_verb, has_variables_whose_nonsense_is_one_clear_error) {
    for (const char* const setting : {"PERIOD=0", "PERIOD=10ms", "PERIOD=-1", "PERIOD=3600001",
                                      "STORES=some", "HOLD_OUTPUT=yes"}) {
        const outcome o =
            bash(std::string("HOLDFAST_SECTION_") + setting + " " + program() + " " + file());
        EXPECT_EQ(o.code, 1) << setting;
        EXPECT_NE(o.err.find(std::string("HOLDFAST_SECTION_") + setting), std::string::npos)
            << o.err;
        EXPECT_EQ(bash("test ! -e " + file()).code, 0);
    }
}

}  // namespace
}  // namespace hf::test
