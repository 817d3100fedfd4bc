// `holdfast dump` and `holdfast load` as command-line users run them.
#include <holdfast/map.hpp>

#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace hf::test {
namespace {

using arguments = std::vector<std::string>;

constexpr int records = 3000 - 700 + 3000 + 3;

class dump_verb : public ::testing::Test {
   protected:
    void SetUp() override { make_region(file, ending::crashed); }
    scratch dir;
    const std::string file = dir / "store.hf";
    const std::string text = dir / "store.dump";
    const std::string other = dir / "other.hf";
};

TEST_F(dump_verb, goes_to_a_file_or_to_the_standard_output) {
    const std::string before = read_file(file);
    const outcome o = holdfast({"dump", file, text, "--json"});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.json()["values"], records) << "make_region() writes a plain map";
    EXPECT_EQ(o.json()["bytes"], std::filesystem::file_size(text));
    EXPECT_TRUE(read_file(file) == before) << "the file has changed";
    EXPECT_EQ(holdfast({"dump", file}).out, read_file(text));
    EXPECT_EQ(holdfast({"dump", file, "-"}).out, read_file(text));
}

// With any umask, a region and all files made from it are accessible only to the owner.
TEST_F(dump_verb, and_others_make_files_that_nobody_else_may_read) {
    const mode_t mask = ::umask(0);
    EXPECT_EQ(holdfast({"dump", file, text}).code, 0);
    EXPECT_EQ(holdfast({"load", other, text}).code, 0);
    EXPECT_EQ(holdfast({"copy", file, dir / "copy.hf"}).code, 0);
    ::umask(mask);
    for (const std::string& made : {text, other, dir / "copy.hf"}) {
        const auto mode = std::filesystem::status(made).permissions();
        EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
            << made;
    }
}

TEST_F(dump_verb, and_load_make_the_same_store_again) {
    ASSERT_EQ(holdfast({"dump", file, text}).code, 0);
    const outcome o = holdfast({"load", other, text, "--json"});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.json()["values"], records);
    EXPECT_EQ(holdfast({"check", other}).code, 0);
    EXPECT_EQ(holdfast({"dump", other}).out, read_file(text));
}

// A dump is the same for inlined values and others; an option of load selects the new map's kind.
TEST_F(dump_verb, and_load_go_between_maps_with_small_values_in_their_leaves_and_others) {
    const auto in_leaves = [](const std::string& region) {
        return holdfast({"info", region, "--json"}).json()["small_values_in_leaves"];
    };
    std::filesystem::remove(file);
    make_region(file, ending::crashed, true);
    ASSERT_EQ(in_leaves(file), true);
    ASSERT_EQ(holdfast({"dump", file, text}).code, 0);
    ASSERT_EQ(holdfast({"load", other, text}).code, 0);
    EXPECT_EQ(in_leaves(other), false);
    const std::string again = dir / "again.hf";
    ASSERT_EQ(holdfast({"load", again, text, "--small-values-in-leaves"}).code, 0);
    EXPECT_EQ(in_leaves(again), true);
    for (const std::string& made : {other, again}) {
        EXPECT_EQ(holdfast({"dump", made}).out, read_file(text)) << made;
        EXPECT_EQ(holdfast({"check", made}).code, 0) << made;
    }
    const auto handed_out = [](const std::string& region) {
        return holdfast({"info", region, "--json"}).json()["heap"]["handed_out_bytes"];
    };
    EXPECT_LT(handed_out(again), handed_out(other)) << "short values have no records";
    // --salvage checks all records, and finds no damage.
    ASSERT_EQ(holdfast({"dump", again, dir / "whole.dump", "--salvage"}).code, 0);
    EXPECT_EQ(read_file(dir / "whole.dump"), read_file(text));
}

TEST_F(dump_verb, small_values_lie_in_leaves_of_new_regions_of_epochs_alone) {
    ASSERT_EQ(holdfast({"dump", file, text}).code, 0);
    for (const arguments& more : {arguments{"--index", "art"}, arguments{"--discipline", "eager"},
                                  arguments{"--into-existing"}}) {
        arguments a{"load", other, text, "--small-values-in-leaves"};
        a.insert(a.end(), more.begin(), more.end());
        const outcome o = holdfast(a);
        EXPECT_EQ(o.code, 2) << more[0];
        expect_one_clear_error(o);
        EXPECT_FALSE(std::filesystem::exists(other)) << more[0];
        EXPECT_FALSE(std::filesystem::exists(other + ".partial")) << more[0];
    }
}

TEST_F(dump_verb, a_dump_that_is_damaged_is_refused_with_code_6) {
    ASSERT_EQ(holdfast({"dump", file, text}).code, 0);
    flip(text, 5000);
    const outcome o = holdfast({"load", other, text});
    EXPECT_EQ(o.code, 6);
    expect_one_clear_error(o);
    EXPECT_EQ(dir.names(), (std::vector<std::string>{"store.dump", "store.hf"}));
    EXPECT_EQ(holdfast({"load", other, text, "--json"}).json()["error"]["class"], "corrupt");
}

