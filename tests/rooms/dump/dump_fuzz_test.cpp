// The fuzz target of the dump's reader holds on dumps that were put together and then damaged by
// chance.
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace hf::test {
namespace {

TEST(dump_fuzz, finds_nothing_in_damaged_dumps) {
    constexpr unsigned seed = 11;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
    };
    const std::vector<std::string> parts{"holdfast-dump 1\n",
                                         "holdfast-dump 2\n",
                                         "flush\t1800000000\n",
                                         "record\t0\t0\t1\ta\thello\n",
                                         "record\t7\t1800000000\t99\tb\t\n",
                                         "record\t4294967296\t0\t1\tc\tx\n",
                                         "record\t0\t0\t18446744073709551615\td\t\\x00\\xff\\t\n",
                                         "record\t0\t0\t05\te\tx\n",
                                         "value\t\tof the empty key\n",
                                         "value\tf\t\\n\\r\\\\\n",
                                         "value\tg\t\\x41\n",
                                         "end\t2\t0000000000000000\n",
                                         "end\n",
                                         "\t",
                                         "\n",
                                         "\\x"};
    for (int round = 0; round < hf::test::effort(20'000, 2'000); ++round) {
        std::string input{static_cast<char>(below(256))};
        input += parts[below(20) == 0 ? 1 : 0];
        for (std::size_t i = 2; i < parts.size(); ++i) {
            if (below(4) == 0) input += parts[i];
        }
        if (below(4) != 0) input += "end\t0\t0000000000000000\n";
        for (std::size_t left = below(3); left != 0; --left) {
            const std::size_t at = 1 + below(input.size() - 1);
            below(2) == 0 ? input.erase(at, 1 + below(4))
                          : input.insert(at, 1, static_cast<char>(below(256)));
        }
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    }
}

}  // namespace
}  // namespace hf::test
