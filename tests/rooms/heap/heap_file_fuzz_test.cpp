// The fuzz target of heaps' files holds on heaps that were damaged by chance.
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace hf::test {
namespace {

TEST(heap_files, are_refused_or_read_or_mended_whatever_was_done_to_them) {
    constexpr unsigned seed = 6;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (const auto which : {std::uint8_t{0}, std::uint8_t{1}})
        LLVMFuzzerTestOneInput(&which, 1);  // as it was made
    for (int round = 0; round < hf::test::effort(100); ++round) {
        std::vector<std::uint8_t> input{static_cast<std::uint8_t>(random() % 2)};
        const auto edits = random() % 2 == 0 ? 1 : 1 + random() % 6;
        for (auto left = 8 * edits; left != 0; --left) {
            input.push_back(static_cast<std::uint8_t>(random()));
        }
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
}

}  // namespace
}  // namespace hf::test