// A record's value, found by the key that follows it.
TEST_F(dump_verb, goes_round_what_is_damaged_and_names_it_if_told_to) {
    ASSERT_EQ(holdfast({"dump", file, text}).code, 0);
    EXPECT_EQ(holdfast({"dump", file, other, "--salvage"}).code, 0);
    EXPECT_TRUE(read_file(other) == read_file(text)) << "nothing is damaged";
    const std::string key = "a longer key, which shares its beginning, 1500";
    const std::size_t at = read_file(file).find(key.substr(8));  // in the tail of its record
    ASSERT_NE(at, std::string::npos);
    flip(file, at - 1);  // the value is before it
    const outcome whole = holdfast({"dump", file, dir / "whole.dump"});
    EXPECT_EQ(whole.code, 6);
    expect_one_clear_error(whole);
    const std::string part = dir / "part.dump";
    const outcome o = holdfast({"dump", file, part, "--salvage", "--json"});
    EXPECT_EQ(o.code, 1) << o.err;
    EXPECT_NE(o.err.find("violation"), std::string::npos) << o.err;
    EXPECT_EQ(o.json()["values"], records - 1);
    EXPECT_EQ(o.json()["violation_count"], 1);
    EXPECT_EQ(holdfast({"load", dir / "new.hf", part}).code, 0);
    EXPECT_EQ(holdfast({"check", dir / "new.hf"}).code, 0);
}

// An interrupted process runs no destructors.
TEST_F(dump_verb, and_load_and_copy_leave_nothing_when_they_are_interrupted) {
    for (const std::string signal : {"TERM", "HUP"}) {
        // load waits for the rest of its dump, dump for a reader
        const outcome o = bash("cd '" + dir.path() +
                               "'; mkfifo in out\n'" HF_PROGRAM
                               "' dump store.hf | head -n 3 >start.dump\n'" HF_PROGRAM
                               "' load other.hf <in 2>/dev/null & load=$!\n"
                               "exec 3>in; cat start.dump >&3\n"
                               "while [ ! -e other.hf.partial ]; do sleep 0.01; done\n"
                               "kill -" +
                               signal +
                               " $load; wait $load; echo $?\n"
                               "rm in out start.dump; ls\n");
        EXPECT_EQ(o.out,
                  (signal == "TERM" ? std::string("143") : std::string("129")) + "\nstore.hf\n");
    }
}

// A terminal would obey them.
TEST_F(dump_verb, and_others_print_no_escape_bytes_of_names) {
    const std::string bad = dir / "\x1b[31mred\x7f\xc2\x9b.hf";
    const auto expect_plain = [](const outcome& o, int code) {
        EXPECT_EQ(o.code, code) << o.err;
        for (const std::string& text : {o.out, o.err}) {
            for (const char* const byte : {"\x1b", "\x7f", "\xc2\x9b"}) {
                EXPECT_EQ(text.find(byte), std::string::npos) << text;
            }
        }
        EXPECT_NE((o.out + o.err).find("red"), std::string::npos) << o.out << o.err;
    };
    ASSERT_EQ(holdfast({"dump", file, text}).code, 0);
    expect_plain(holdfast({"load", bad, text}), 0);
    expect_plain(holdfast({"load", bad, text}), 2);
    expect_plain(holdfast({"info", bad}), 0);
    expect_plain(holdfast({"info", bad, "--json"}), 0);
    expect_plain(holdfast({"check", bad}), 0);
    expect_plain(holdfast({"copy", bad, bad + "2"}), 0);
    expect_plain(holdfast({"copy", bad, bad + "2", "--json"}), 2);
    expect_plain(holdfast({"dump", bad, bad + "3"}), 0);
    expect_plain(holdfast({"doctor", bad}), 0);
    expect_plain(holdfast({"check", bad + "4"}), 3);
    server_process s({bad});
    ASSERT_GT(s.port(), 0) << s.said();
    EXPECT_EQ(s.end(SIGTERM), 0);
    expect_plain({0, s.said(), ""}, 0);
}

TEST_F(dump_verb, names_that_are_taken_are_kept_unless_forced) {
    write_file(text, "mine");
    const outcome o = holdfast({"dump", file, text});
    EXPECT_EQ(o.code, 2);
    expect_one_clear_error(o);
    EXPECT_EQ(read_file(text), "mine");
    ASSERT_EQ(holdfast({"dump", file, dir / "new.dump"}).code, 0);
    EXPECT_EQ(holdfast({"dump", file, dir / "new.dump"}).code, 2);
    EXPECT_EQ(holdfast({"dump", file, dir / "new.dump", "--force"}).code, 0);
    write_file(other, "mine");
    EXPECT_EQ(holdfast({"load", other, dir / "new.dump"}).code, 2);
    EXPECT_EQ(read_file(other), "mine");
    std::filesystem::remove(other);
    EXPECT_EQ(holdfast({"load", other, dir / "new.dump"}).code, 0);
    EXPECT_EQ(holdfast({"load", other, dir / "new.dump", "--force"}).code, 0);
    EXPECT_EQ(holdfast({"check", other}).code, 0);
}

