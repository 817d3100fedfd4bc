// A tool's output is durable before it gets its name, and the name is durable before the tool
// reports success: if a sync fails (disk_faults.cpp), it reports that instead.
#include "tools/program.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace hf::test {
namespace {

class tool_faults : public ::testing::Test {
   protected:
    tool_faults() {
        server_process s({file, "--size", "16m"});
        EXPECT_EQ(s.ask("set k 0 0 1\r\nx\r\n", "\r\n"), "STORED\r\n") << s.said();
        EXPECT_EQ(s.end(SIGTERM), 0);
        EXPECT_EQ(holdfast({"dump", file, text}).code, 0);
        ::setenv("LD_PRELOAD", HF_DISK_FAULTS, 1);
        ::setenv("HF_FAULTS", dir.path().c_str(), 1);
    }
    ~tool_faults() override {
        ::unsetenv("LD_PRELOAD");
        ::unsetenv("HF_FAULTS");
    }
    /// With the fault: a disk error, exit code 11. Without: success.
    void expect_noticed(const std::string& fault, const std::vector<std::string>& arguments) {
        std::ofstream(dir / fault) << "on\n";
        const outcome failed = holdfast(arguments);
        EXPECT_EQ(failed.code, 11) << arguments[0] << ": " << failed.out;
        expect_one_clear_error(failed);
        EXPECT_NE(failed.err.find("Input/output error"), std::string::npos) << failed.err;
        if (fault == "sync") {
            EXPECT_FALSE(std::filesystem::exists(made)) << arguments[0];
        }
        EXPECT_FALSE(std::filesystem::exists(made + ".partial")) << arguments[0];
        std::filesystem::remove(dir / fault);
        std::filesystem::remove(made);
        EXPECT_EQ(holdfast(arguments).code, 0) << arguments[0];
        std::filesystem::remove(made);
    }

    scratch dir;
    const std::string file = dir / "store.hf";
    const std::string text = dir / "text";
    const std::string made = dir / "made";
};

TEST_F(tool_faults, what_is_made_is_durable_before_it_has_its_name) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"dump", file, made}, {"copy", file, made}}) {
        expect_noticed("sync", arguments);
    }
}

TEST_F(tool_faults, a_name_is_durable_before_it_is_told) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"dump", file, made}, {"copy", file, made}}) {
        expect_noticed("names", arguments);
    }
}

TEST_F(tool_faults, what_comes_to_the_name_in_the_last_moment_is_not_replaced) {
    std::ofstream(dir / "rival") << "on\n";
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"dump", file, made},
                                                      {"copy", file, made},
                                                      {"load", made, text}}) {
        const outcome o = holdfast(arguments);
        EXPECT_EQ(o.code, 2) << arguments[0] << ": " << o.out << o.err;
        expect_one_clear_error(o);
        ASSERT_TRUE(std::filesystem::exists(made)) << arguments[0];
        EXPECT_EQ(std::filesystem::file_size(made), 0U) << arguments[0] << ": it was replaced";
        EXPECT_FALSE(std::filesystem::exists(made + ".partial")) << arguments[0];
        std::filesystem::remove(made);
    }
}

TEST_F(tool_faults, a_store_that_is_loaded_is_durable_before_it_is_told) {
    for (const std::string fault : {"sync", "names"}) {
        std::ofstream(dir / fault) << "on\n";
        const outcome failed = holdfast({"load", made, text});
        EXPECT_EQ(failed.code, 11) << fault << ": " << failed.out << failed.err;
        std::filesystem::remove(dir / fault);
        std::filesystem::remove(made);
    }
    EXPECT_EQ(holdfast({"load", made, text}).code, 0);
}

}  // namespace
}  // namespace hf::test
