// Runs the regions' fuzz target on randomly damaged regions.
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace hf::test {
namespace {

TEST(region_operations, damaged_regions_give_correct_results_or_errors) {
    constexpr unsigned seed = 5;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (std::uint8_t which = 0; which < 30; ++which) {
        LLVMFuzzerTestOneInput(&which, 1);  // unchanged
    }
    for (int round = 0; round < hf::test::effort(100, 20); ++round) {
        std::vector<std::uint8_t> input{static_cast<std::uint8_t>(random())};
        const auto edits = random() % 2 == 0 ? 1 : 1 + random() % 6;
        for (auto left = 8 * edits; left != 0; --left) {
            input.push_back(static_cast<std::uint8_t>(random()));
        }
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
}

}  // namespace
}  // namespace hf::test
