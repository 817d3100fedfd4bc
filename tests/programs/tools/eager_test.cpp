// The command-line tool with eager regions of any index.
#include <holdfast/eager.hpp>

#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace hf::test {
namespace {

class eager_store : public ::testing::TestWithParam<std::string> {
   protected:
    scratch dir;
    const std::string file = dir / "store.hf";

    /// Stores three records, with answers; then kills the server.
    void serve_and_kill(const std::vector<std::string>& more = {}) {
        std::vector<std::string> all{file,    "--size",  "16m",     "--discipline",
                                     "eager", "--index", GetParam()};
        all.insert(all.end(), more.begin(), more.end());
        server_process s(all);
        ASSERT_GT(s.port(), 0) << s.said();
        EXPECT_EQ(s.ask("set k 5 0 5\r\nhello\r\n", "STORED\r\n"), "STORED\r\n");
        EXPECT_EQ(s.ask("set n 0 0 1\r\n7\r\nincr n 3\r\n", "10\r\n"), "STORED\r\n10\r\n");
        EXPECT_EQ(s.ask("set gone 0 0 1\r\nx\r\ndelete gone\r\n", "DELETED\r\n"),
                  "STORED\r\nDELETED\r\n");
        EXPECT_EQ(s.end(SIGKILL), 1000 + SIGKILL);
    }
    void expect_served(const std::string& where) {
        server_process s({where});
        ASSERT_GT(s.port(), 0) << s.said();
        EXPECT_EQ(s.ask("get k n gone\r\n", "END\r\n"),
                  "VALUE k 5 5\r\nhello\r\nVALUE n 0 2\r\n10\r\nEND\r\n");
        EXPECT_EQ(s.end(SIGTERM), 0);
        EXPECT_EQ(holdfast({"check", where}).code, 0);
    }
};

TEST_P(eager_store, has_every_answered_write_after_a_kill) {
    serve_and_kill();
    const outcome checked = holdfast({"check", file, "--json"});
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_EQ(checked.json()["verdict"], "sound");
    EXPECT_EQ(checked.json()["index"], GetParam());
    const auto told = holdfast({"info", file, "--json"}).json();
    EXPECT_EQ(told["discipline"], "eager");
    EXPECT_EQ(told["heap"]["index"], GetParam());
    EXPECT_TRUE(told["heap"]["records"].is_null());
    EXPECT_EQ(line_of(holdfast({"info", file}).out, "records"),
              "not counted: `holdfast check` does");
    expect_served(file);
    const auto counted = holdfast({"info", file, "--json"}).json();
    EXPECT_EQ(counted["heap"]["records"], 3) << "one is its own";
    EXPECT_EQ(counted["clean"], true);
    const std::string text = holdfast({"info", file}).out;
    EXPECT_EQ(line_of(text, "index"), GetParam());
    EXPECT_EQ(line_of(text, "keys"), counted["heap"]["keys"].get<std::string>());
    EXPECT_EQ(line_of(text, "records"), "3");
    EXPECT_EQ(line_of(text, "openings"), "2");
    EXPECT_EQ(line_of(text, "running epoch"), "") << "there is none on this medium";
    EXPECT_TRUE(
        line_of(text, "large extents").starts_with(counted["heap"]["extents"].dump() + " of "))
        << text;
    const auto sound = holdfast({"check", file, "--json"}).json();
    EXPECT_EQ(sound["records"], 3);
    EXPECT_EQ(sound["violation_count"], 0);
    EXPECT_EQ(sound["keys"], counted["heap"]["keys"]);
    EXPECT_EQ(sound["exit_code"], 0);
    EXPECT_TRUE(holdfast({"check", file})
                    .out.starts_with(file + ": sound: 3 records in index " + GetParam() +
                                     ", keys are " + sound["keys"].get<std::string>() +
                                     "; checked in "));
}

TEST_P(eager_store, has_on_a_disk_every_answer_that_waited_for_its_epoch) {
    serve_and_kill({"--medium", "file", "--ack", "durable"});
    EXPECT_TRUE(std::filesystem::exists(file + ".journal"));
    expect_served(file);
    EXPECT_FALSE(std::filesystem::exists(file + ".journal"));
}

TEST_P(eager_store, is_copied_dumped_and_loaded) {
    serve_and_kill();
    const std::string copy = dir / "copy.hf";
    EXPECT_EQ(holdfast({"copy", file, copy}).code, 0);
    expect_served(copy);
    const std::string text = dir / "store.dump";
    EXPECT_EQ(holdfast({"dump", file, text}).code, 0);
    const std::string loaded = dir / "loaded.hf";
    EXPECT_EQ(holdfast({"load", "--discipline", "eager", "--index", GetParam(), loaded, text}).code,
              0);
    expect_served(loaded);
    EXPECT_EQ(holdfast({"load", "--into-existing", loaded, text}).code, 0);
    const std::string epochs = dir / "epochs.hf";
    EXPECT_EQ(holdfast({"load", epochs, text}).code, 0);
    expect_served(epochs);
}

/// Keys ascend in a dump, whatever the index's order, so a store has only one dump.
TEST_P(eager_store, has_the_dump_that_it_has_with_any_other_index) {
    {
        server_process s({file, "--size", "16m", "--discipline", "eager", "--index", GetParam()});
        ASSERT_GT(s.port(), 0) << s.said();
        std::string sets;
        for (int i = 0; i < 300; ++i) {
            sets += "set k" + std::to_string(i) + " 7 0 5 noreply\r\nhello\r\n";
        }
        EXPECT_EQ(s.ask(sets + "delete k1\r\n", "DELETED\r\n"), "DELETED\r\n");
        EXPECT_EQ(s.end(SIGKILL), 1000 + SIGKILL);
    }
    const std::string text = dir / "store.dump";
    ASSERT_EQ(holdfast({"dump", file, text}).code, 0);
    const std::string dumped = read_file(text);
    EXPECT_EQ(std::count(dumped.begin(), dumped.end(), '\n'), 1 + 299 + 1);
    for (const std::string& index : eager_index_names()) {
        const std::string other = dir / index;
        ASSERT_EQ(holdfast({"load", "--index", index, other, text}).code, 0);
        EXPECT_EQ(holdfast({"check", other, "--json"}).json()["index"], index);
        EXPECT_EQ(holdfast({"dump", other}).out, dumped) << index;
    }
}

TEST_P(eager_store, is_served_as_what_it_is) {
    serve_and_kill();
    const std::string other = GetParam() == "art" ? "hot" : "art";
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"serve", file, "--port", "0", "--index", other},
          {"serve", file, "--port", "0", "--discipline", "incll"}}) {
        const outcome o = holdfast(arguments);
        EXPECT_EQ(o.code, 7) << o.out;
        expect_one_clear_error(o);
    }
    expect_served(file);
}

