// Seals: each flipped bit is detected, and each leaf has different seals.
#include "base/random.hpp"
#include "index/masstree/checkpoint/leaf.hpp"

#include <gtest/gtest.h>

namespace hf::test {
namespace {

namespace seal = masstree_detail::seal;

struct kind {
    const char* name;
    u64 plain_bits;
    u64 (*put)(u64, u64);
    bool (*fits)(u64, u64);
};
constexpr kind kinds[] = {
    {"nibbles", (u64{1} << 60) - 1, seal::nibbles::put, seal::nibbles::fits},
    {"wide", seal::wide::plain_bits, seal::wide::put, seal::wide::fits},
    {"narrow", ~seal::narrow::bits, seal::narrow::put, seal::narrow::fits},
};

u64 some_place(xoshiro256ss& r) { return 16 + 64 * r.below(window_size / 64); }

TEST(seal, seal_keeps_the_word_and_detects_each_flipped_bit) {
    xoshiro256ss r(11);
    for (const kind& k : kinds) {
        for (int i = 0; i < 2000; ++i) {
            const u64 plain = i == 0 ? 0 : r() & k.plain_bits;
            const u64 place = some_place(r);
            const u64 w = k.put(plain, place);
            ASSERT_EQ(w & k.plain_bits, plain) << k.name;
            ASSERT_TRUE(k.fits(w, place)) << k.name;
            for (unsigned bit = 0; bit < 64; ++bit) {
                ASSERT_FALSE(k.fits(w ^ u64{1} << bit, place))
                    << k.name << " " << plain << " " << bit;
            }
        }
    }
}

/// As often as the number of its bits implies.
TEST(seal, seal_depends_on_the_place) {
    xoshiro256ss r(12);
    const double chances[] = {16, 65536, 256};
    for (unsigned k = 0; k < std::size(kinds); ++k) {
        unsigned passed = 0;
        constexpr unsigned tries = 200'000;
        for (unsigned i = 0; i < tries; ++i) {
            const u64 w = kinds[k].put(r() & kinds[k].plain_bits, some_place(r));
            passed += kinds[k].fits(w, some_place(r)) ? 1 : 0;
        }
        EXPECT_LT(passed, 1.2 * tries / chances[k] + 10) << kinds[k].name;
    }
}

TEST(seal, seal_of_a_leaf_uses_its_offset) {
    masstree_detail::durable_leaf n{};
    const u64 place = reinterpret_cast<u64>(&n) & window_mask;
    const u64 filled = masstree_detail::leaf_permutation::filled(9).word();
    n.set_epoch(77);
    EXPECT_EQ(n.epoch(), 77U);
    EXPECT_TRUE(n.has_sound_epoch());
    EXPECT_EQ(masstree_detail::load(n.node_epoch), seal::wide::put(77, place));
    EXPECT_EQ(n.sealed_value(5), seal::wide::put(5, place));
    EXPECT_TRUE(n.is_value(n.sealed_value(5)));
    EXPECT_FALSE(n.is_value(n.sealed_value(5) ^ 16));
    EXPECT_TRUE(n.is_order(n.sealed_order(filled)));
    EXPECT_FALSE(n.is_order(n.sealed_order(filled) ^ 16));
    masstree_detail::store(n.node_epoch, masstree_detail::load(n.node_epoch) ^ 1);
    EXPECT_FALSE(n.has_sound_epoch());
}

}  // namespace
}  // namespace hf::test
