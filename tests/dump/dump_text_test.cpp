// The text of a dump: what is written is read again, and nothing else is accepted.
#include "dump/dump_text.hpp"

#include <holdfast/map.hpp>

#include "must.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

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

/// These lines with an end that fits them.
std::string sealed(const std::string& lines, u64 count, u64 flush_at = 0,
                   const std::string& start = "holdfast-dump 1\n") {
    std::string text = start;
    if (flush_at != 0) text += "flush\t" + std::to_string(flush_at) + "\n";
    text += lines;
    running_checksum sum;
    sum.add(text);
    char hex[17];
    std::snprintf(hex, sizeof hex, "%016lx", sum.value());
    return text + "end\t" + std::to_string(count) + "\t" + hex + "\n";
}

struct number_text {
    std::string text;
    bool fits_32_bits;
    bool fits_64_bits;
};
const std::vector<number_text> number_texts{{"1", true, true},
                                            {"9", true, true},
                                            {"10", true, true},
                                            {"4294967295", true, true},
                                            {"4294967296", false, true},
                                            {"18446744073709551615", false, true},
                                            {"18446744073709551616", false, false},
                                            {"99999999999999999999", false, false},
                                            {"", false, false},
                                            {"00", false, false},
                                            {"01", false, false},
                                            {"+1", false, false},
                                            {"-1", false, false},
                                            {" 1", false, false},
                                            {"1 ", false, false},
                                            {"1x", false, false},
                                            {"0x1", false, false},
                                            {"x", false, false}};

TEST(dump_text, numbers_are_decimal_in_one_way_and_fit_their_fields) {
    for (const auto& n : number_texts) {
        const auto reads = [&](const std::string& line) {
            return read(sealed(line, 1)).has_value();
        };
        EXPECT_EQ(reads("record\t" + n.text + "\t0\t1\tk\tx\n"), n.fits_32_bits) << n.text;
        EXPECT_EQ(reads("record\t0\t" + n.text + "\t1\tk\tx\n"), n.fits_64_bits) << n.text;
        EXPECT_EQ(reads("record\t0\t0\t" + n.text + "\tk\tx\n"), n.fits_64_bits) << n.text;
        EXPECT_EQ(read("holdfast-dump 1\nflush\t" + n.text + sealed("", 0).substr(15)).has_value(),
                  false);
        if (n.fits_64_bits) {
            EXPECT_TRUE(read(sealed("", 0, std::stoull(n.text))));
        }
    }
    EXPECT_TRUE(read(sealed("record\t0\t0\t1\tk\tx\n", 1)));
    EXPECT_FALSE(read(sealed("record\t0\t0\t1\tk\tx\n", 0)));
    EXPECT_FALSE(read(sealed("record\t0\t0\t1\tk\tx\n", 2)));
}

TEST(dump_text, a_version_is_a_number) {
    for (const std::string version : {"", "01", "1x", "x", "-1", "4294967296"}) {
        EXPECT_EQ(read("holdfast-dump " + version + "\n").error().code, errc::corrupt) << version;
    }
    EXPECT_TRUE(read(sealed("", 0)));
    for (const std::string start :
         {"", "\n", "x\n", "holdfast-dump\n", "Holdfast-dump 1\n", "holdfast-dump  1\n",
          "holdfast.dump 1\n", " holdfast-dump 1\n", "something quite different 1\n"}) {
        const auto r = read(sealed("", 0, 0, start));
        ASSERT_FALSE(r) << start;
        EXPECT_EQ(r.error().code, errc::corrupt);
        EXPECT_EQ(r.error().where, "test.dump in line 1");
    }
    EXPECT_EQ(read("something else\n").error().why, "it is no dump of Holdfast's");
    for (const std::string version : {"0", "2", "10", "4294967295"}) {
        EXPECT_EQ(read("holdfast-dump " + version + "\n").error().code, errc::incompatible);
    }
}

