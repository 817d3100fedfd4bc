// The framer splits a stream in the same way for any packet boundaries.
#include "server/framing.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <string>
#include <vector>

namespace hf::detail {
namespace {

/// Feeds a stream to a framer, cut at `cuts`, and returns its output as text. A line "block n"
/// announces a data block, "waste n" bytes to drop.
std::string frame(std::string_view stream, const std::vector<std::size_t>& cuts) {
    framer f;
    std::string log;
    std::string data;
    std::string carried;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
        const std::size_t end = i == cuts.size() ? stream.size() : cuts[i];
        carried += stream.substr(begin, end - begin);
        begin = end;
        for (;;) {
            const auto piece = f.next(carried);
            if (piece.what == framer::part::overlong) {
                return log + "overlong";
            }
            if (piece.what == framer::part::none && piece.taken == 0) {
                break;
            }
            if (piece.what == framer::part::data) {
                data += piece.bytes;
            } else if (piece.what == framer::part::data_end) {
                log += "{" + data + (piece.intact ? "}" : "}!");
                data.clear();
            } else if (piece.what == framer::part::get_begin) {
                log += "(" + std::string(piece.bytes);
                if (piece.bytes.starts_with("gets skip ")) {
                    f.skip_line();
                    log += ")";
                }
            } else if (piece.what == framer::part::get_more) {
                log += piece.bytes;
            } else if (piece.what == framer::part::get_end) {
                log += std::string(piece.bytes) + ")";
            } else if (piece.what == framer::part::line) {
                log += "[" + std::string(piece.bytes) + "]";
                u64 size = 0;
                if (piece.bytes.starts_with("block ") || piece.bytes.starts_with("waste ")) {
                    std::from_chars(piece.bytes.data() + 6, piece.bytes.data() + piece.bytes.size(),
                                    size);
                    piece.bytes.starts_with("block ") ? f.expect_block(size) : f.expect_waste(size);
                }
            }
            carried.erase(0, piece.taken);
        }
    }
    return log + (f.between_requests() ? "" : "...") + (carried.empty() ? "" : "<" + carried);
}

TEST(framing, cuts_lines_and_blocks) {
    EXPECT_EQ(frame("a\r\nb\nblock 3\r\nx\ny\r\nc\n", {}), "[a\r][b][block 3\r]{x\ny}[c]");
    EXPECT_EQ(frame("block 0\n\r\n\n", {}), "[block 0]{}[]");
    EXPECT_EQ(frame("waste 4\nabcdefg\n", {}), "[waste 4][efg]");
}

TEST(framing, reports_a_block_that_ends_wrongly_and_goes_on_behind_two_bytes) {
    EXPECT_EQ(frame("block 1\nabc\n", {}), "[block 1]{a}![]");
    EXPECT_EQ(frame("block 1\na\nxy\n", {}), "[block 1]{a}![y]");
    EXPECT_EQ(frame("block 1\na\rxy\n", {}), "[block 1]{a}![y]");
    EXPECT_EQ(frame("block 1\nax\ny\n", {}), "[block 1]{a}![y]");
}

TEST(framing, does_not_depend_on_where_the_stream_is_cut) {
    const std::string stream =
        "get k\r\nblock 5\r\nhello\r\n\nblock 0\n\r\nblock 2\nabXX\nwaste 3\n\n\n\nblock "
        "3\r\n\r\n\r\r\nend\r\nblock 1\naX\nblock 1\na\rXblock 1\na\n\rhalf";
    const auto whole = frame(stream, {});
    std::vector<std::size_t> everywhere;
    for (std::size_t i = 0; i <= stream.size(); ++i) {
        everywhere.push_back(i);
        EXPECT_EQ(frame(stream, {i}), whole) << i;
        for (std::size_t j = i; j <= stream.size(); ++j) {
            ASSERT_EQ(frame(stream, {i, j}), whole) << i << " " << j;
        }
    }
    EXPECT_EQ(frame(stream, everywhere), whole);
}

TEST(framing, knows_when_something_is_missing) {
    EXPECT_EQ(frame("block 3\nab", {}), "[block 3]...");
    EXPECT_EQ(frame("block 2\nab\r", {}), "[block 2]...");
    EXPECT_EQ(frame("waste 3\nab", {}), "[waste 3]...");
    EXPECT_EQ(frame("ab", {}), "<ab");
}

TEST(framing, takes_lines_up_to_the_bound_and_none_above_wherever_it_is_cut) {
    const std::string longest = std::string(framer::max_line, 'x') + "\n";
    const std::string longer = std::string(framer::max_line + 1, 'x') + "\n";
    for (const std::size_t cut :
         {std::size_t{1}, std::size_t{1000}, framer::max_line, longest.size()}) {
        EXPECT_EQ(frame(longest, {cut}), "[" + longest.substr(0, framer::max_line) + "]");
        EXPECT_EQ(frame(longer, {cut}), "overlong");
    }
    EXPECT_EQ(frame(longer.substr(0, framer::max_line + 1), {}), "overlong");
    const std::string with_return = std::string(framer::max_line, 'x') + "\r";
    EXPECT_EQ(frame(with_return + "\n", {framer::max_line + 1}), "[" + with_return + "]");
    EXPECT_EQ(frame(with_return + "\r\n", {}), "overlong");
}

TEST(framing, lets_a_get_be_longer) {
    for (const std::string start : {"get ", "gets ", "   get ", "   gets "}) {
        std::string line = start;
        line.resize(framer::max_get_line, 'k');
        EXPECT_EQ(frame(line + "\n", {3, 5000}), "[" + line + "]");
        EXPECT_EQ(frame(line + "k\n", {3, 5000}), "overlong");
        EXPECT_EQ(frame(line + "k", {}), "overlong");
    }
    const std::string indented = std::string(100, ' ') + "get " + std::string(3000, 'k');
    EXPECT_EQ(frame(indented + "\n", {}), "[" + indented + "]");
    EXPECT_EQ(frame(std::string(101, ' ') + "get " + std::string(3000, 'k') + "\n", {}),
              "overlong");
    EXPECT_EQ(frame("gat 0 " + std::string(3000, 'k') + "\n", {}), "overlong");
}

TEST(framing, passes_a_get_without_bound_on_in_pieces) {
    for (const std::string start : {"get ", "  gets "}) {
        std::string line = start;
        while (line.size() < 2 * framer::max_get_line) line += "a-key-of-twenty-six-letters ";
        const std::string whole = "(" + line + ")[mn\r]";
        EXPECT_EQ(frame(line + "\r\nmn\r\n", {}), whole);
        for (const std::size_t cut :
             {std::size_t{3000}, framer::max_get_line - 1, framer::max_get_line,
              framer::max_get_line + 1, framer::max_get_line + framer::long_piece, line.size(),
              line.size() + 1, line.size() + 2}) {
            EXPECT_EQ(frame(line + "\r\nmn\r\n", {cut}), whole) << cut;
        }
    }
}

TEST(framing, drops_the_rest_of_a_long_get_and_refuses_an_endless_word_in_it) {
    std::string line = "gets skip ";
    while (line.size() < framer::max_get_line + 10) line += "key ";
    const std::string log = frame(line + "\nmn\n", {5000});
    EXPECT_TRUE(log.ends_with(")[mn]")) << log.substr(log.size() - 20);
    EXPECT_LE(log.size(), framer::max_get_line + 10);
    line = "get " + std::string(framer::max_get_line - 6, ' ') + "k ";
    EXPECT_TRUE(frame(line + std::string(framer::long_piece + 1, 'k'), {}).ends_with("overlong"));
}

}  // namespace
}  // namespace hf::detail
