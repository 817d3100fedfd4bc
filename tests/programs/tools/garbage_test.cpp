// With any garbage in a region, info and check end with a documented code, print valid JSON, and
// change nothing. The in-process counterpart is tests/rooms/index/masstree/audit_fuzz_test.cpp.
#include "support/effort.hpp"
#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <random>

namespace hf::test {
namespace {

/// An offset, mostly one with data.
std::uint64_t some_offset(std::mt19937_64& r, const std::string& image) {
    if (r() % 4 == 0) return r() % (64 << 10);  // the header
    for (;;) {
        const std::uint64_t at = r() % image.size();
        if (image[at] != '\0' || r() % 64 == 0) return at;
    }
}

void torture(ending how, std::uint64_t seed) {
    const scratch dir;
    const std::string file = dir / "store.hf";
    make_region(file, how);
    const std::string image = read_file(file);
    std::mt19937_64 r(seed);
    const int variants = effort(60, 15);
    int noticed = 0;
    for (int i = 0; i < variants; ++i) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", variant " + std::to_string(i));
        std::string damaged = image;
        std::vector<std::uint64_t> places;
        for (std::uint64_t n = 1 + r() % 12; n > 0; --n) {
            const std::uint64_t at = some_offset(r, image);
            damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1 + r() % 255));
            write_at(file, at, damaged.substr(at, 1));
            places.push_back(at);
        }
        const outcome checked = holdfast({"check", file, "--json"});
        ASSERT_TRUE(checked.code == 0 || checked.code == 1 || checked.code == 6 ||
                    checked.code == 7)
            << checked.code << "\n"
            << checked.err;
        EXPECT_EQ(checked.json()["exit_code"], checked.code);
        if (checked.code != 0) ++noticed;
        const outcome told = holdfast({"info", file, "--json"});
        ASSERT_TRUE(told.code == 0 || told.code == 6 || told.code == 7) << told.code << "\n"
                                                                        << told.err;
        (void)told.json();
        ASSERT_TRUE(read_file(file) == damaged) << "the file has changed";
        for (const std::uint64_t at : places) write_at(file, at, image.substr(at, 1));
    }
    EXPECT_GT(noticed, variants / 4);
}

TEST(garbage_in_a_closed_region, is_reported_or_harmless) { torture(ending::closed, 1); }
TEST(garbage_in_a_crashed_region, is_reported_or_harmless) { torture(ending::crashed, 2); }

}  // namespace
}  // namespace hf::test