TEST_P(eager_store, is_not_salvaged) {
    serve_and_kill();
    const outcome o = holdfast({"dump", file, "--salvage"});
    EXPECT_EQ(o.code, 7);
    EXPECT_EQ(o.out, "");
    expect_one_clear_error(o);
    EXPECT_NE(o.err.find("its discipline is eager"), std::string::npos) << o.err;
}

/// With any damage, tools end with an exit code, and change nothing.
TEST_P(eager_store, is_looked_at_though_it_is_damaged) {
    serve_and_kill();
    const std::string image = read_file(file);
    std::uint64_t noticed = 0;
    const auto root =
        holdfast({"info", file, "--json"}).json()["roots"][0]["value"].get<std::uint64_t>();
    for (std::uint64_t at = root; at < root + 4096; at += 8) {
        if (image.compare(at, 8, std::string(8, '\0')) == 0) continue;
        write_at(file, at, "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8");
        const outcome o = holdfast({"check", file});
        EXPECT_TRUE(o.code == 0 || o.code == 1 || o.code == 6 || o.code == 7)
            << "offset " << at << ": " << o.code << o.err;
        if (o.code != 0 && noticed++ == 0) {
            const outcome served =
                holdfast({"serve", file, "--port", "0", "--read-only-if-damaged"});
            EXPECT_EQ(served.code, o.code == 7 ? 7 : 6) << served.out;
        }
        EXPECT_LT(holdfast({"dump", file, "--force", dir / "damaged.dump"}).code, 1000) << at;
        write_at(file, at, image.substr(at, 8));
        if (noticed == 8) break;
    }
    EXPECT_GT(noticed, 0U);
    expect_served(file);
}

INSTANTIATE_TEST_SUITE_P(, eager_store, ::testing::ValuesIn(eager_index_names()),
                         [](const auto& one) { return one.param; });

TEST_P(eager_store, of_a_server_that_runs_is_busy) {
    const server_process s({file, "--size", "16m", "--index", GetParam()});
    ASSERT_GT(s.port(), 0) << s.said();
    for (const std::string verb : {"check", "info"}) {
        const outcome o = holdfast({verb, file, "--json"});
        EXPECT_EQ(o.code, 5) << verb;
        expect_one_clear_error(o);
        EXPECT_EQ(o.json()["error"]["exit_code"], 5) << verb;
    }
    const auto j = holdfast({"check", file, "--json"}).json();
    EXPECT_EQ(j["exit_code"], 5);
    EXPECT_EQ(j["verdict"], "busy");
}

// Without a named index the first one is used.
TEST(eager_arguments, may_name_the_discipline_alone) {
    const scratch dir;
    {
        server_process s({dir / "served.hf", "--size", "16m", "--discipline", "eager"});
        ASSERT_GT(s.port(), 0) << s.said();
        EXPECT_EQ(s.ask("set k 0 0 1\r\nx\r\n", "\r\n"), "STORED\r\n");
        EXPECT_EQ(s.end(SIGTERM), 0);
    }
    ASSERT_EQ(holdfast({"dump", dir / "served.hf", dir / "dump"}).code, 0);
    ASSERT_EQ(holdfast({"load", "--discipline", "eager", dir / "loaded.hf", dir / "dump"}).code, 0);
    for (const std::string name : {"served.hf", "loaded.hf"}) {
        const auto told = holdfast({"info", dir / name, "--json"}).json();
        EXPECT_EQ(told["discipline"], "eager") << name;
        EXPECT_EQ(told["heap"]["index"], "clht") << name;
    }
    ASSERT_EQ(holdfast({"load", "--discipline", "incll", dir / "epochs.hf", dir / "dump"}).code, 0);
    EXPECT_EQ(holdfast({"info", dir / "epochs.hf", "--json"}).json()["discipline"], "incll");
}

TEST(eager_arguments, are_refused_where_they_make_no_sense) {
    const scratch dir;
    EXPECT_EQ(holdfast({"serve", dir / "s.hf", "--index", "b-tree"}).code, 2);
    EXPECT_EQ(holdfast({"serve", dir / "s.hf", "--discipline", "snapshot"}).code, 2);
    const outcome o =
        holdfast({"serve", dir / "s.hf", "--port", "0", "--discipline", "incll", "--index", "art"});
    EXPECT_EQ(o.code, 2);
    expect_one_clear_error(o);
    EXPECT_FALSE(std::filesystem::exists(dir / "s.hf"));
}

}  // namespace
}  // namespace hf::test
