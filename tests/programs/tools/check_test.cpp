// `holdfast check` reports sound regions as sound, finds damage, and changes nothing.
#include <holdfast/map.hpp>

#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace hf::test {
namespace {

constexpr std::uint64_t page = 64 << 10;

/// 1,234
std::string grouped(const nlohmann::json& number) {
    std::string digits = number.dump();
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return digits;
}

class check : public ::testing::Test {
   protected:
    scratch dir;
    const std::string file = dir / "store.hf";

    outcome look(int code) {
        const std::string before = read_file(file);
        const outcome text = holdfast({"check", file});
        const outcome as_json = holdfast({"check", file, "--json"});
        EXPECT_TRUE(read_file(file) == before) << "the file has changed";
        EXPECT_EQ(text.code, code) << text.err << text.out;
        EXPECT_EQ(as_json.code, code) << as_json.err;
        EXPECT_EQ(as_json.json()["exit_code"], code);
        if (code > 1) expect_one_clear_error(text);
        if (code <= 1) expect_the_same(text.out, as_json.json());
        return {code, as_json.out, text.out};
    }
    static void expect_the_same(const std::string& text, const nlohmann::json& j) {
        const std::string n = grouped(j["violation_count"]);
        const std::string many = "; " + n + (n == "1" ? " violation" : " violations");
        const std::size_t at = text.find(many);
        EXPECT_EQ(at != text.npos, n != "0") << text;
        if (at != text.npos) {
            const char behind = text[at + many.size()];
            EXPECT_TRUE(behind == ';' || behind == ' ') << text;
        }
        EXPECT_EQ(text.find("; not everything could be walked") == text.npos, j["complete"]);
        EXPECT_TRUE(("\n" + text).find("\ntree\n  records ") != text.npos) << text;
        EXPECT_TRUE(text.find("\nblocks\n  in use ") != text.npos) << text;
    }
    /// The offset of the tree's root, as the directory of roots has it.
    std::uint64_t root() const {
        std::uint64_t value = 0;
        std::memcpy(&value, read_file(file).data() + 0x3000 + 40, sizeof value);
        return value;
    }
};

TEST_F(check, calls_a_closed_region_sound) {
    make_region(file, ending::closed);
    const outcome o = look(0);
    const auto j = o.json();
    EXPECT_EQ(j["verdict"], "sound");
    EXPECT_EQ(j["violation_count"], 0);
    EXPECT_EQ(j["complete"], true);
    EXPECT_EQ(j["tree"]["records"], 3000 - 700 + 3000 + 3);
    EXPECT_EQ(j["tree"]["large_records"], 3);
    EXPECT_EQ(j["blocks"]["leaked"], 0);
    EXPECT_NE(o.err.find(": sound"), std::string::npos);
}

TEST_F(check, calls_a_crashed_region_sound_and_leaves_it_crashed) {
    make_region(file, ending::crashed);
    const auto j = look(0).json();
    EXPECT_EQ(j["tree"]["records"], 3000 - 700 + 3000 + 3) << "not the state of the last epoch";
    EXPECT_GT(j["recovered_log_entries"], 0);
    EXPECT_GT(j["tree"]["recovered_leaves"], 0);
    EXPECT_EQ(holdfast({"info", file, "--json"}).json()["clean"], false);
}

/// Text and JSON output agree.
TEST_F(check, tells_people_and_programs_the_same) {
    for (const ending how : {ending::closed, ending::crashed}) {
        std::filesystem::remove(file);
        make_region(file, how);
        const outcome o = look(0);
        const auto j = o.json();
        const auto& tree = j["tree"];
        const auto& blocks = j["blocks"];
        const auto expect = [&o](const std::string& name, const std::string& value) {
            EXPECT_EQ(line_of("\n" + o.err, name), value) << o.err;
        };
        EXPECT_TRUE(line_of("\n" + o.err, "records")
                        .starts_with(grouped(tree["records"]) + " (" +
                                     grouped(tree["large_records"]) + " large): "))
            << o.err;
        expect("layers", grouped(tree["layers"]) + ", " + tree["deepest_layer"].dump() + " deep, " +
                             tree["tallest_layer"].dump() + " nodes from a root to a leaf at most");
        expect("nodes", grouped(tree["leaves"]) + " leaves, " + grouped(tree["interior_nodes"]) +
                            " interior nodes");
        expect("empty", grouped(tree["empty_leaves"]) + " leaves, " +
                            grouped(tree["empty_layers"]) + " layers (harmless)");
        expect("in use", grouped(blocks["in_use"]));
        expect("free", grouped(blocks["free"]) + ", and " + grouped(blocks["freed_lately"]) +
                           " freed in the last epoch");
        expect("never used", grouped(blocks["never_used"]));
        expect("leaked", "0");
        expect("extents", grouped(j["heap"]["extents"]));
        expect("log entries", how == ending::closed ? "" : grouped(j["recovered_log_entries"]));
        const bool has_leaves = o.err.find("\nrecovery (in memory") != std::string::npos;
        EXPECT_EQ(has_leaves, how == ending::crashed);
        EXPECT_NE(o.err.find(file + ": sound ("), std::string::npos) << o.err;
        // At least the bytes that make_region() has written.
        EXPECT_GT(tree["key_bytes"], 3000 * 44);
        EXPECT_GT(tree["value_bytes"], 300'000);
        EXPECT_GT(blocks["in_use"], tree["records"]);
        std::uint64_t handed_out = 0;
        for (const auto& c : j["heap"]["size_classes"]) {
            handed_out += c["handed_out"].get<std::uint64_t>();
        }
        EXPECT_EQ(blocks["in_use"], handed_out);
        EXPECT_EQ(j["heap"]["extents"], 3);
    }
}

/// One line for each violation, up to fifty; then the number of further ones.
TEST_F(check, names_each_violation_and_says_where_it_stops) {
    make_region(file, ending::closed);
    for (std::uint64_t at = 20; at < 60; ++at) flip(file, page + 64 + at * 16 + 5, 3);
    const outcome o = look(1);
    const auto j = o.json();
    const std::uint64_t count = j["violation_count"];
    EXPECT_LE(j["violations"].size(), count);
    std::size_t lines = 0;
    for (std::size_t at = 0; o.err.compare(at, 9, "offset 0x") == 0; ++lines) {
        EXPECT_NE(o.err.find(j["violations"][lines]["text"]), std::string::npos);
        at = o.err.find('\n', at) + 1;
    }
    EXPECT_EQ(lines, std::min<std::uint64_t>(count, 50));
    EXPECT_EQ(o.err.find("and " + grouped(count - lines) + " more") != std::string::npos,
              count > lines);
    EXPECT_NE(o.err.find(": violations; " + grouped(count) + " violation"), std::string::npos)
        << o.err;
}

TEST_F(check, is_told_of_a_lost_superblock) {
    make_region(file, ending::closed);
    flip(file, 200);
    const auto j = look(1).json();
    EXPECT_EQ(j["verdict"], "violations");
    EXPECT_NE(j["violations"][0]["text"].get<std::string>().find("superblock 1"),
              std::string::npos);
}

TEST_F(check, finds_damage_in_the_tree) {
    make_region(file, ending::closed);
    // The root is an interior node; its children are in the last two lines of its block.
    write_at(file, root() + 3 * 64, std::string(8, '\x7f'));
    const auto j = look(1).json();
    EXPECT_GT(j["violation_count"], 0);
    EXPECT_EQ(j["violations"][0]["offset"].get<std::uint64_t>() / page, root() / page);
}

TEST_F(check, finds_damage_in_page_descriptors) {
    make_region(file, ending::closed);
    for (std::uint64_t at = 20; at < 60; ++at) flip(file, page + 64 + at * 16 + 5, 3);
    EXPECT_GT(look(1).json()["violation_count"], 0);
}

TEST_F(check, finds_damage_in_free_lists) {
    make_region(file, ending::closed);
    // The list heads of lane 1's set, which has the removed records' blocks, in the page after the
    // descriptors.
    const std::uint64_t lane = 2 * page + 1088 + 88 * 64;
    const std::string bytes = read_file(file);
    unsigned changed = 0;
    for (std::uint64_t at = lane; at < lane + 87 * 64; at += 64) {
        std::uint64_t pending = 0;
        std::memcpy(&pending, bytes.data() + at + 8, sizeof pending);
        if (pending == 0) continue;
        pending += 16;
        write_at(file, at + 8, {reinterpret_cast<const char*>(&pending), sizeof pending});
        ++changed;
    }
    ASSERT_GT(changed, 0U);
    EXPECT_GT(look(1).json()["violation_count"], 0);
}

TEST_F(check, of_a_region_that_cannot_be_opened_says_why) {
    make_region(file, ending::closed);
    std::filesystem::resize_file(file, 1 << 20);
    EXPECT_EQ(look(6).json()["verdict"], "corrupt");
}

TEST_F(check, of_a_damaged_heap_says_why_it_cannot_be_opened_and_what_else_is_wrong) {
    make_region(file, ending::closed);
    flip(file, page);  // the magic number of the first heap segment
    const auto j = look(6).json();
    EXPECT_EQ(j["verdict"], "corrupt");
    EXPECT_GT(j["violation_count"], 0);
}

TEST_F(check, of_a_region_that_lost_its_root_does_not_call_it_empty) {
    make_region(file, ending::closed);
    write_at(file, 0x3000, std::string(64, '\0'));
    look(6);
}

TEST_F(check, refuses_a_region_in_use) {
    make_region(file, ending::closed);
    auto m = map::open(file, {});
    ASSERT_TRUE(m);
    const outcome o = holdfast({"check", file});
    EXPECT_EQ(o.code, 5);
    EXPECT_EQ(o.out, "");
    expect_one_clear_error(o);
}

TEST_F(check, refuses_what_is_no_file) {
    EXPECT_EQ(holdfast({"check", dir.path()}).code, 4);
    EXPECT_EQ(holdfast({"check", dir / "missing"}).code, 3);
    EXPECT_EQ(holdfast({"check", dir / "missing", "--json"}).json()["verdict"], "not_found");
}

}  // namespace
}  // namespace hf::test
