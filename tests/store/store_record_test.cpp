// Records come back as they were written, and nothing else decodes.
#include "store/store_record.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hf::detail {
namespace {

const record_header example{0xfeed, 1'700'000'000, 0x0123'4567'89ab'cdef, 5};

std::string encoded(const record_header& header, std::string_view data) {
    std::string bytes(record_header_bytes, '\0');
    encode(header, bytes.data());
    return bytes.append(data);
}

TEST(store_record, comes_back) {
    const auto back = decode_record(encoded(example, "hello"));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->flags, example.flags);
    EXPECT_EQ(back->expires, example.expires);
    EXPECT_EQ(back->unique, example.unique);
    EXPECT_EQ(back->data_size, 5U);
}

TEST(store_record, has_the_documented_layout) {
    const auto bytes = encoded(example, "hello");
    EXPECT_EQ(bytes.substr(0, 28), std::string("\xd5\x01\x00\x00"
                                               "\xed\xfe\x00\x00"
                                               "\x00\xf1\x53\x65\x00\x00\x00\x00"
                                               "\xef\xcd\xab\x89\x67\x45\x23\x01"
                                               "\x05\x00\x00\x00",
                                               28));
}

TEST(store_record, with_any_flipped_bit_in_its_header_does_not_decode) {
    const auto good = encoded(example, "hello");
    for (std::size_t bit = 0; bit < record_header_bytes * 8; ++bit) {
        auto bad = good;
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_FALSE(decode_record(bad)) << bit;
    }
}

TEST(store_record, cut_short_or_lengthened_does_not_decode) {
    const auto good = encoded(example, "hello");
    for (std::size_t size = 0; size < good.size(); ++size) {
        EXPECT_FALSE(decode_record(std::string_view(good).substr(0, size))) << size;
    }
    EXPECT_FALSE(decode_record(good + "x"));
}

TEST(store_record, of_the_store_itself_comes_back_and_any_flipped_bit_is_noticed) {
    std::string good(master_record_bytes, '\0');
    encode(master_record{11, 22, 33}, good.data());
    const auto back = decode_master(good);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->flush_mark, 11U);
    EXPECT_EQ(back->flush_at, 22U);
    EXPECT_EQ(back->spent_blocks, 33U);
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        auto bad = good;
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_FALSE(decode_master(bad)) << bit;
    }
    EXPECT_FALSE(decode_master(good.substr(1)));
    EXPECT_FALSE(decode_master({}));
}

}  // namespace
}  // namespace hf::detail