TEST(dump_text, each_byte_has_one_text) {  // T1
    const auto reads = [](const std::string& text) -> std::optional<std::string> {
        const auto lines = read(sealed("value\tk\t" + text + "\n", 1));
        return lines ? std::optional(lines->at(0).data) : std::nullopt;
    };
    std::string texts[256];
    for (int i = 0; i < 256; ++i) {
        const auto whole = written({{false, 0, 0, 0, "k", std::string(1, static_cast<char>(i))}});
        const auto begin = whole.find("value\tk\t") + 8;
        texts[i] = whole.substr(begin, whole.find('\n', begin) - begin);
        EXPECT_EQ(reads(texts[i]), std::string(1, static_cast<char>(i)));
    }
    EXPECT_EQ(texts['a'] + texts[' '] + texts['~'] + texts['\\'] + texts['\t'], "a ~\\\\\\t");
    EXPECT_EQ(texts['\n'] + texts['\r'] + texts[0] + texts[0x1f] + texts[0x7f] + texts[0xff],
              "\\n\\r\\x00\\x1f\\x7f\\xff");
    for (int i = 0; i < 256; ++i) {
        const std::string plain(1, static_cast<char>(i));
        if (plain != "\n") EXPECT_EQ(reads(plain).has_value(), plain == texts[i]) << i;
        const std::string escaped = "\\" + plain;
        const bool is_one =
            std::find(std::begin(texts), std::end(texts), escaped) != std::end(texts);
        if (plain != "\n") EXPECT_EQ(reads(escaped).has_value(), is_one) << i;
        for (const char* format : {"\\x%02x", "\\x%02X", "\\X%02x", "\\x%x"}) {
            char text[8];
            std::snprintf(text, sizeof text, format, static_cast<unsigned>(i));
            const auto found = reads(text);
            EXPECT_EQ(found.has_value(), text == texts[i]) << text;
        }
    }
    for (const std::string digits : {"0g", "g0", "0G", "/0", "0/", ":0", "0:", "`0", "0`", "@0"}) {
        EXPECT_FALSE(reads("\\x" + digits)) << digits;
    }
    for (int i = 0; i < 256; ++i) {
        const std::string plain(1, static_cast<char>(i));
        if (plain == texts[i] || plain == "\\" || plain == "\n") continue;
        for (const auto* escaped : {"t", "n", "r", "\\", "x00"}) {
            EXPECT_FALSE(reads(plain + escaped)) << i << " for the backslash";
        }
    }
    for (const std::string begun : {"\\", "\\x", "\\x0", "a\\", "a\\x"}) {
        EXPECT_FALSE(reads(begun)) << begun;
        EXPECT_FALSE(read(sealed("value\t" + begun + "\tx\n", 1))) << begun;
    }
}

TEST(dump_text, a_line_has_just_its_fields) {
    EXPECT_TRUE(read(sealed("value\tk\tx\n", 1)));
    EXPECT_TRUE(read(sealed("value\t\t\n", 1)));
    for (const std::string line :
         {"record\t0\t0\t1\tk", "record\t0\t0\t1\tk\tx\t", "record\t0\t0\t1", "record\t",
          "value\tk", "value\tk\tx\t", "value\tk\tx\ty", "value\t", "value", "", "\t",
          "Value\tk\tx", " value\tk\tx", "record 0\t0\t1\tk\tx", "values\tk\tx", "flush\t5",
          "nothing"}) {
        const auto r = read(sealed("value\ta\tx\n" + line + "\n", 2));
        ASSERT_FALSE(r) << line;
        EXPECT_EQ(r.error().code, errc::corrupt);
        EXPECT_EQ(r.error().where, "test.dump in line 3") << line;
    }
    const std::string good = sealed("value\ta\tx\n", 1);
    const auto end = good.substr(good.find("end\t"));
    for (const std::string& bad :
         {end.substr(0, end.size() - 2) + "\n", end.substr(0, end.size() - 1) + "0\n",
          "end\t01" + end.substr(5), "end\t1" + end.substr(6),
          end.substr(0, 6) + "\t" + end.substr(6), "end\t\t" + end.substr(6),
          std::string("end\t1\tABCDEFABCDEFABCD\n"), std::string("end\t1\n"), std::string("end\n"),
          end + "\n", end + "x", end + end}) {
        const auto r = read(good.substr(0, good.size() - end.size()) + bad);
        ASSERT_FALSE(r) << bad;
        EXPECT_EQ(r.error().code, errc::corrupt);
    }
}

TEST(dump_text, a_flush_comes_first_once_and_is_told) {
    const auto told = [](const std::string& text) {
        std::size_t at = 0;
        dump_reader r(
            [&](std::span<char> into) -> result<std::size_t> {
                const std::size_t n = std::min(into.size(), text.size() - at);
                std::memcpy(into.data(), text.data() + at, n);
                at += n;
                return n;
            },
            "test.dump");
        dump_line l;
        for (;;) {
            const auto more = r.next(l);
            if (!more) return ~u64{0};
            if (!*more) return r.flush_at();
        }
    };
    EXPECT_EQ(told(sealed("", 0)), 0U);
    EXPECT_EQ(told(sealed("", 0, 5)), 5U);
    EXPECT_EQ(told(sealed("value\ta\tx\n", 1, ~u64{0} - 1)), ~u64{0} - 1);
    EXPECT_EQ(told(sealed("flush\t5\n", 0, 5)), ~u64{0}) << "twice";
    EXPECT_EQ(told(sealed("flush\t0\n", 0)), ~u64{0}) << "never";
    EXPECT_EQ(told(sealed("flush\tx\n", 0)), ~u64{0});
    EXPECT_EQ(told(sealed("value\ta\tx\nflush\t5\n", 1)), ~u64{0}) << "late";
}

