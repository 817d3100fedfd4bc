// Each line, number and byte has one text (T1), and the reader takes no other though the checksum
// fits.
#include "dump/dump_texts.hpp"

#include <cstdio>
#include <optional>

namespace hf::test {
namespace {

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
        if (plain != "\n") {
            EXPECT_EQ(reads(plain).has_value(), plain == texts[i]) << i;
        }
        const std::string escaped = "\\" + plain;
        const bool is_one =
            std::find(std::begin(texts), std::end(texts), escaped) != std::end(texts);
        if (plain != "\n") {
            EXPECT_EQ(reads(escaped).has_value(), is_one) << i;
        }
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

TEST(dump_text, a_checksum_has_sixteen_digits) {
    unsigned tried = 0;
    for (bool zero = false, last = false; !zero || !last; ++tried) {
        const std::string good = sealed("value\tk\t" + std::to_string(tried) + "\n", 1);
        const std::size_t at = good.rfind('\t') + 1;
        ASSERT_TRUE(read(good));
        std::string other = good;
        EXPECT_FALSE(read(other.insert(at, "0"))) << good;
        if (good[at] == '0') {
            EXPECT_FALSE(read(other = good.substr(0, at) + good.substr(at + 1)));
        }
        for (const char wrong : {'g', 'F', '/', ':', '@', '`', ' '}) {
            other = good;
            other[at] = wrong;
            EXPECT_FALSE(read(other)) << other;
        }
        zero = zero || good[at] == '0';
        last = last || good[at] == 'f';
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

}  // namespace
}  // namespace hf::test
