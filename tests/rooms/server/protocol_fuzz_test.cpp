// The fuzz target accepts generated commands with random damage.
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace hf::test {
namespace {

TEST(protocol_fuzz, finds_nothing_in_damaged_commands) {
    std::mt19937 random(7);
    const auto below = [&](std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
    };
    const std::vector<std::string> parts{"set k 0 0 5\r\nhello\r\n",
                                         "get k l k\r\n",
                                         "add l 1 100 3\r\nabc\r\n",
                                         "append k 0 0 500\r\n" + std::string(500, 'x') + "\r\n",
                                         "incr n 7\r\n",
                                         "set n 0 0 2\r\n99\r\n",
                                         "delete k\r\n",
                                         "touch k -1\r\n",
                                         "gat 0 k l\r\n",
                                         "flush_all\r\n",
                                         "set k 0 0 601\r\n",
                                         "cas k 0 0 1 1\r\nx\r\n",
                                         "stats\r\n",
                                         "version\r\n",
                                         "noreply",
                                         " ",
                                         "\r\n",
                                         "\n",
                                         "0"};
    for (int round = 0; round < hf::test::effort(3000); ++round) {
        std::string input{static_cast<char>(below(256)), static_cast<char>(below(256))};
        for (std::size_t left = below(20); left != 0; --left) {
            input += parts[below(parts.size())];
        }
        for (std::size_t left = below(6); left != 0 && input.size() > 3; --left) {
            const std::size_t at = 2 + below(input.size() - 2);
            below(2) == 0 ? input.erase(at, 1 + below(4))
                          : input.insert(at, 1, static_cast<char>(below(256)));
        }
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    }
}

}  // namespace
}  // namespace hf::test