TEST(dump_text, writer_and_reader_count_the_same) {
    std::string text;
    u64 calls = 0;
    std::size_t longest = 0;
    dump_writer w([&](std::string_view part) {
        text += part;
        ++calls;
        longest = std::max(longest, part.size());
        return result<void>{};
    });
    must(w.begin(7));
    u64 records = 0;
    for (unsigned i = 0; i < 30'000; ++i) {
        const std::string key = std::to_string(100'000 + i);
        must(w.add({i % 3 != 0, 0, 0, i % 3 != 0 ? 1U : 0U, key, "some data of fair length"}));
        records += i % 3 != 0 ? 1 : 0;
    }
    const dump_totals wrote = must(w.end());
    EXPECT_EQ(wrote.records, records);
    EXPECT_EQ(wrote.values, 30'000 - records);
    EXPECT_EQ(wrote.bytes, text.size());
    // A quarter of a mebibyte at a time.
    EXPECT_LE(calls, text.size() / (256 << 10) + 3);
    EXPECT_LT(longest, (256U << 10) + 100);
    std::size_t at = 0;
    dump_reader r(
        [&](std::span<char> into) -> result<std::size_t> {
            const std::size_t n = std::min(into.size(), text.size() - at);
            std::memcpy(into.data(), text.data() + at, n);
            at += n;
            return n;
        },
        "test.dump");
    for (dump_line l; must(r.next(l));) EXPECT_LE(r.totals().bytes, text.size());
    EXPECT_EQ(r.totals().records, wrote.records);
    EXPECT_EQ(r.totals().values, wrote.values);
    EXPECT_EQ(r.totals().bytes, wrote.bytes);
    EXPECT_EQ(r.totals().checksum, wrote.checksum);
}

TEST(dump_text, errors_of_what_carries_it_are_handed_on) {
    const error full{errc::no_space, "write", "there", "it is full", "make room"};
    for (unsigned fails = 0; fails < 4; ++fails) {
        unsigned calls = 0;
        dump_writer w([&](std::string_view) -> result<void> {
            if (calls++ == fails) return failure(full);
            return {};
        });
        auto done = w.begin(0);
        for (unsigned i = 0; done && i < 30; ++i) {
            done = w.add({false, 0, 0, 0, std::to_string(100 + i), std::string(20'000, 'x')});
        }
        const auto end = done ? w.end() : result<dump_totals>(failure(done.error()));
        ASSERT_FALSE(end) << fails;
        EXPECT_EQ(end.error().code, errc::no_space);
    }
    const std::string text = written(some, 4);
    for (unsigned fails = 0; fails < text.size(); fails += 11) {
        std::size_t at = 0;
        dump_reader r(
            [&](std::span<char> into) -> result<std::size_t> {
                if (at == fails) return failure(full);
                into[0] = text[at++];
                return 1;
            },
            "test.dump");
        dump_line l;
        result<bool> more = true;
        while (more && *more) more = r.next(l);
        ASSERT_FALSE(more) << fails;
        EXPECT_EQ(more.error().code, errc::no_space);
    }
}

TEST(dump_text, what_no_store_takes_is_refused_though_the_checksum_fits) {
    EXPECT_FALSE(read(written({{true, 0, 0, 0, "k", "x"}}))) << "cas unique 0";
    EXPECT_FALSE(read(written({{true, 0, 0, 1, "", "x"}}))) << "a record's empty key";
    EXPECT_FALSE(read(written({{true, 0, 0, 1, std::string(max_key_size + 1, 'k'), "x"}})));
    EXPECT_FALSE(read(written({{true, 0, 0, 1, "k", std::string(max_value_size - 31, 'x')}})));
    EXPECT_FALSE(read(written({{false, 0, 0, 0, std::string(max_key_size + 1, 'k'), "x"}})));
    EXPECT_FALSE(read(written({{false, 0, 0, 0, "k", std::string(max_value_size + 1, 'x')}})));
    EXPECT_TRUE(read(written({{false, 0, 0, 0, "k", std::string(max_value_size, 'x')}})));
    EXPECT_TRUE(
        read(written({{false, 0, 0, 0, "", "x"}, {false, 0, 0, 0, std::string(1, 0), ""}})));
    EXPECT_FALSE(read(written({{false, 0, 0, 0, "", "x"}, {false, 0, 0, 0, "", "x"}})));
    EXPECT_FALSE(read(written({{false, 0, 0, 0, "\x7f", "x"}, {false, 0, 0, 0, "a", "x"}})));
    EXPECT_TRUE(read(written({{false, 0, 0, 0, "a", "x"}, {false, 0, 0, 0, "\xff", "x"}})));
    EXPECT_TRUE(read(written({{false, 0, 0, 0, "a", "x"}, {false, 0, 0, 0, "aa", "x"}})));
}

}  // namespace
}  // namespace hf::test
