// The text of a dump: what is written is read again, and nothing else is accepted.
#include <holdfast/map.hpp>

#include "dump/dump_texts.hpp"
#include "support/effort.hpp"

namespace hf::test {
namespace {

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
    const std::size_t longest = is_sanitized ? std::size_t{1} << 20 : max_value_size - 32;
    const std::vector<owned_line> one{
        {true, 1, 2, 3, std::string(max_key_size, '\x80'), std::string(longest, '\0')}};
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
    // Under a sanitizer each byte once, all bits by turns.
    for (std::size_t bit = 0; bit < whole.size() * 8; bit += is_sanitized ? 9 : 1) {
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

TEST(dump_text, whatever_follows_the_end_line_is_said_to_follow_it) {
    const std::string whole = written(some);
    for (const auto* more : {"\n", "x\n", "x", "end\t0\t0123456789abcdef\n"}) {
        const auto got = read(whole + more);
        ASSERT_FALSE(got) << more;
        EXPECT_EQ(got.error().code, errc::corrupt);
        EXPECT_EQ(got.error().why, "something follows the end line") << more;
    }
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
    const auto end = static_cast<unsigned>(text.size());
    for (unsigned fails = end % 11; fails <= end; fails += 11) {
        std::size_t at = 0;
        dump_reader r(
            [&](std::span<char> into) -> result<std::size_t> {
                if (at == fails) return failure(full);
                into[0] = text.at(at++);
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
