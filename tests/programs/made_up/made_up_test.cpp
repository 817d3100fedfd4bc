// The command line knows a discipline that a program has added.
#include "discipline/registry.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace hf::test {
namespace {

TEST(registry, names_each_discipline_once_in_the_order_of_numbers) {
    const auto all = registry::all();
    ASSERT_EQ(all.size(), 8U);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(static_cast<std::size_t>(all[i].number), i + 1);
        EXPECT_EQ(registry::find(all[i].number), &all[i]);
        EXPECT_EQ(to_string(all[i].number), all[i].name);
        EXPECT_NE(registry::all_names().find(all[i].name), std::string::npos);
        EXPECT_FALSE(all[i].contents.empty());
    }
    EXPECT_EQ(registry::find(discipline{9}), nullptr);
    EXPECT_EQ(to_string(discipline{0}), "unknown");
    EXPECT_EQ(registry::all_names(),
              "transient, logged, incll, snapshot, transaction, eager, section or plain");
}

TEST(registry, keeps_its_order_and_refuses_a_number_that_is_taken) {
    registry::add({discipline{250}, "late", "it holds nothing", true, true, false});
    registry::add({discipline{249}, "early", "it holds nothing", true, true, false});
    EXPECT_EQ(registry::all().back().name, "late");
    EXPECT_EQ(to_string(discipline{249}), "early");
    EXPECT_DEATH(registry::add({discipline{249}, "other", "", true, true, false}), "is taken");
}

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
