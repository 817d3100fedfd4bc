// Records decode as they were written, and other bytes do not decode.
#include "store/store_record.hpp"

#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace hf::detail {
namespace {

const record_header example{0xfeed, 1'700'000'000, 0x0123'4567'89ab'cdef};

std::string encoded(const record_header& header, std::string_view data) {
    return std::string(encode(header).view()).append(data);
}

/// `bytes` with the byte at `at` changed and a corrected checksum.
template <class Check>
std::string changed(std::string bytes, std::size_t at, char to, std::size_t check_at) {
    bytes[at] = to;
    const auto sum = static_cast<Check>(checksum64(bytes.data(), check_at));
    std::memcpy(bytes.data() + check_at, &sum, sizeof sum);
    return bytes;
}

void expect_same(const record_header& back, const record_header& header) {
    EXPECT_EQ(back.flags, header.flags);
    EXPECT_EQ(back.expires, header.expires);
    EXPECT_EQ(back.unique, header.unique);
}

/// Each bit of each field alone, with the other fields, and none.
std::vector<record_header> telling_headers() {
    std::vector<record_header> all{{}, example};
    for (unsigned bit = 0; bit < 64; ++bit) {
        const u64 one = u64{1} << bit;
        for (const record_header& rest : {record_header{}, example}) {
            all.push_back({static_cast<u32>(one), rest.expires, rest.unique});
            all.push_back({rest.flags, one, rest.unique});
            all.push_back({rest.flags, rest.expires, one});
        }
    }
    return all;
}

TEST(store_record, comes_back_with_its_data_whatever_the_fields_hold) {
    for (const record_header& header : telling_headers()) {
        for (const std::string_view data : {"", "hello"}) {
            const auto bytes = encoded(header, data);
            const auto back = decode_record(bytes, true);
            ASSERT_TRUE(back);
            expect_same(back->header, header);
            EXPECT_EQ(bytes.substr(back->size), data);
            const auto old = encode_version_1(header, data);
            const auto old_back = decode_record(old, true);
            ASSERT_TRUE(old_back);
            expect_same(old_back->header, header);
            EXPECT_EQ(old.substr(old_back->size), data);
        }
    }
}

TEST(store_record, has_the_documented_layout) {
    EXPECT_EQ(encoded({0, 0, 0x0023'4567'89ab'cdef}, "hello"),
              std::string("\x80\xef\xcd\xab\x89\x67\x45\x23hello"));
    EXPECT_EQ(encoded({0xfeed, 0, 1}, "hello"),
              std::string("\x81\x01\0\0\0\0\0\0\xed\xfe\0\0hello", 17));
    EXPECT_EQ(encoded({0, 1'700'000'000, 1}, ""),
              std::string("\x82\x01\0\0\0\0\0\0\0\xf1\x53\x65\0\0\0\0", 16));
    EXPECT_EQ(encoded(example, "hello"), std::string("\x87\xef\xcd\xab\x89\x67\x45\x23\x01"
                                                     "\xed\xfe\0\0"
                                                     "\0\xf1\x53\x65\0\0\0\0"
                                                     "hello",
                                                     26));
}

TEST(store_record, takes_no_more_bytes_than_a_drafts_room) {
    EXPECT_EQ(encode(example).size, encoded_header::most_bytes);
    EXPECT_EQ(encode({0, 0, (u64{1} << 56) - 1}).size, 8U);
    EXPECT_EQ(encode({0, 0, u64{1} << 56}).size, 9U);
}

// The bytes are at the end of readable memory.
TEST(store_record, is_not_read_beyond_its_bytes) {
    constexpr std::size_t page = 4096;
    void* const p =
        ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(p, MAP_FAILED);
    ASSERT_EQ(::mprotect(static_cast<char*>(p) + page, page, PROT_NONE), 0);
    for (const auto& header : {encoded({0, 0, 7}, ""), encoded(example, ""), encoded({1, 0, 7}, ""),
                               encode_version_1(example, "")}) {
        for (std::size_t n = 0; n <= header.size(); ++n) {
            char* const at = static_cast<char*>(p) + page - n;
            header.copy(at, n);
            EXPECT_EQ(decode_record({at, n}, true).has_value(), n == header.size()) << n;
        }
    }
    ::munmap(p, 2 * page);
}

TEST(store_record, is_not_short_where_none_may_be) {
    EXPECT_FALSE(decode_record(encoded(example, "hello"), false));
    EXPECT_TRUE(decode_record(encode_version_1(example, "hello"), false));
}

TEST(store_record, of_version_1_has_the_documented_layout) {
    const auto bytes = encode_version_1(example, "hello");
    EXPECT_EQ(bytes.substr(0, 28), std::string("\xd5\x01\x00\x00"
                                               "\xed\xfe\x00\x00"
                                               "\x00\xf1\x53\x65\x00\x00\x00\x00"
                                               "\xef\xcd\xab\x89\x67\x45\x23\x01"
                                               "\x05\x00\x00\x00",
                                               28));
    EXPECT_EQ(bytes, changed<u32>(bytes, 0, '\xd5', 28));
    EXPECT_EQ(bytes.substr(32), "hello");
}

TEST(store_record, with_any_other_tag_does_not_decode) {
    for (int tag = 0; tag < 256; ++tag) {
        auto bytes = encoded(example, "hello");
        bytes[0] = static_cast<char>(tag);
        EXPECT_EQ(decode_record(bytes, true).has_value(), tag >= 0x80 && tag <= 0x87) << tag;
    }
}

// The checksum alone would not detect what another program has written correctly.
TEST(store_record, of_another_kind_or_version_does_not_decode_though_its_checksum_fits) {
    const auto record = encode_version_1(example, "hello");
    std::string master(master_record_bytes, '\0');
    encode(master_record{11, 22, 33}, master.data());
    for (std::size_t at = 0; at < 4; ++at) {
        for (int value = 0; value < 256; ++value) {
            const char to = static_cast<char>(value);
            const bool newer = at == 0 && value >= 0x80 && value <= 0x87;
            EXPECT_EQ(decode_record(changed<u32>(record, at, to, 28), true).has_value(),
                      record[at] == to || newer)
                << at << " " << value;
            if (at > 1) continue;
            const bool version_2 = at == 1 && value == 2;
            EXPECT_EQ(decode_master(changed<u64>(master, at, to, 32)).has_value(),
                      master[at] == to || version_2)
                << at << " " << value;
        }
    }
    for (int size = 0; size < 10; ++size) {
        EXPECT_EQ(
            decode_record(changed<u32>(record, 24, static_cast<char>(size), 28), true).has_value(),
            size == 5)
            << size;
    }
}

TEST(store_record, of_version_1_with_a_flipped_bit_or_another_length_does_not_decode) {
    const auto good = encode_version_1(example, "hello");
    for (std::size_t bit = 0; bit < (good.size() - 5) * 8; ++bit) {
        auto bad = good;
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_FALSE(decode_record(bad, true)) << bit;
    }
    for (std::size_t size = 0; size < good.size(); ++size) {
        EXPECT_FALSE(decode_record(std::string_view(good).substr(0, size), true)) << size;
    }
    EXPECT_FALSE(decode_record(good + "x", true));
}

TEST(store_record, of_the_store_itself_has_the_documented_layout) {
    std::string bytes(master_record_bytes, 'x');
    encode(master_record{0x0123'4567'89ab'cdef, 1'700'000'000, 3}, bytes.data());
    EXPECT_EQ(bytes.substr(0, 32), std::string("\xd6\x01\x00\x00\x00\x00\x00\x00"
                                               "\xef\xcd\xab\x89\x67\x45\x23\x01"
                                               "\x00\xf1\x53\x65\x00\x00\x00\x00"
                                               "\x03\x00\x00\x00\x00\x00\x00\x00",
                                               32));
    EXPECT_EQ(bytes, changed<u64>(bytes, 0, '\xd6', 32));
    EXPECT_FALSE(decode_master(bytes + "x"));
    encode(master_record{.short_headers = true}, bytes.data());
    EXPECT_EQ(bytes.substr(0, 3), std::string("\xd6\x02\x00", 3));
    EXPECT_TRUE(decode_master(bytes)->short_headers);
}

TEST(store_record, of_the_store_itself_comes_back_and_any_flipped_bit_is_noticed) {
    std::string good(master_record_bytes, '\0');
    encode(master_record{11, 22, 33}, good.data());
    const auto back = decode_master(good);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->flush_mark, 11U);
    EXPECT_EQ(back->flush_at, 22U);
    EXPECT_EQ(back->spent_blocks, 33U);
    EXPECT_FALSE(back->short_headers);
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
