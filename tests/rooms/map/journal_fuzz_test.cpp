// Runs the journal's fuzz target on randomly changed journals.
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace hf::test {
namespace {

TEST(journal_fuzz, changed_journals_cause_no_failure) {
    constexpr unsigned seed = 3;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto none = std::uint8_t{0};
    LLVMFuzzerTestOneInput(&none, 1);  // unchanged: it must be sound
    for (int round = 0; round < hf::test::effort(1500, 300); ++round) {
        std::vector<std::uint8_t> input{static_cast<std::uint8_t>(random() % 16 == 0 ? 1 : 0)};
        for (unsigned edits = 1 + random() % 4; edits != 0; --edits) {
            const auto page = static_cast<std::uint8_t>(random() % 20);
            // Prefer the beginnings of pages, where the headers are.
            const auto place = static_cast<std::uint16_t>(random() % (random() % 2 ? 16 : 512));
            for (const auto mend : {std::uint8_t{0}, static_cast<std::uint8_t>(2 + random() % 2)}) {
                const auto kind = mend != 0 ? mend : static_cast<std::uint8_t>(random() % 6);
                if (mend != 0 && random() % 2 == 0) continue;
                const auto value =
                    static_cast<std::uint32_t>(random() % 2 == 0 ? random() % 70000 : random());
                for (const std::uint32_t part :
                     {std::uint32_t{place}, std::uint32_t{place} >> 8, std::uint32_t{page},
                      std::uint32_t{kind}, value, value >> 8, value >> 16, value >> 24}) {
                    input.push_back(static_cast<std::uint8_t>(part));
                }
            }
        }
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
}

}  // namespace
}  // namespace hf::test
