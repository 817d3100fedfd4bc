// `holdfast info` prints the readable parts of any file, and changes nothing.
#include <holdfast/map.hpp>

#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>

namespace hf::test {
namespace {

class info : public ::testing::Test {
   protected:
    scratch dir;
    const std::string file = dir / "store.hf";

    /// Runs info with and without --json; the file must stay as it was.
    outcome look(int code) {
        const std::string before = read_file(file);
        const outcome text = holdfast({"info", file});
        const outcome as_json = holdfast({"info", file, "--json"});
        EXPECT_TRUE(read_file(file) == before) << "the file has changed";
        EXPECT_EQ(text.code, code) << text.err;
        EXPECT_EQ(as_json.code, code) << as_json.err;
        if (code != 0) {
            expect_one_clear_error(text);
            EXPECT_EQ(as_json.json()["error"]["exit_code"], code);
        } else {
            EXPECT_EQ(text.err, "");
        }
        return {code, as_json.out, text.out};
    }
};

TEST_F(info, tells_everything_of_a_closed_region) {
    make_region(file, ending::closed);
    const auto j = look(0).json();
    EXPECT_EQ(j["discipline"], "incll");
    EXPECT_EQ(j["medium"], "shm");
    EXPECT_EQ(j["image"], "shared");
    EXPECT_EQ(j["clean"], true);
    EXPECT_EQ(j["generation"], 1);
    EXPECT_EQ(j["uuid"].get<std::string>().size(), 36U);
    EXPECT_EQ(j["superblocks"], nlohmann::json::array({"valid", "valid"}));
    EXPECT_EQ(j["failed_epochs"], nlohmann::json::array());
    EXPECT_EQ(j["roots"][0]["name"], "map");
    EXPECT_EQ(j["heap"]["extents"], 3);
    EXPECT_GT(j["heap"]["handed_out_bytes"], 5000 * 32);
    EXPECT_GT(j["heap"]["size_classes"].size(), 1U);
    EXPECT_EQ(j["heap"]["violations"], 0);
    EXPECT_EQ(j["heap"]["records"], holdfast({"check", file, "--json"}).json()["tree"]["records"]);
    EXPECT_GT(j["heap"]["records"], 5000);
}

TEST_F(info, tells_whether_small_values_lie_in_the_leaves) {
    for (const bool small : {false, true}) {
        std::filesystem::remove(file);
        make_region(file, small ? ending::crashed : ending::closed, small);
        const outcome o = look(0);
        EXPECT_EQ(o.json()["small_values_in_leaves"], small);
        EXPECT_EQ(line_of(o.err, "small values"),
                  small ? "in the leaves, without records" : "in records");
    }
    map_options eager;
    eager.region.initial_size = std::uint64_t{1} << 20;
    eager.kind = discipline::eager;
    std::filesystem::remove(file);
    {
        auto m = map::open(file, eager);
        ASSERT_TRUE(m && m->close());
    }
    const outcome o = look(0);
    EXPECT_EQ(o.json()["small_values_in_leaves"], nullptr);
    EXPECT_EQ(line_of(o.err, "small values"), "");
}

TEST_F(info, shows_what_removals_have_left_in_pieces) {
    {
        auto m = map::open(file, {});
        ASSERT_TRUE(m);
        for (int i = 0; i < 4000; ++i)
            ASSERT_TRUE(m->put(std::to_string(i), std::string(500, 'v')));
        for (int i = 0; i < 4000; i += 2) ASSERT_TRUE(m->remove(std::to_string(i)));
        ASSERT_TRUE(m->close());
    }
    const outcome o = look(0);
    const nlohmann::json heap = o.json()["heap"];
    EXPECT_GT(heap["fragmentation"], 0.4);
    EXPECT_LT(heap["fragmentation"], 0.6);
    EXPECT_EQ(heap["taken_bytes"],
              heap["slab_bytes"].get<std::uint64_t>() + heap["extent_bytes"].get<std::uint64_t>());
    EXPECT_EQ(heap["spare_bytes"], heap["free_run_bytes"].get<std::uint64_t>() +
                                       heap["untouched_bytes"].get<std::uint64_t>());
    std::uint64_t idle = 0;
    for (const auto& c : heap["size_classes"]) {
        EXPECT_EQ(c["idle"],
                  c["blocks"].get<std::uint64_t>() - c["handed_out"].get<std::uint64_t>());
        EXPECT_EQ(c["idle_bytes"],
                  c["idle"].get<std::uint64_t>() * c["block_bytes"].get<std::uint64_t>());
        idle += c["idle_bytes"].get<std::uint64_t>();
    }
    EXPECT_GT(idle, std::uint64_t{2000} * 500);
    EXPECT_LE(idle, heap["idle_slab_bytes"]) << "slabs have a rest behind their last block";
    EXPECT_NE(o.err.find("serve blocks of one size alone"), std::string::npos) << o.err;
}

/// Text and JSON output agree.
TEST_F(info, tells_people_and_programs_the_same) {
    make_region(file, ending::closed);
    const outcome o = look(0);
    const auto j = o.json();
    const auto expect = [&o](const std::string& name, const std::string& value) {
        EXPECT_EQ(line_of(o.err, name), value) << o.err;
    };
    expect("uuid", j["uuid"]);
    expect("discipline", "incll");
    expect("last medium", "shm");
    expect("last image", "shared");
    expect("superblocks", "both valid");
    expect("state", "closed cleanly");
    expect("openings", "1");
    expect("running epoch", j["epoch"].dump());
    expect("failed epochs", "none");
    expect("last full pass", "epoch " + j["last_pass_epoch"].dump());
    expect("records", "5,303");
    std::string size = j["bytes"].dump();
    for (std::size_t at = size.size(); at > 3;) size.insert(at -= 3, ",");
    EXPECT_TRUE(line_of(o.err, "size").ends_with(" MiB (" + size + " bytes)")) << o.err;
    EXPECT_EQ(line_of(o.err, "allocated"), "");
    EXPECT_EQ(line_of(o.err, "damaged entries"), "");
    EXPECT_EQ(line_of(o.err, "growing to"), "");
    EXPECT_EQ(line_of(o.err, "found on the way"), "");
    for (const auto& root : j["roots"]) {
        char value[64];
        std::snprintf(value, sizeof value, "type 0x%lx, format %lu, value 0x%lx",
                      root["type"].get<unsigned long>(), root["format"].get<unsigned long>(),
                      root["value"].get<unsigned long>());
        expect(root["name"], value);
    }
    std::uint64_t bytes = 4096 * 16;  // the header
    for (const std::string kind : {"heap", "log"}) {
        int n = 0;
        for (const auto& s : j["segments"]) n += s["kind"] == kind;
        EXPECT_TRUE(line_of(o.err, kind).starts_with(std::to_string(n) + " of ")) << o.err;
    }
    for (const auto& s : j["segments"]) {
        EXPECT_EQ(s["offset"], bytes) << "segments follow each other";
        bytes += s["bytes"].get<std::uint64_t>();
    }
    EXPECT_EQ(bytes, j["bytes"]);
    EXPECT_EQ(j["bytes"], std::filesystem::file_size(file));
    EXPECT_EQ(j["allocated_bytes"], j["bytes"]);
    EXPECT_EQ(j["busy"], false);
}

/// A hole at the end, which nothing reads.
TEST_F(info, tells_that_a_file_has_holes) {
    make_region(file, ending::closed);
    const std::string copy = dir / "sparse.hf";
    EXPECT_EQ(bash("cp --sparse=always '" + file + "' '" + copy + "'").code, 0);
    const outcome o = holdfast({"info", copy});
    EXPECT_NE(line_of(o.out, "allocated").find(": the file has holes"), std::string::npos) << o.out;
    const auto j = holdfast({"info", copy, "--json"}).json();
    EXPECT_LT(j["allocated_bytes"], j["bytes"]);
    EXPECT_GT(j["allocated_bytes"], 4096);
}

TEST_F(info, says_that_a_crashed_region_will_be_recovered) {
    make_region(file, ending::crashed);
    const outcome o = look(0);
    EXPECT_EQ(o.json()["clean"], false);
    EXPECT_NE(o.err.find("the next open recovers it"), std::string::npos) << o.err;
    {
        auto m = map::open(file, {});
        ASSERT_TRUE(m);
        ASSERT_TRUE(m->close());
    }
    const outcome recovered = look(0);
    EXPECT_EQ(line_of(recovered.err, "state"), "closed cleanly");
    // The background pass removes it, if it has time.
    std::string failed;
    const auto told = recovered.json();
    for (const auto& range : told["failed_epochs"]) {
        failed += (failed.empty() ? "" : ", ") + range[0].dump();
        if (range[1] != range[0]) failed += "-" + range[1].dump();
    }
    EXPECT_EQ(line_of(recovered.err, "failed epochs"), failed.empty() ? "none" : failed);
    EXPECT_GT(recovered.json()["epoch"], o.json()["epoch"]);
    EXPECT_EQ(line_of(recovered.err, "openings"), "2");
}

TEST_F(info, of_a_busy_region_prints_the_header) {
    make_region(file, ending::closed);
    auto m = map::open(file, {});
    ASSERT_TRUE(m);
    const outcome o = holdfast({"info", file, "--json"});
    EXPECT_EQ(o.code, 5);
    expect_one_clear_error(o);
    EXPECT_EQ(o.json()["busy"], true);
    EXPECT_EQ(o.json()["discipline"], "incll");
    EXPECT_EQ(line_of(holdfast({"info", file}).out, "state"), "open in another process");
}

TEST_F(info, survives_the_loss_of_one_superblock) {
    make_region(file, ending::closed);
    flip(file, 100);
    const auto j = look(0).json();
    EXPECT_NE(j["superblocks"][0], "valid");
    EXPECT_EQ(j["superblocks"][1], "valid");
    EXPECT_EQ(j["discipline"], "incll");
}

TEST_F(info, of_a_region_without_superblocks_says_what_is_wrong_with_each) {
    make_region(file, ending::closed);
    flip(file, 100);
    flip(file, 4096);
    const auto j = look(6).json();
    EXPECT_EQ(j["superblocks"][0], "damaged: its checksum is wrong");
    EXPECT_EQ(j["superblocks"][1], "no superblock");
    flip(file, 0);
    EXPECT_EQ(line_of(look(6).err, "superblocks"), "none");
}

TEST_F(info, of_a_damaged_epoch_record_prints_the_rest) {
    make_region(file, ending::closed);
    write_at(file, 0x2000, std::string(24, 'x'));
    const auto j = look(6).json();
    EXPECT_EQ(j["epoch"], nullptr);
    EXPECT_EQ(j["discipline"], "incll");
    EXPECT_EQ(j["roots"][0]["name"], "map");
}

TEST_F(info, of_a_truncated_region_prints_the_header) {
    make_region(file, ending::closed);
    std::filesystem::resize_file(file, 1 << 20);
    EXPECT_EQ(look(6).json()["discipline"], "incll");
}

TEST_F(info, of_a_region_cut_off_in_its_header_prints_what_there_is) {
    make_region(file, ending::closed);
    std::filesystem::resize_file(file, 5000);
    EXPECT_EQ(look(6).json()["superblocks"][0], "valid");
}

TEST_F(info, of_other_files_says_that_they_are_no_regions) {
    for (const std::string& bytes :
         {std::string(), std::string("hello\n"), std::string(200'000, '\xa5')}) {
        write_file(file, bytes);
        look(6);
    }
}

TEST_F(info, opens_nothing_but_regular_files) {
    std::filesystem::create_symlink("/dev/zero", file);
    EXPECT_EQ(holdfast({"info", file}).code, 4);
    ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
    EXPECT_EQ(holdfast({"info", dir / "fifo"}).code, 4);
    EXPECT_EQ(holdfast({"info", dir.path()}).code, 4);
    EXPECT_EQ(holdfast({"info", "/dev/zero"}).code, 4);
    const outcome missing = holdfast({"info", dir / "missing"});
    EXPECT_EQ(missing.code, 3);
    expect_one_clear_error(missing);
}

}  // namespace
}  // namespace hf::test
