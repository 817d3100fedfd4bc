// `holdfast doctor` reports on paths and on the machine, and leaves no files.
#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

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

/// Text and JSON output agree with each other and with the kernel.
TEST(doctor, tells_people_and_programs_the_same) {
    const scratch dir;
    const std::string text = holdfast({"doctor", dir.path()}).out;
    const auto j = holdfast({"doctor", dir.path(), "--json"}).json();
    const auto word = [](const nlohmann::json& value) { return value.get<std::string>(); };
    const auto expect = [&text](const std::string& name, const std::string& value) {
        EXPECT_EQ(line_of(text, name), value) << text;
    };
    const auto& place = j["file_system"];
    const auto& cpu = j["processor"];
    const auto& huge = j["huge_pages"];
    EXPECT_TRUE(text.starts_with(dir.path() + "\n")) << text;
    expect("file system", word(place["type"]) + " at " + word(place["mount_point"]));
    EXPECT_NE(line_of(text, "free space"), "");
    expect("medium", word(j["medium"]));
    expect("name", word(cpu["name"]));
    for (const char* name : {"clwb", "clflushopt", "clflush"}) {
        expect(name, cpu[name].get<bool>() ? "yes" : "no");
    }
    EXPECT_EQ(cpu["used_here"], "none");
    expect("used here", "none: this medium needs no write-back (--flush always: " +
                            word(cpu["used_with_flush_always"]) + ")");
    EXPECT_TRUE(line_of(text, "membarrier").starts_with(j["membarrier"] ? "yes: " : "no: "));
    EXPECT_TRUE(line_of(text, "page tracking").starts_with(word(j["page_tracking"]) + ": "));
    const bool granted = huge["granted"];
    expect("granted here", granted ? "yes (tried)" : "no (tried)");
    EXPECT_EQ(line_of(text, "on request") != "", huge["granted_on_request"].get<bool>());
    const std::string settings = "/sys/kernel/mm/transparent_hugepage/";
    for (const auto& [name, file, chosen] :
         {std::tuple("transparent_hugepage", "enabled", word(huge["enabled"])),
          std::tuple("shmem_enabled", "shmem_enabled", word(huge["shmem_enabled"]))}) {
        expect(name, chosen.empty() ? "not offered" : chosen);
        const std::string choices = bash("cat " + settings + file + " 2>/dev/null || true").out;
        EXPECT_EQ(choices.find("[" + chosen + "]") == choices.npos, choices.empty()) << choices;
    }
    const std::string option = word(huge["mount_option"]);
    expect("mount option", option.empty() ? "none" : "huge=" + option);
    const std::string advice = word(huge["advice"]);
    expect("how to get them", advice);
    // A region there is on tmpfs, and requests them.
    EXPECT_EQ(advice.empty(), granted || huge["granted_on_request"].get<bool>());
    EXPECT_EQ(advice.find("echo never") != advice.npos,
              !granted && huge["shmem_enabled"] == "deny");
    EXPECT_TRUE(text.ends_with("  " + word(j["survives"]) + "\n")) << text;
    const auto kernel = [](const std::string& file) { return bash("cat " + file).out; };
    EXPECT_NE(kernel("/proc/cpuinfo").find(": " + word(cpu["name"]) + "\n"), std::string::npos);
    EXPECT_NE(kernel("/proc/self/mountinfo").find(" " + word(place["mount_point"]) + " "),
              std::string::npos);
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
