// `holdfast info`, `check` and `copy` of a group of regions of a program with locks.
#include <holdfast/section.h>
#include <holdfast/section_hooks.h>

#include "support/scratch.hpp"
#include "tools/program.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace hf::test {
namespace {

/// Runs in a child process, which can end without closing the group, and in which its address is
/// free. Returns the exit code.
template <class Work>
int in_child(Work work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

struct way {
    const char* name;
    hf_stores stores;
    hf_mode mode;
};

hf_group_options options(const way& w) {
    hf_group_options o{};
    o.stores = w.stores;
    o.mode = w.mode;
    o.bytes = std::uint64_t{1} << 20;
    return o;
}

void store(long& field, long value) {
    hf_section_store(&field, sizeof field);
    field = value;
}

/// The section that stores 41 is durable, the one that stores 42 does not end.
int count_and_die(const std::string& path, const way& w) {
    const auto o = options(w);
    if (hf_group_open(path.c_str(), &o) != 0) return 1;
    hf_region* const r = hf_region_open("counters");
    auto* const count = static_cast<long*>(hf_zeroed(r, 1, sizeof(long)));
    if (count == nullptr || hf_root_set(r, "count", count) != 0) return 2;
    hf_section_begin();
    store(*count, 41);
    hf_section_end();
    if (hf_wait_stable() != 0) return 3;
    hf_section_begin();
    store(*count, 42);
    return 0;
}

int read_count(const std::string& path, const way& w) {
    const auto o = options(w);
    if (hf_group_open(path.c_str(), &o) != 0) {
        std::fprintf(stderr, "%s\n", hf_section_error());
        return 1;
    }
    const auto* count = static_cast<long*>(hf_root_get(hf_region_find("counters"), "count"));
    return count != nullptr ? static_cast<int>(*count) : 2;
}

class section_group_on_the_command_line : public on_tmpfs,
                                          public ::testing::WithParamInterface<way> {
   protected:
    void SetUp() override {
        ASSERT_EQ(in_child([&] { return count_and_die(file, GetParam()); }), 0);
    }
};

TEST_P(section_group_on_the_command_line, is_described) {
    const outcome o = holdfast({"info", file});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(line_of(o.out, "discipline"), "section");
    EXPECT_EQ(holdfast({"info", file, "--json"}).json()["heap"], nullptr);
}

TEST_P(section_group_on_the_command_line, is_checked_as_far_as_its_header_goes) {
    const outcome o = holdfast({"check", file});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_NE(o.out.find("only its program knows"), std::string::npos) << o.out;
}

TEST_P(section_group_on_the_command_line, is_copied_as_of_its_last_cut) {
    const std::string copy = dir / "copy";
    const outcome o = holdfast({"copy", file, copy});
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(holdfast({"info", copy, "--json"}).json()["clean"], true);
    EXPECT_EQ(in_child([&] { return read_count(copy, GetParam()); }), 41);
    EXPECT_EQ(in_child([&] { return read_count(file, GetParam()); }), 41);
}

INSTANTIATE_TEST_SUITE_P(ways, section_group_on_the_command_line,
                         ::testing::Values(way{"tracked", HF_STORES_TRACKED, HF_MODE_EPOCH},
                                           way{"announced", HF_STORES_ANNOUNCED, HF_MODE_EPOCH},
                                           way{"graph", HF_STORES_ANNOUNCED, HF_MODE_GRAPH}),
                         [](const auto& p) { return p.param.name; });

}  // namespace
}  // namespace hf::test
