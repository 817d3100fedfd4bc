// Records come back as they were written, and nothing else decodes.
#include "store/store_record.hpp"

#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstring>
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

// The bytes lie at the end of what may be read.
TEST(store_record, is_not_read_beyond_its_bytes) {
    constexpr std::size_t page = 4096;
    void* const p =
        ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(p, MAP_FAILED);
    ASSERT_EQ(::mprotect(static_cast<char*>(p) + page, page, PROT_NONE), 0);
    for (std::size_t n = 0; n < record_header_bytes; ++n) {
        const char* const at = static_cast<char*>(p) + page - n;
        EXPECT_EQ(decode_record({at, n}), std::nullopt) << n;
    }
    ::munmap(p, 2 * page);
}

TEST(store_record, has_every_value_that_its_fields_can_hold) {
    for (unsigned bit = 0; bit < 64; ++bit) {
        const u64 one = u64{1} << bit;
        for (const record_header& header :
             {record_header{static_cast<u32>(one), 0, 0, 0}, record_header{0, one, 0, 0},
              record_header{0, 0, one, 0}}) {
            const auto back = decode_record(encoded(header, {}));
            ASSERT_TRUE(back) << bit;
            EXPECT_EQ(back->flags, header.flags);
            EXPECT_EQ(back->expires, header.expires);
            EXPECT_EQ(back->unique, header.unique);
        }
    }
}

/// `bytes` with the byte at `at` changed and a checksum that fits again.
template <class Check>
std::string changed(std::string bytes, std::size_t at, char to, std::size_t check_at) {
    bytes[at] = to;
    const auto sum = static_cast<Check>(checksum64(bytes.data(), check_at));
    std::memcpy(bytes.data() + check_at, &sum, sizeof sum);
    return bytes;
}

// The checksum alone would say nothing against what another program has written in good order.
TEST(store_record, of_another_kind_or_version_does_not_decode_though_its_checksum_fits) {
    const auto record = encoded(example, "hello");
    std::string master(master_record_bytes, '\0');
    encode(master_record{11, 22, 33}, master.data());
    for (std::size_t at = 0; at < 4; ++at) {
        for (int value = 0; value < 256; ++value) {
            const char to = static_cast<char>(value);
            EXPECT_EQ(decode_record(changed<u32>(record, at, to, 28)).has_value(), record[at] == to)
                << at << " " << value;
            if (at > 1) continue;
            EXPECT_EQ(decode_master(changed<u64>(master, at, to, 32)).has_value(), master[at] == to)
                << at << " " << value;
        }
    }
    for (int size = 0; size < 10; ++size) {
        EXPECT_EQ(decode_record(changed<u32>(record, 24, static_cast<char>(size), 28)).has_value(),
                  size == 5)
            << size;
    }
}

TEST(store_record, is_checked_by_the_low_half_of_the_checksum_that_all_of_the_medium_has) {
    const auto bytes = encoded(example, "hello");
    EXPECT_EQ(bytes, changed<u32>(bytes, 0, '\xd5', 28));
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
