// The command-line tool with plain memory, whose format only its program knows.
#include <holdfast/plain.hpp>

#include "support/must.hpp"
#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace hf::test {
namespace {

class of_plain_memory : public ::testing::Test {
   protected:
    [[nodiscard]] static plain_memory open(const std::string& path) {
        plain_options o;
        o.bytes = std::uint64_t{1} << 20;
        return must(plain_memory::open(path, o));
    }
    /// Makes memory with the number 17.
    void make(ending how) const {
        const pid_t child = ::fork();
        if (child == 0) {
            plain_memory m = open(file);
            for (const int value : {16, 17}) {
                *m.root<int>() = value;
                must(m.commit());
            }
            if (how == ending::closed) must(m.close());
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

TEST_F(of_plain_memory, info_and_check_tell_what_it_is) {
    for (const ending how : {ending::closed, ending::crashed}) {
        make(how);
        const auto j = holdfast({"info", file, "--json"}).json();
        EXPECT_EQ(j["discipline"], "plain");
        EXPECT_EQ(j["clean"], how == ending::closed);
        const std::string before = read_file(file);
        const outcome o = holdfast({"check", file});
        EXPECT_EQ(o.code, 0) << o.err;
        EXPECT_NE(o.out.find("sound"), std::string::npos);
        EXPECT_EQ(holdfast({"check", file, "--json"}).json()["bytes"], 1 << 20);
        EXPECT_TRUE(read_file(file) == before);
    }
}

TEST_F(of_plain_memory, copy_makes_another_one_after_a_crash_too) {
    for (const ending how : {ending::closed, ending::crashed}) {
        make(how);
        ASSERT_EQ(holdfast({"copy", file, other, "--force"}).code, 0);
        {
            plain_memory m = open(other);
            EXPECT_FALSE(m.stats().recovered) << "it was closed in order";
            EXPECT_EQ(*m.root<int>(), 17);
        }
        expect_one_clear_error(holdfast({"dump", file}));
    }
}

}  // namespace
}  // namespace hf::test
