// `holdfast info` tells what can be read of any file, and changes none.
#include <holdfast/map.hpp>

#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdint>
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

TEST_F(info, says_that_a_crashed_region_will_be_recovered) {
    make_region(file, ending::crashed);
    const outcome o = look(0);
    EXPECT_EQ(o.json()["clean"], false);
    EXPECT_NE(o.err.find("the next opening recovers it"), std::string::npos) << o.err;
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
