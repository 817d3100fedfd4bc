// The tree's components by themselves: keys as slices, records, interior nodes.
#include "index/masstree/node.hpp"

#include "index/masstree/key.hpp"
#include "index/masstree/record.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace hf::test {
namespace {

using masstree_detail::interior;
using masstree_detail::key_cursor;
using masstree_detail::record;

std::string counted(std::size_t n) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<char>('A' + i));
    return out;
}

TEST(key_cursor, returns_the_slices_of_keys_of_any_length) {
    for (std::size_t size = 0; size <= 33; ++size) {
        SCOPED_TRACE(size);
        // A separate allocation, so that AddressSanitizer detects reads after the key.
        const auto bytes = std::make_unique<char[]>(size);
        const std::string key = counted(size);
        std::copy(key.begin(), key.end(), bytes.get());
        key_cursor at(std::string_view(bytes.get(), size));
        for (std::size_t first = 0;; first += 8) {
            const std::size_t left = size - first;
            const std::string piece = key.substr(first, 8);
            u64 slice = 0;
            for (std::size_t i = 0; i < 8; ++i) {
                slice = slice << 8 | (i < piece.size() ? static_cast<unsigned char>(piece[i]) : 0U);
            }
            EXPECT_EQ(at.slice(), slice);
            EXPECT_EQ(at.depth(), first / 8);
            EXPECT_EQ(at.length_class(), left > 8 ? masstree_detail::longer : left);
            EXPECT_EQ(at.rest(), left > 8 ? key.substr(first + 8) : "");
            EXPECT_EQ(at.whole(), key);
            std::string again;
            masstree_detail::append_slice(again, slice, at.length_class());
            EXPECT_EQ(again, piece);
            if (left <= 8) break;
            at.descend();
        }
        at.rewind();
        EXPECT_EQ(at.depth(), 0U);
        EXPECT_EQ(at.slice(), masstree_detail::slice_of(key));
    }
}

TEST(record, payload_covers_value_and_key_from_the_ninth_byte) {
    for (std::size_t size = 0; size <= 33; ++size) {
        for (const std::size_t value : {0U, 1U, 40U}) {
            const std::string key = counted(size);
            const u64 payload = masstree_detail::record_payload(key, value);
            EXPECT_EQ(payload, sizeof(record) + value + (size < 8 ? 0 : size - 8));
            std::vector<u64> room(payload / 8 + 1, ~u64{0});
            auto* r = reinterpret_cast<record*>(room.data());
            masstree_detail::fill_record(r, key, std::string(value, 'v'), 4096);
            EXPECT_EQ(r->payload(), payload);
            EXPECT_TRUE(r->is_sound(key, 4096));
            EXPECT_FALSE(r->is_sound(key, 4160)) << "it lies elsewhere";
            EXPECT_FALSE(r->is_sound(key + "x", 4096));
            EXPECT_EQ(r->value(), std::string(value, 'v'));
            EXPECT_EQ(r->tail(), size < 8 ? "" : key.substr(8));
            EXPECT_EQ(static_cast<void*>(r->bytes()), static_cast<void*>(room.data() + 1));
        }
    }
}

TEST(record, any_flipped_bit_makes_it_unsound) {
    const std::string key = counted(11);
    std::vector<u64> room(4);
    auto* r = reinterpret_cast<record*>(room.data());
    const u64 payload = masstree_detail::record_payload(key, 13);
    ASSERT_EQ(payload, 24U);
    masstree_detail::fill_record(r, key, "thirteen byte", 4096);
    for (unsigned bit = 0; bit < 8 * payload; ++bit) {
        room[bit / 64] ^= u64{1} << bit % 64;
        const bool has_size = r->payload() <= sizeof(u64) * room.size();
        const std::string_view tail = has_size ? r->tail() : "";
        EXPECT_FALSE(has_size && tail == key.substr(8) && r->is_sound(key, 4096)) << bit;
        room[bit / 64] ^= u64{1} << bit % 64;
    }
    EXPECT_TRUE(r->is_sound(key, 4096));
}

TEST(record, head_returns_sizes_and_checksum_as_given) {
    using masstree_detail::record_word;
    for (const u64 value : {u64{0}, u64{1}, (u64{1} << 27) - 1}) {
        for (const u64 tail : {u64{0}, u64{1}, u64{4095}}) {
            for (const u32 sum : {0U, 1U, (1U << 25) - 1, 0x155'5555U}) {
                const record_word w(value, tail, sum);
                EXPECT_EQ(w.value_size(), value);
                EXPECT_EQ(w.tail_size(), tail);
                EXPECT_EQ(w.checksum(), sum);
            }
        }
    }
    EXPECT_NE(record_word::checksum_of("a", "b", 16), record_word::checksum_of("a", "b", 32));
}

TEST(record, rest_equals_only_its_own_key_in_any_layer) {
    const std::string key = counted(30);
    std::vector<u64> room(16);
    auto* r = reinterpret_cast<record*>(room.data());
    masstree_detail::fill_record(r, key, "123", 4096);
    for (key_cursor at(key); at.length_class() == masstree_detail::longer; at.descend()) {
        EXPECT_TRUE(r->rest_equals(at));
        for (const std::string& other :
             {key + "x", key.substr(0, 29), key.substr(0, 29) + "x", key + '\0'}) {
            key_cursor beside(other);
            beside.rewind(at.depth());
            EXPECT_FALSE(r->rest_equals(beside)) << other;
        }
    }
}

TEST(interior, child_index_selects_the_child_whose_range_contains_the_slice) {
    for (unsigned count = 0; count <= interior::width; ++count) {
        interior n{};
        masstree_detail::store(n.count, count);
        // The slots after the last key keep old values.
        for (unsigned k = 0; k < interior::width; ++k) {
            masstree_detail::store(n.keys[k], k < count ? 10 * (k + 1) : 1);
        }
        EXPECT_EQ(n.key_count(), count);
        for (u64 slice = 0; slice <= 10 * (interior::width + 1); ++slice) {
            EXPECT_EQ(n.child_index(slice), std::min<u64>(slice / 10, count)) << slice;
        }
        EXPECT_EQ(n.child_index(~u64{0}), count);
    }
}

TEST(length_classes, changing_one_slot_keeps_the_others) {
    for (unsigned s = 0; s < 15; ++s) {
        for (unsigned c = 0; c <= masstree_detail::longer; ++c) {
            const u64 before = 0x0123456789012345;
            const u64 after = masstree_detail::with_length_class(before, s, c);
            for (unsigned other = 0; other < 15; ++other) {
                EXPECT_EQ(masstree_detail::length_class(after, other),
                          other == s ? c : masstree_detail::length_class(before, other));
            }
        }
    }
}

}  // namespace
}  // namespace hf::test
