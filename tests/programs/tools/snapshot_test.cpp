// The command-line tool with a snapshot, whose memory has an unknown format.
#include <holdfast/map.hpp>
#include <holdfast/snapshot.hpp>

#include "support/must.hpp"
#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace hf::test {
namespace {

class of_a_snapshot : public ::testing::Test {
   protected:
    [[nodiscard]] static snapshot open(const std::string& path) {
        snapshot_options o;
        o.bytes = std::uint64_t{1} << 20;
        o.region.medium = medium_kind::file;
        return must(snapshot::open(path, o));
    }
    /// Creates a snapshot with the number 17.
    void make(ending how) const {
        const pid_t child = ::fork();
        if (child == 0) {
            snapshot s = open(file);
            *s.root<int>() = 17;
            must(s.checkpoint_durably());
            if (how == ending::closed) must(s.close());
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
    }
    scratch dir;
    const std::string file = dir / "state.hf";
    const std::string other = dir / "other.hf";
};

TEST_F(of_a_snapshot, info_tells_the_discipline_and_how_much_memory_there_is) {
    for (const ending how : {ending::closed, ending::crashed}) {
        make(how);
        const auto j = holdfast({"info", file, "--json"}).json();
        EXPECT_EQ(j["discipline"], "snapshot");
        EXPECT_EQ(j["clean"], how == ending::closed);
        EXPECT_TRUE(j["heap"].is_null());
        const outcome text = holdfast({"info", file});
        EXPECT_EQ(text.code, 0);
        EXPECT_NE(text.out.find("memory"), std::string::npos) << text.out;
    }
}

TEST_F(of_a_snapshot, check_looks_at_header_and_journal) {
    for (const ending how : {ending::closed, ending::crashed}) {
        make(how);
        const std::string before = read_file(file);
        const outcome o = holdfast({"check", file});
        EXPECT_EQ(o.code, 0) << o.err;
        EXPECT_NE(o.out.find("sound"), std::string::npos);
        EXPECT_EQ(holdfast({"check", file, "--json"}).json()["verdict"], "sound");
        EXPECT_TRUE(read_file(file) == before);
    }
    std::filesystem::remove(file + ".journal");
    const outcome damaged = holdfast({"check", file});
    EXPECT_EQ(damaged.code, 6) << "it was not closed, and its journal is gone";
    expect_one_clear_error(damaged);
}

TEST_F(of_a_snapshot, copy_makes_another_one_also_of_one_in_use) {
    snapshot s = open(file);
    *s.root<int>() = 17;
    must(s.checkpoint_durably());
    *s.root<int>() = 18;  // not in a checkpoint yet
    const outcome copied = holdfast({"copy", file, other});
    EXPECT_EQ(copied.code, 0) << copied.err;
    const auto expect_closed = [this] {
        EXPECT_FALSE(std::filesystem::exists(other + ".journal"));
        EXPECT_EQ(holdfast({"info", other, "--json"}).json()["clean"], true);
        EXPECT_EQ(holdfast({"check", other}).code, 0);
    };
    expect_closed();
    EXPECT_EQ(*open(other).root<int>(), 17);
    must(s.close());
    make(ending::crashed);
    EXPECT_EQ(holdfast({"copy", file, other, "--force"}).code, 0);
    expect_closed();
    EXPECT_EQ(*open(other).root<int>(), 17);
}

TEST_F(of_a_snapshot, dump_and_serve_refuse_it) {
    make(ending::closed);
    for (const auto& words : {std::vector<std::string>{"dump", file, other},
                              std::vector<std::string>{"serve", file, "--port", "0"}}) {
        const outcome o = holdfast(words);
        EXPECT_EQ(o.code, 7) << o.err;
        expect_one_clear_error(o);
        EXPECT_NE(o.err.find("snapshot"), std::string::npos) << o.err;
        EXPECT_FALSE(std::filesystem::exists(other));
    }
}

TEST_F(of_a_snapshot, a_map_refuses_it_and_the_other_way_round) {
    make(ending::closed);
    map_options o;
    o.region.medium = medium_kind::file;
    EXPECT_EQ(map::open(file, o).error().code, errc::incompatible);
    make_region(other, ending::closed);
    snapshot_options mine;
    mine.region.medium = medium_kind::file;
    EXPECT_EQ(snapshot::open(other, mine).error().code, errc::incompatible);
}

}  // namespace
}  // namespace hf::test
