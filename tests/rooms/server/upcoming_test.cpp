// The lookahead returns the commands that follow.
#include "server/upcoming.hpp"

#include "server/framing.hpp"
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace hf::test {
namespace {

using detail::framer;
using detail::verb;

/// The results of take() for each line that the framer finds in `input`, as "verb key size".
std::vector<std::string> taken_from(std::string_view input, const store& records) {
    detail::upcoming_requests upcoming;
    framer cut;
    std::vector<std::string> all;
    for (auto rest = input;;) {
        const auto piece = cut.next(rest);
        if (piece.what == framer::part::line) {
            const auto& r = upcoming.take(input, piece.bytes, records);
            all.push_back(std::to_string(static_cast<int>(r.what)) + ' ' + std::string(r.key) +
                          std::string(r.words) + ' ' + std::to_string(r.size));
            if (detail::has_data(r.what)) cut.expect_block(r.size);
        } else if (piece.taken == 0) {
            return all;
        }
        rest.remove_prefix(piece.taken);
    }
}

/// The results of take() for each line separately.
std::vector<std::string> one_by_one(const std::vector<std::string>& lines) {
    std::vector<std::string> all;
    for (const std::string& line : lines) {
        const std::string_view text(line);
        const auto r = detail::parse_request(text.substr(0, text.find('\n')));
        all.push_back(std::to_string(static_cast<int>(r.what)) + ' ' + std::string(r.key) +
                      std::string(r.words) + ' ' + std::to_string(r.size));
    }
    return all;
}

std::string joined(const std::vector<std::string>& parts) {
    std::string all;
    for (const std::string& one : parts) all += one;
    return all;
}

class upcoming : public ::testing::Test {
   protected:
    temporary_store records;
};

TEST_F(upcoming, requests_are_the_ones_of_their_lines_however_many_there_are) {
    const std::vector<std::string> kinds{"set a 0 0 5\r\nhello\r\n",
                                         "get a b c\r\n",
                                         "delete a\r\n",
                                         "set b 0 0 0\r\n\r\n",
                                         "incr a 5\r\n",
                                         "set c 0 0 -1\r\n",
                                         "nonsense\r\n",
                                         "gat 10 a b\r\n",
                                         "add k 0 0 9\r\nget x\r\nab\r\n",
                                         "set d 0 0 3\r\nabcde",
                                         "quit\n",
                                         "\r\n",
                                         "cas k 0 0 2 7 noreply\r\nxy\r\n"};
    for (std::size_t first = 0; first < kinds.size(); ++first) {
        std::vector<std::string> lines;
        for (std::size_t i = 0; i < 3 * detail::upcoming_requests::most + 1; ++i) {
            lines.push_back(kinds[(first + i) % kinds.size()]);
        }
        EXPECT_EQ(taken_from(joined(lines), *records), one_by_one(lines)) << first;
    }
}

TEST_F(upcoming, a_line_of_the_greatest_length_is_one) {
    const std::string longest = "get " + std::string(framer::max_line - 5, ' ') + "k\n";
    const std::vector<std::string> lines{"get a\n", longest, "get b\n"};
    EXPECT_EQ(taken_from(joined(lines), *records), one_by_one(lines));
}

TEST_F(upcoming, more_keys_than_are_looked_at_do_no_harm) {
    std::string many = "get";
    for (int i = 0; i < 100; ++i) many += " k" + std::to_string(i);
    const std::vector<std::string> lines{many + "\r\n", many + "\r\n", "get a\r\n"};
    EXPECT_EQ(taken_from(joined(lines), *records), one_by_one(lines));
}

}  // namespace
}  // namespace hf::test