// A typing error must not destroy a store: a dump replaces only dumps, a region only regions.
TEST_F(dump_verb, a_file_of_another_kind_is_never_replaced) {
    const std::string lib = dir / "lib.py";
    write_file(lib, "print()\n");
    ASSERT_EQ(holdfast({"dump", file, text}).code, 0);
    ASSERT_EQ(holdfast({"copy", file, other}).code, 0);
    for (const arguments& a :
         {arguments{"dump", file, file}, arguments{"dump", file, other},
          arguments{"dump", file, lib}, arguments{"load", text, text}, arguments{"load", lib, text},
          arguments{"copy", file, text}, arguments{"copy", file, lib}}) {
        const std::string& target = a[0] == "load" ? a[1] : a[2];
        const std::string before = read_file(target);
        arguments forced = a;
        forced.emplace_back("--force");
        const outcome o = holdfast(forced);
        EXPECT_EQ(o.code, 4) << a[0] << ' ' << target;
        expect_one_clear_error(o);
        EXPECT_TRUE(read_file(target) == before) << a[0] << ' ' << target << " has changed";
    }
    write_file(lib, "");
    EXPECT_EQ(holdfast({"dump", file, lib, "--force"}).code, 4) << "an empty file is no dump";
    EXPECT_EQ(read_file(lib), "");
}

// A killed load or dump has left X.partial, which may be the only copy of the data.
TEST_F(dump_verb, what_another_verb_has_left_half_done_is_not_replaced) {
    ASSERT_EQ(holdfast({"copy", file, dir / "a.partial"}).code, 0);
    ASSERT_EQ(holdfast({"dump", file, dir / "b.partial"}).code, 0);
    const std::string region = read_file(dir / "a.partial");
    const std::string dump = read_file(dir / "b.partial");
    EXPECT_EQ(holdfast({"dump", dir / "a.partial", dir / "a"}).code, 4);
    EXPECT_EQ(holdfast({"load", dir / "b", dir / "b.partial"}).code, 4);
    EXPECT_EQ(holdfast({"copy", file, dir / "b"}).code, 4);
    EXPECT_TRUE(read_file(dir / "a.partial") == region);
    EXPECT_TRUE(read_file(dir / "b.partial") == dump);
    EXPECT_EQ(holdfast({"dump", file, dir / "b"}).code, 0) << "its own leftover";
    EXPECT_EQ(holdfast({"copy", file, dir / "a"}).code, 0) << "its own leftover";
    EXPECT_FALSE(std::filesystem::exists(dir / "a.partial"));
    EXPECT_FALSE(std::filesystem::exists(dir / "b.partial"));
}

TEST_F(dump_verb, of_a_region_in_use_has_code_5_and_names_copy) {
    const server_process server({dir / "served.hf"});
    ASSERT_NE(server.port(), 0);
    const outcome o = holdfast({"dump", dir / "served.hf", text});
    EXPECT_EQ(o.code, 5);
    expect_one_clear_error(o);
    EXPECT_NE(o.err.find("holdfast copy"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(text));
    EXPECT_FALSE(std::filesystem::exists(text + ".partial"));
}

TEST_F(dump_verb, load_adds_to_a_store_that_is_there) {
    const std::string served = dir / "served.hf";
    {
        server_process server({served});
        EXPECT_EQ(server.ask("set k 3 0 5\r\nhello\r\n", "\r\n"), "STORED\r\n");
        EXPECT_EQ(server.end(SIGTERM), 0);
    }
    ASSERT_EQ(holdfast({"dump", served, text}).code, 0);
    {
        server_process server({other});
        EXPECT_EQ(server.ask("set mine 0 0 1\r\nx\r\n", "\r\n"), "STORED\r\n");
        EXPECT_EQ(server.end(SIGTERM), 0);
    }
    const outcome none = holdfast({"load", dir / "none.hf", text, "--into-existing"});
    EXPECT_EQ(none.code, 3);
    EXPECT_NE(none.err.find("leave --into-existing out"), std::string::npos) << none.err;
    const outcome taken = holdfast({"load", other, text});
    EXPECT_EQ(taken.code, 2);
    EXPECT_NE(taken.err.find("replace it (--force) or add to it (--into-existing)"),
              std::string::npos)
        << taken.err;
    EXPECT_EQ(holdfast({"load", other, text, "--into-existing"}).code, 0);
    const std::string whole = read_file(text);
    write_file(text, whole.substr(0, whole.size() - 1));
    const std::string before = read_file(other);
    EXPECT_EQ(holdfast({"load", other, text, "--into-existing"}).code, 6);
    EXPECT_TRUE(read_file(other) == before) << "a record was written before the dump was verified";
    const server_process server({other});
    EXPECT_EQ(server.ask("get k mine\r\n", "END\r\n"),
              "VALUE k 3 5\r\nhello\r\nVALUE mine 0 1\r\nx\r\nEND\r\n");
}

}  // namespace
}  // namespace hf::test
