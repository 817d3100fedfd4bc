// The command line knows a discipline that a program has added.
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace hf::test {
namespace {

struct ran {
    int code;
    std::string text;  ///< output and errors
};

class discipline_of_a_program : public on_tmpfs {
   protected:
    static ran run(const std::string& arguments) {
        const std::string command = std::string(HF_MADE_UP) + " " + arguments + " 2>&1";
        std::FILE* const out = ::popen(command.c_str(), "re");
        ran r;
        for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) {
            r.text += static_cast<char>(c);
        }
        const int status = ::pclose(out);
        r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        return r;
    }
    void SetUp() override {
        const ran made = run("new " + file.string() + " 41");
        ASSERT_EQ(made.code, 0) << made.text;
    }
};

TEST_F(discipline_of_a_program, is_named_by_info) {
    const ran r = run("info " + file.string());
    EXPECT_EQ(r.code, 0) << r.text;
    EXPECT_NE(r.text.find("made-up"), std::string::npos) << r.text;
    EXPECT_NE(run("info --json " + file.string()).text.find("\"discipline\": \"made-up\""),
              std::string::npos);
}

TEST_F(discipline_of_a_program, is_checked_by_its_own_function) {
    const ran r = run("check " + file.string());
    EXPECT_EQ(r.code, 0) << r.text;
    EXPECT_NE(r.text.find("the count is 41"), std::string::npos) << r.text;
}

TEST_F(discipline_of_a_program, is_copied_and_the_copy_closed_in_order) {
    const std::string copy = dir / "copy";
    const ran r = run("copy " + file.string() + " " + copy);
    EXPECT_EQ(r.code, 0) << r.text;
    EXPECT_NE(run("check " + copy).text.find("the count is 41"), std::string::npos);
    EXPECT_NE(run("info " + copy).text.find("closed cleanly"), std::string::npos);
    EXPECT_EQ(r.text.find("epoch"), std::string::npos) << "it has no epochs: " << r.text;
}

TEST_F(discipline_of_a_program, is_refused_where_it_is_damaged) {
    {
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        bytes.seekp(64 << 10);
        bytes << std::string(128, 'x');
    }
    for (const std::string verb : {"check", "copy --force"}) {
        const ran r =
            run(verb + " " + file.string() + (verb == "check" ? "" : " " + (dir / "c").string()));
        EXPECT_EQ(r.code, 6) << r.text;
        EXPECT_NE(r.text.find("neither of its slots"), std::string::npos) << r.text;
    }
    EXPECT_FALSE(std::filesystem::exists(dir / "c"));
}

TEST_F(discipline_of_a_program, is_unknown_to_others) {
    region_options look;
    look.mode = open_mode::inspect;
    const auto opened = region::open(file, look);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::incompatible);
    EXPECT_NE(opened.error().why.find("unknown number 200"), std::string::npos);
}

}  // namespace
}  // namespace hf::test
