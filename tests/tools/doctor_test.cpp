// `holdfast doctor` tells of places and of the machine, and leaves no trace.
#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace hf::test {
namespace {

TEST(doctor, tells_what_a_directory_on_tmpfs_is_good_for) {
    const scratch dir;
    const outcome o = holdfast({"doctor", dir.path(), "--json"});
    ASSERT_EQ(o.code, 0) << o.err;
    const auto j = o.json();
    EXPECT_EQ(j["medium"], "shm");
    EXPECT_EQ(j["region_possible"], true);
    EXPECT_EQ(j["file_system"]["type"], "tmpfs");
    EXPECT_GT(j["file_system"]["free_bytes"], 0);
    EXPECT_NE(j["survives"].get<std::string>().find("but not a reboot"), std::string::npos);
    EXPECT_TRUE(j["processor"]["clflush"].get<bool>());
    EXPECT_TRUE(j["membarrier"].is_boolean());
    EXPECT_TRUE(j["page_tracking"].is_string());
    EXPECT_TRUE(j["huge_pages"].contains("granted"));
    EXPECT_TRUE(dir.names().empty());
}

TEST(doctor, says_the_same_for_people) {
    const scratch dir;
    const outcome o = holdfast({"doctor", dir.path()});
    EXPECT_EQ(o.code, 0);
    EXPECT_EQ(o.err, "");
    for (const char* word : {"tmpfs", "medium", "clwb", "membarrier", "page tracking", "huge pages",
                             "verdict", "survives the death of its process"}) {
        EXPECT_NE(o.out.find(word), std::string::npos) << word;
    }
}

TEST(doctor, looks_at_what_there_is_of_a_path) {
    const scratch dir;
    const auto j = holdfast({"doctor", dir / "not/yet/there.hf", "--json"}).json();
    EXPECT_EQ(j["looked_at"], dir.path());
    EXPECT_EQ(j["medium"], "shm");
    EXPECT_TRUE(dir.names().empty());
}

TEST(doctor, leaves_a_region_as_it_is) {
    const scratch dir;
    const std::string file = dir / "store.hf";
    make_region(file, ending::crashed);
    const std::string before = read_file(file);
    EXPECT_EQ(holdfast({"doctor", file}).code, 0);
    EXPECT_TRUE(read_file(file) == before);
    EXPECT_EQ(dir.names().size(), 1U);
}

TEST(doctor, says_that_no_region_can_lie_on_procfs) {
    const outcome o = holdfast({"doctor", "/proc", "--json"});
    EXPECT_EQ(o.code, 10);
    expect_one_clear_error(o);
    (void)o.json();
}

TEST(doctor, follows_a_link_to_a_directory_but_none_to_a_file) {
    const scratch dir;
    std::filesystem::create_directory(dir / "real");
    std::filesystem::create_symlink(dir / "real", dir / "link");
    EXPECT_EQ(holdfast({"doctor", dir / "link"}).code, 0);
    std::filesystem::create_symlink(dir / "nowhere", dir / "dangling");
    EXPECT_EQ(holdfast({"doctor", dir / "dangling"}).code, 4);
}

}  // namespace
}  // namespace hf::test
