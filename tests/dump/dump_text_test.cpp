// The text of a dump: what is written is read again, and nothing else is accepted.
#include "dump/dump_text.hpp"

#include <holdfast/map.hpp>

#include "must.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace hf::test {
namespace {

using detail::dump_line;
using detail::dump_reader;
using detail::dump_totals;
using detail::dump_writer;

struct owned_line {
    bool is_record;
    u32 flags;
    u64 expires;
    u64 cas;
    std::string key;
    std::string data;
    friend bool operator==(const owned_line&, const owned_line&) = default;
};

std::string written(const std::vector<owned_line>& lines, u64 flush_at = 0) {
    std::string text;
    dump_writer w([&text](std::string_view part) {
        text += part;
        return result<void>{};
    });
    must(w.begin(flush_at));
    for (const auto& l : lines) {
        must(w.add({l.is_record, l.flags, l.expires, l.cas, l.key, l.data}));
    }
    const dump_totals totals = must(w.end());
    EXPECT_EQ(totals.bytes, text.size());
    return text;
}

result<std::vector<owned_line>> read(const std::string& text) {
    std::size_t at = 0;
    dump_reader r(
        [&](std::span<char> into) -> result<std::size_t> {
            const std::size_t n = std::min<std::size_t>({into.size(), 1000, text.size() - at});
            std::memcpy(into.data(), text.data() + at, n);
            at += n;
            return n;
        },
        "test.dump");
    std::vector<owned_line> lines;
    for (dump_line l;;) {
        const auto more = r.next(l);
        if (!more) return tl::unexpected(more.error());
        if (!*more) return lines;
        lines.push_back(
            {l.is_record, l.flags, l.expires, l.cas, std::string(l.key), std::string(l.data)});
    }
}

std::string all_bytes() {
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    return all;
}

const std::vector<owned_line> some{{true, 7, 1'800'000'000, 1, "a key", "hello"},
                                   {true, ~0U, ~0ULL, ~0ULL, "b" + all_bytes(), all_bytes()},
                                   {false, 0, 0, 0, "c", ""},
                                   {true, 0, 0, 5, std::string("d\0", 2), "\\x41\\"}};

TEST(dump_text, is_what_the_page_says) {
    EXPECT_EQ(written({{true, 7, 9, 1, "k 1", "line\n\ttab \\ \x01\xc3"}}, 5),
              "holdfast-dump 1\n"
              "flush\t5\n"
              "record\t7\t9\t1\tk 1\tline\\n\\ttab \\\\ \\x01\\xc3\n"
              "end\t1\t89b486cd620f10b9\n");
}

TEST(dump_text, what_is_written_is_read_again) {
    EXPECT_EQ(must(read(written(some))), some);
    EXPECT_TRUE(must(read(written({}))).empty());
    EXPECT_EQ(must(read(written(some, 99))), some);
}

TEST(dump_text, the_longest_record_fits) {
    const std::vector<owned_line> one{
        {true, 1, 2, 3, std::string(max_key_size, '\x80'), std::string(max_value_size - 32, '\0')}};
    EXPECT_EQ(must(read(written(one))), one);
}

TEST(dump_text, every_beginning_of_a_dump_is_refused) {
    const std::string whole = written(some, 4);
    for (std::size_t n = 0; n < whole.size(); ++n) {
        const auto r = read(whole.substr(0, n));
        ASSERT_FALSE(r) << n;
        EXPECT_EQ(r.error().code, errc::corrupt);
    }
}

TEST(dump_text, every_flipped_bit_is_noticed) {
    const std::string whole = written(some, 4);
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
        std::string altered = whole;
        altered[bit / 8] = static_cast<char>(altered[bit / 8] ^ (1 << bit % 8));
        EXPECT_FALSE(read(altered)) << bit;
    }
}

TEST(dump_text, a_line_moved_or_doubled_or_added_is_noticed) {
    const std::string a = written({some[0]});
    EXPECT_FALSE(read(a + "\n"));
    EXPECT_FALSE(read(a + a));
    EXPECT_FALSE(read(written({some[0], some[0]}))) << "the same key twice";
    EXPECT_FALSE(read(written({some[1], some[0]}))) << "keys that do not ascend";
}

TEST(dump_text, another_version_is_told_from_damage) {
    std::string other = written(some);
    other.replace(0, 15, "holdfast-dump 2");
    const auto r = read(other);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, errc::incompatible);
    EXPECT_EQ(read("something else\n").error().code, errc::corrupt);
}

TEST(dump_text, a_line_without_end_costs_bounded_memory) {
    u64 given = 0;
    dump_reader r(
        [&](std::span<char> into) -> result<std::size_t> {
            given += into.size();
            std::fill(into.begin(), into.end(), 'x');
            return into.size();
        },
        "endless");
    dump_line l;
    EXPECT_FALSE(r.next(l));
    EXPECT_LT(given, u64{300} << 20);
}

TEST(dump_text, what_no_store_takes_is_refused_though_the_checksum_fits) {
    EXPECT_FALSE(read(written({{true, 0, 0, 0, "k", "x"}}))) << "cas unique 0";
    EXPECT_FALSE(read(written({{true, 0, 0, 1, "", "x"}}))) << "a record's empty key";
    EXPECT_FALSE(read(written({{true, 0, 0, 1, std::string(max_key_size + 1, 'k'), "x"}})));
    EXPECT_FALSE(read(written({{true, 0, 0, 1, "k", std::string(max_value_size - 31, 'x')}})));
}

}  // namespace
}  // namespace hf::test
