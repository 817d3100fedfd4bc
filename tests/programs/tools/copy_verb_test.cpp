// `holdfast copy`, `dump` and `load` report their work, and follow their options.
#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

namespace hf::test {
namespace {

class copy_verb : public ::testing::Test {
   protected:
    scratch dir;
    const std::string file = dir / "store.hf";
    const std::string copy = dir / "copy.hf";

    static nlohmann::json info(const std::string& path) {
        return holdfast({"info", path, "--json"}).json();
    }
    static std::string dump(const std::string& path) { return holdfast({"dump", path}).out; }
    /// Expects a closed region with the same contents and another identity.
    void expect_like(const std::string& contents) {
        EXPECT_EQ(dump(copy), contents);
        EXPECT_EQ(holdfast({"check", copy}).code, 0);
        EXPECT_EQ(info(copy)["clean"], true);
        EXPECT_FALSE(std::filesystem::exists(copy + ".partial"));
        EXPECT_FALSE(std::filesystem::exists(copy + ".journal"));
    }
};

TEST_F(copy_verb, tells_what_it_has_copied) {
    for (const ending how : {ending::closed, ending::crashed}) {
        std::filesystem::remove(file);
        make_region(file, how);
        const std::string before = read_file(file);
        const outcome o = holdfast({"copy", file, copy, "--force", "--json"});
        ASSERT_EQ(o.code, 0) << o.err;
        EXPECT_TRUE(read_file(file) == before) << "the file has changed";
        const auto j = o.json();
        EXPECT_EQ(j["file"], file);
        EXPECT_EQ(j["to"], copy);
        EXPECT_EQ(j["bytes"], std::filesystem::file_size(copy));
        EXPECT_EQ(j["bytes"], std::filesystem::file_size(file));
        EXPECT_LT(j["stored_bytes"], j["bytes"]) << "a region has space that was never used";
        EXPECT_LE(j["epoch"], info(file)["epoch"]);
        EXPECT_GT(j["epoch"], 1);
        EXPECT_EQ(j["in_use"], false);
        EXPECT_EQ(j["paused"], false);
        EXPECT_EQ(j["held_seconds"], 0.0);
        EXPECT_GT(j["seconds"], 0.0);
        EXPECT_NE(info(copy)["uuid"], info(file)["uuid"]);
        expect_like(dump(file));
        const std::string text = holdfast({"copy", file, copy, "--force"}).out;
        EXPECT_TRUE(text.starts_with(copy + ": ")) << text;
        EXPECT_NE(text.find("the state at the end of epoch " + j["epoch"].dump() + ","), text.npos)
            << text;
        EXPECT_EQ(text.find("in use"), text.npos) << text;
    }
}

TEST_F(copy_verb, has_small_values_where_they_were) {
    make_region(file, ending::crashed, true);
    ASSERT_EQ(holdfast({"copy", file, copy}).code, 0);
    EXPECT_EQ(info(copy)["small_values_in_leaves"], true);
    expect_like(dump(file));
}

TEST_F(copy_verb, of_a_region_in_use_tells_who_waited) {
    for (const std::string medium : {"shm", "file"}) {
        std::filesystem::remove(file);
        std::filesystem::remove(copy);
        server_process s({file, "--size", "16m", "--medium", medium, "--ack", "durable"});
        ASSERT_GT(s.port(), 0) << s.said();
        EXPECT_EQ(s.ask("set k 3 0 5\r\nhello\r\n", "STORED\r\n"), "STORED\r\n");
        const outcome o = holdfast({"copy", file, copy, "--json"});
        ASSERT_EQ(o.code, 0) << o.err;
        const auto j = o.json();
        EXPECT_EQ(j["in_use"], true);
        EXPECT_EQ(j["paused"], medium == "shm");
        EXPECT_GT(j["held_seconds"], 0.0);
        EXPECT_LE(j["held_seconds"], j["seconds"]);
        const std::string text = holdfast({"copy", file, copy, "--force"}).out;
        EXPECT_NE(text.find(file + " is in use; " +
                            (medium == "shm" ? "its readers and writers" : "its old records") +
                            " waited "),
                  text.npos)
            << text;
        EXPECT_EQ(s.ask("set k 3 0 5\r\nthere\r\n", "STORED\r\n"), "STORED\r\n");
        EXPECT_EQ(s.end(SIGTERM), 0);
        const server_process copied({copy});
        EXPECT_EQ(copied.ask("get k\r\n", "END\r\n"), "VALUE k 3 5\r\nhello\r\nEND\r\n");
    }
}

class compact_verb : public copy_verb {};

TEST_F(compact_verb, tells_what_it_has_given_back) {
    for (const ending how : {ending::closed, ending::crashed}) {
        std::filesystem::remove(file);
        make_region(file, how);
        const std::string before = dump(file);
        const std::string uuid = info(file)["uuid"];
        const outcome o = holdfast({"compact", file, "--json"});
        ASSERT_EQ(o.code, 0) << o.err;
        const auto j = o.json();
        EXPECT_EQ(j["file"], file);
        EXPECT_EQ(j["bytes"], std::filesystem::file_size(file));
        EXPECT_LT(j["stored_bytes"], j["stored_before"]);
        EXPECT_LE(j["bytes"], j["bytes_before"]);
        EXPECT_GT(j["records"], 0);
        EXPECT_GT(j["seconds"], 0.0);
        EXPECT_EQ(dump(file), before);
        EXPECT_EQ(holdfast({"check", file}).code, 0);
        EXPECT_EQ(info(file)["clean"], true);
        EXPECT_NE(info(file)["uuid"], uuid);
        const std::string text = holdfast({"compact", file}).out;
        EXPECT_TRUE(text.starts_with(file + ": ")) << text;
        EXPECT_NE(text.find(" instead of "), text.npos) << text;
    }
    const server_process served({file});
    EXPECT_GT(served.port(), 0) << served.said();
}

TEST_F(compact_verb, refuses_what_is_open_missing_or_no_map) {
    {
        const server_process s({file, "--size", "16m"});
        ASSERT_GT(s.port(), 0);
        const outcome o = holdfast({"compact", file});
        EXPECT_EQ(o.code, 5);
        expect_one_clear_error(o);
        EXPECT_EQ(holdfast({"compact", file, "--json"}).json()["error"]["exit_code"], 5);
    }
    EXPECT_EQ(holdfast({"compact", dir / "none.hf"}).code, 3);
    EXPECT_EQ(holdfast({"compact"}).code, 2);
    const std::string help = holdfast({"compact", "--help"}).out;
    EXPECT_NE(help.find("holdfast compact --json"), help.npos) << help;
}

TEST_F(copy_verb, keeps_what_is_there_unless_forced) {
    make_region(file, ending::closed);
    make_region(copy, ending::crashed);
    const std::string before = read_file(copy);
    const outcome o = holdfast({"copy", file, copy});
    EXPECT_EQ(o.code, 2);
    expect_one_clear_error(o);
    EXPECT_NE(o.err.find("--force"), std::string::npos) << o.err;
    EXPECT_EQ(holdfast({"copy", file, copy, "--json"}).json()["error"]["exit_code"], 2);
    EXPECT_TRUE(read_file(copy) == before);
    EXPECT_EQ(holdfast({"copy", dir / "none.hf", copy, "--force"}).code, 3);
    EXPECT_TRUE(read_file(copy) == before);
    const outcome onto_itself = holdfast({"copy", file, file, "--force"});
    EXPECT_EQ(onto_itself.code, 2);
    EXPECT_EQ(onto_itself.err.find("--force"), std::string::npos)
        << "it won't: " << onto_itself.err;
    EXPECT_EQ(holdfast({"copy", file, copy, "--force"}).code, 0);
    expect_like(dump(file));
}

TEST_F(copy_verb, a_busy_one_is_not_replaced) {
    make_region(file, ending::closed);
    const server_process s({copy, "--size", "16m"});
    ASSERT_GT(s.port(), 0);
    for (const std::vector<std::string>& a :
         {std::vector<std::string>{"copy", file, copy, "--force"}, {"dump", copy, dir / "d"}}) {
        const outcome o = holdfast(a);
        EXPECT_EQ(o.code, 5) << a[0];
        expect_one_clear_error(o);
    }
}

/// A store of three records; one has expired.
TEST_F(copy_verb, dump_and_load_tell_their_numbers) {
    {
        server_process s({file, "--size", "16m"});
        EXPECT_EQ(s.ask("set b 0 0 2\r\nyy\r\nset a 1 0 1\r\nx\r\nset gone 0 -1 1\r\nz\r\n"
                        "get a\r\n",
                        "END\r\n"),
                  "STORED\r\nSTORED\r\nSTORED\r\nVALUE a 1 1\r\nx\r\nEND\r\n");
        EXPECT_EQ(s.end(SIGTERM), 0);
    }
    const std::string text = dir / "a.dump";
    const auto dumped = holdfast({"dump", file, text, "--json"}).json();
    EXPECT_EQ(dumped["records"], 2);
    EXPECT_EQ(dumped["values"], 0);
    EXPECT_EQ(dumped["absent"], 1);
    EXPECT_EQ(dumped["violation_count"], 0);
    EXPECT_EQ(dumped["ambiguous"], 0);
    EXPECT_EQ(dumped["bytes"], std::filesystem::file_size(text));
    const std::string said = holdfast({"dump", file, text, "--force"}).out;
    EXPECT_TRUE(said.starts_with(text + ": 2 records in ")) << said;
    EXPECT_TRUE(said.ends_with("; 1 expired or flushed ones were left out\n")) << said;
    EXPECT_EQ(holdfast({"dump", file, "-", "--force"}).out, read_file(text));

    const auto loaded = holdfast({"load", copy, text, "--json"}).json();
    for (const char* name : {"records", "values", "bytes", "checksum"}) {
        EXPECT_EQ(loaded[name], dumped[name]) << name;
    }
    EXPECT_EQ(dump(copy), read_file(text)) << "with the same cas uniques";
    EXPECT_EQ(holdfast({"load", copy, text, "--force"}).out, copy + ": 2 records loaded\n");
    EXPECT_EQ(holdfast({"load", copy, text, "--force", "--new-cas"}).code, 0);
    EXPECT_NE(dump(copy), read_file(text)) << "with new cas uniques";
    EXPECT_EQ(holdfast({"dump", copy, "--json", dir / "b.dump"}).json()["records"], 2);
    EXPECT_EQ(bash("'" HF_PROGRAM "' load --force '" + copy + "' <'" + text + "'").code, 0);
    EXPECT_EQ(dump(copy), read_file(text)) << "from the standard input";
    EXPECT_EQ(
        bash("cat '" + text + "' | '" HF_PROGRAM "' load --into-existing '" + copy + "' -").out,
        copy + ": 2 records loaded\n");
    EXPECT_EQ(info(copy)["heap"]["records"], 3) << "one is its own";
    EXPECT_EQ(info(copy)["discipline"], "incll");
    for (const std::string option : {"--discipline", "--index"}) {
        const std::string value = option == "--index" ? "art" : "eager";
        EXPECT_EQ(holdfast({"load", copy, text, "--force", option, value}).code, 0);
        EXPECT_EQ(info(copy)["discipline"], "eager");
        EXPECT_EQ(info(copy)["heap"]["index"], option == "--index" ? "art" : "clht");
    }
}

}  // namespace
}  // namespace hf::test
