// The command line on regions of discipline eager: each index is served, killed, looked at, copied,
// dumped and loaded.
#include <holdfast/eager.hpp>

#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace hf::test {
namespace {

class eager_verbs : public ::testing::TestWithParam<std::string> {
   protected:
    scratch dir;
    const std::string file = dir / "store.hf";
    static constexpr int records = 300;

    /// Served, written to, and killed as soon as the last answer has come.
    void make_and_kill() {
        server_process s(
            {"--file", file, "--size", "16m", "--discipline", "eager", "--index", GetParam()});
        ASSERT_GT(s.port(), 0) << s.said();
        std::string sets;
        for (int i = 0; i < records; ++i) {
            sets += "set k" + std::to_string(i) + " 7 0 5 noreply\r\nhello\r\n";
        }
        ASSERT_EQ(s.ask(sets + "incr k0 1\r\ndelete k1\r\n", "DELETED\r\n"),
                  "CLIENT_ERROR cannot increment or decrement non-numeric value\r\nDELETED\r\n");
        ASSERT_EQ(s.end(SIGKILL), 1000 + SIGKILL);
    }
    [[nodiscard]] static std::string other() { return GetParam() == "art" ? "hot" : "art"; }
};

TEST_P(eager_verbs, serve_has_every_answered_write_after_a_kill) {
    ASSERT_NO_FATAL_FAILURE(make_and_kill());
    server_process s({"--file", file});  // it is known what it is
    ASSERT_GT(s.port(), 0) << s.said();
    EXPECT_NE(s.said().find("recovered in "), std::string::npos) << s.said();
    EXPECT_NE(s.said().find("index " + GetParam()), std::string::npos) << s.said();
    for (int i = 0; i < records; ++i) {
        const std::string key = "k" + std::to_string(i);
        ASSERT_EQ(s.ask("get " + key + "\r\n", "END\r\n"),
                  i == 1 ? "END\r\n" : "VALUE " + key + " 7 5\r\nhello\r\nEND\r\n");
    }
    EXPECT_EQ(s.end(SIGTERM), 0);
    EXPECT_EQ(holdfast({"check", file}).code, 0);
}

TEST_P(eager_verbs, serve_refuses_another_index_and_names_its_own) {
    ASSERT_NO_FATAL_FAILURE(make_and_kill());
    const outcome o = holdfast({"serve", file, "--port", "0", "--index", other()});
    EXPECT_EQ(o.code, 7);
    expect_one_clear_error(o);
    EXPECT_NE(o.err.find("its index is " + GetParam()), std::string::npos) << o.err;
    const outcome epochs = holdfast({"serve", file, "--port", "0", "--discipline", "incll"});
    EXPECT_NE(epochs.code, 0);
    expect_one_clear_error(epochs);
}

TEST_P(eager_verbs, check_and_info_change_nothing) {
    ASSERT_NO_FATAL_FAILURE(make_and_kill());
    const std::string before = read_file(file);
    const auto checked = holdfast({"check", file, "--json"}).json();
    EXPECT_EQ(checked["verdict"], "sound");
    EXPECT_EQ(checked["index"], GetParam());
    EXPECT_EQ(checked["records"], records - 1 + 1) << "the store has one of its own";
    EXPECT_EQ(holdfast({"check", file}).code, 0);
    const auto told = holdfast({"info", file, "--json"}).json();
    EXPECT_EQ(told["discipline"], "eager");
    EXPECT_EQ(told["heap"]["index"], GetParam());
    EXPECT_EQ(told["clean"], false);
    EXPECT_TRUE(read_file(file) == before) << "the file has changed";
}

TEST_P(eager_verbs, copies_dumps_and_loads_are_the_same_store) {
    ASSERT_NO_FATAL_FAILURE(make_and_kill());
    const std::string copy = dir / "copy.hf";
    EXPECT_EQ(holdfast({"copy", file, copy}).code, 0);
    EXPECT_EQ(holdfast({"check", copy}).code, 0);
    const std::string text = dir / "text";
    ASSERT_EQ(holdfast({"dump", copy, text}).code, 0);
    const auto lines = [](const std::string& path) { return holdfast({"dump", path}).out; };
    const std::string same = lines(file);
    EXPECT_EQ(std::count(same.begin(), same.end(), '\n'), 1 + records - 1 + 1);
    EXPECT_EQ(lines(copy), same);
    const std::string elsewhere = dir / "other.hf";
    ASSERT_EQ(holdfast({"load", "--index", other(), elsewhere, text}).code, 0);
    EXPECT_EQ(holdfast({"check", elsewhere, "--json"}).json()["index"], other());
    EXPECT_EQ(lines(elsewhere), same);
    const std::string epochs = dir / "epochs.hf";
    ASSERT_EQ(holdfast({"load", epochs, text}).code, 0);
    EXPECT_EQ(lines(epochs), same);
}

// The root of the index, as the directory of roots has it, and what lies there.
TEST_P(eager_verbs, damage_is_named_and_ends_nothing) {
    ASSERT_NO_FATAL_FAILURE(make_and_kill());
    const auto roots = holdfast({"info", file, "--json"}).json()["roots"];
    const auto root = roots[0]["value"].get<std::uint64_t>();
    for (std::uint64_t at = 0; at < 64; at += 8) {
        write_at(file, root + at, std::string(8, '\x7f'));
    }
    const outcome o = holdfast({"check", file, "--json"});
    EXPECT_TRUE(o.code == 1 || o.code == 6) << o.code << o.err;
    EXPECT_NE(o.json()["verdict"], "sound");
    const outcome dumped = holdfast({"dump", file, dir / "text"});
    EXPECT_EQ(dumped.code, 6);
    expect_one_clear_error(dumped);
}

INSTANTIATE_TEST_SUITE_P(, eager_verbs, ::testing::ValuesIn(eager_index_names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace hf::test
