// Every verb has help and a version, and rejects invalid arguments with one line and exit code 2.
#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace hf::test {
namespace {

using arguments = std::vector<std::string>;

const arguments verbs{"serve",   "info", "check", "inspect", "repair", "copy",
                      "compact", "dump", "load",  "doctor",  "run"};

TEST(command_line, helps) {
    const outcome o = holdfast({"--help"});
    EXPECT_EQ(o.code, 0);
    EXPECT_EQ(o.err, "");
    for (const std::string& verb : verbs) EXPECT_NE(o.out.find("  " + verb), std::string::npos);
    EXPECT_NE(o.out.find("Exit codes"), std::string::npos);
}

TEST(command_line, helps_with_each_verb) {
    for (const std::string& verb : verbs) {
        const outcome o = holdfast({verb, "--help"});
        EXPECT_EQ(o.code, 0) << verb;
        EXPECT_EQ(o.err, "") << verb;
        EXPECT_NE(o.out.find("Usage: holdfast " + verb), std::string::npos) << o.out;
    }
}

TEST(command_line, has_help_as_a_word_too) {
    const scratch dir;
    EXPECT_EQ(holdfast({"help"}).out, holdfast({"--help"}).out);
    for (const std::string& verb : verbs) {
        const std::string wanted = holdfast({verb, "--help"}).out;
        for (const std::vector<std::string>& asked :
             {arguments{"help", verb}, arguments{verb, "help"}}) {
            const outcome o = holdfast(asked, dir.path());
            EXPECT_EQ(o.code, 0) << asked[0] << ' ' << asked[1];
            EXPECT_EQ(o.err, "");
            EXPECT_EQ(o.out, wanted) << asked[0] << ' ' << asked[1];
        }
    }
    EXPECT_TRUE(dir.names().empty()) << "a file was made that is called help";
}

TEST(command_line, has_a_manual_that_knows_all_options) {
    const std::string manual = read_file(HF_MANUAL);
    for (const std::string& verb : verbs) {
        std::istringstream help(holdfast({verb, "--help"}).out);
        for (std::string line; std::getline(help, line);) {
            const std::size_t at = line.find("--");
            if (!line.starts_with("  -") || at > 5) continue;
            std::string option;
            for (const char c : line.substr(at, line.find_first_of(" =,", at) - at)) {
                option += c == '-' ? "\\-" : std::string(1, c);
            }
            EXPECT_NE(manual.find(option), std::string::npos) << verb << ": " << option;
        }
    }
}

TEST(command_line, gives_an_example_with_each_verb) {
    for (const std::string& verb : verbs) {
        const std::string help = holdfast({verb, "--help"}).out;
        const std::size_t at = help.find("Example:\n");
        ASSERT_NE(at, std::string::npos) << help;
        EXPECT_NE(help.find("  holdfast " + verb, at), std::string::npos) << help;
    }
}

TEST(command_line, names_the_verb_that_it_does_not_have) {
    for (const arguments& asked :
         {arguments{"dance"}, arguments{"help", "dance"}, arguments{"dance", "help"}}) {
        const outcome o = holdfast(asked);
        EXPECT_EQ(o.code, 2);
        expect_one_clear_error(o);
        EXPECT_NE(o.err.find("there is no verb 'dance'"), std::string::npos) << o.err;
    }
}

// The device that is always full: lost output must be an error.
TEST(command_line, whatever_cannot_be_written_ends_in_an_error) {
    const scratch dir;
    make_region(dir / "a.hf", ending::closed);
    for (const std::string verb : {"info", "check", "doctor"}) {
        for (const std::string json : {"", "--json"}) {
            arguments a{verb, dir / "a.hf"};
            if (!json.empty()) a.push_back(json);
            const outcome o = holdfast_into("/dev/full", a);
            EXPECT_EQ(o.code, 8) << verb << ' ' << json;
            expect_one_clear_error(o);
        }
    }
    for (const std::string option : {"--help", "--version", "help"}) {
        EXPECT_NE(holdfast_into("/dev/full", {option}).code, 0) << option;
    }
    EXPECT_EQ(holdfast_into("/dev/full", {"info", dir / "none.hf", "--json"}).code, 3)
        << "what went wrong first is told";
}

// The completion queries the program itself, so it is up to date, but may misparse the help.
TEST(command_line, is_completed_by_the_shell) {
    const auto completed = [](const std::string& words) {
        const outcome o = bash("source '" HF_COMPLETION "'; COMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
                               "_holdfast; printf '%s ' \"${COMPREPLY[@]}\"");
        EXPECT_EQ(o.err, "");
        return o.out;
    };
    EXPECT_EQ(completed(HF_PROGRAM " ''"),
              "serve info check inspect repair copy compact dump load doctor run bench help ");
    EXPECT_EQ(completed(HF_PROGRAM " d"), "dump doctor ");
    EXPECT_EQ(completed(HF_PROGRAM " help c"), "check copy compact ");
    EXPECT_EQ(completed(HF_PROGRAM " copy --"), "--help --force --skip-damaged --json --version ");
    EXPECT_EQ(completed(HF_PROGRAM " serve --max-"),
              "--max-value --max-output --max-connections --max-size ");
    EXPECT_EQ(completed(HF_PROGRAM " load --into-existing --n"), "--new-cas ");
}

TEST(command_line, helps_with_the_benchmarks_where_they_are_built) {
    const outcome o = holdfast({"bench", "--help"});
    if (o.code == 2) GTEST_SKIP() << "built without benchmarks";
    EXPECT_EQ(o.code, 0);
    EXPECT_NE(o.out.find("ycsb"), std::string::npos);
    EXPECT_NE(o.out.find("compare"), std::string::npos);
    EXPECT_EQ(holdfast({"bench", "compare", "--help"}).code, 0);
    EXPECT_EQ(holdfast({"bench", "server", "--help"}).code, 0);
    EXPECT_EQ(holdfast({"bench", "server", "--errands", "fishing"}).code, 2);
    EXPECT_EQ(holdfast({"bench", "compare", "--peers", "clay-tablets"}).code, 2);
}

TEST(command_line, tells_its_version_with_and_without_a_verb) {
    EXPECT_EQ(holdfast({"--version"}).out, "holdfast " HF_VERSION "\n");
    for (const std::string& verb : verbs) {
        const outcome o = holdfast({verb, "--version"});
        EXPECT_EQ(o.code, 0) << verb;
        EXPECT_EQ(o.out, "holdfast " HF_VERSION "\n") << verb;
    }
}

class nonsense : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(nonsense, is_refused_in_one_line_with_code_2_and_changes_nothing) {
    const scratch dir;
    const outcome o = holdfast(GetParam(), dir.path());
    EXPECT_EQ(o.code, 2);
    EXPECT_EQ(o.out, "");
    expect_one_clear_error(o);
    EXPECT_TRUE(dir.names().empty());
}

INSTANTIATE_TEST_SUITE_P(
    of_a_user, nonsense,
    ::testing::Values(
        arguments{}, arguments{"dance"}, arguments{"--dance"}, arguments{"info"},
        arguments{"info", ""}, arguments{"copy", "a", ""}, arguments{"dump", "a", ""},
        arguments{"load", "a", ""}, arguments{"doctor", ""}, arguments{"serve", "--file", ""},
        arguments{"run"}, arguments{"run", ""}, arguments{"run", "--file", "", "true"},
        arguments{"run", "--period", "0", "true"}, arguments{"run", "--stores", "some", "true"},
        arguments{"run", "--report"}, arguments{"run", "--loud", "true"}, arguments{"check"},
        arguments{"info", "a", "b"}, arguments{"check", "--repair", "a"}, arguments{"copy", "a"},
        arguments{"dump"}, arguments{"dump", "a", "b", "c"}, arguments{"dump", "a", "--json"},
        arguments{"dump", "a", "-", "--json"}, arguments{"load"}, arguments{"load", "a", "b", "c"},
        arguments{"load", "a", "b", "--force", "--into-existing"},
        arguments{"load", "a", "b", "--new-cas", "--into-existing"}, arguments{"doctor", "a", "b"},
        arguments{"serve", "--port", "65536"}, arguments{"serve", "--port", "-1"},
        arguments{"serve", "--port", "http"}, arguments{"serve", "--port"},
        arguments{"serve", "--threads", "0"}, arguments{"serve", "--threads", "257"},
        arguments{"serve", "--threads", "two"}, arguments{"serve", "--ack", "perhaps"},
        arguments{"serve", "--epoch", "64"}, arguments{"serve", "--epoch", "999us"},
        arguments{"serve", "--epoch", "10001ms"}, arguments{"serve", "--epoch", "0ms"},
        arguments{"serve", "--epoch", "-64ms"},
        arguments{"serve", "--epoch", "99999999999999999999s"},
        arguments{"serve", "--max-value", "0"}, arguments{"serve", "--max-value", "65m"},
        arguments{"serve", "--max-value", "1x"}, arguments{"serve", "--size", "15m"},
        arguments{"serve", "--size", "2t"}, arguments{"serve", "--size", "99999999999t"},
        arguments{"serve", "--size", "64m", "--max-size", "32m"},
        arguments{"serve", "--max-size", "8m"}, arguments{"serve", "--max-size", "1024g1"},
        arguments{"serve", "--medium", "floppy"}, arguments{"serve", "--fence-latency", "1001"},
        arguments{"serve", "--fence-latency", "-1"}, arguments{"serve", "--fence-latency", "slow"},
        arguments{"serve", "--flush", "sometimes"}, arguments{"serve", "--listen", "nowhere"},
        arguments{"serve", "--listen", "127.0.0.1.1"}, arguments{"serve", "--max-connections", "0"},
        arguments{"serve", "a.hf", "b.hf"}, arguments{"serve", "a.hf", "--file", "b.hf"}));

}  // namespace
}  // namespace hf::test
