// Compares the search with each instruction set with a simple loop.
#include "index/masstree/search.hpp"

#include "base/random.hpp"
#include "index/masstree/node.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace hf::test {
namespace {

namespace search = masstree_detail::search;
using masstree_detail::word;

/// Adjacent values in each order that a signed or partial comparison would get wrong.
const std::vector<u64>& telling() {
    static const std::vector<u64> all{0,
                                      1,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      0x100000000,
                                      0x1'0000'0001,
                                      0x7fff'ffff'ffff'ffff,
                                      0x8000'0000'0000'0000,
                                      0x8000'0000'0000'0001,
                                      0xffff'ffff'0000'0000,
                                      ~u64{0} - 1,
                                      ~u64{0}};
    return all;
}

/// N keys between words that must not be read as keys.
template <std::size_t N>
struct keys_between {
    std::array<word, 3> before;
    std::array<word, N> keys;
    std::array<word, 3> behind;

    void fill(xoshiro256ss& random, u64 slice) {
        for (auto* some : {&before, &behind}) {
            for (word& w : *some) w = slice;
        }
        for (word& w : keys) {
            w = random() % 4 == 0 ? slice : telling()[random() % telling().size()];
        }
    }
    template <class Holds>
    [[nodiscard]] search::mask expected(Holds holds) const {
        search::mask m = 0;
        for (std::size_t i = 0; i < N; ++i) m |= search::mask{holds(keys[i].load())} << i;
        return m;
    }
};

template <class Kind, std::size_t N>
void try_kind() {
    if (!Kind::is_there()) GTEST_SKIP() << "this processor has no such instructions";
    xoshiro256ss random(N);
    keys_between<N> k;
    for (int i = 0; i < 3000; ++i) {
        const u64 slice = telling()[random() % telling().size()];
        k.fill(random, slice);
        ASSERT_EQ(Kind::equal(k.keys, slice), k.expected([&](u64 w) { return w == slice; })) << i;
        ASSERT_EQ(Kind::not_above(k.keys, slice), k.expected([&](u64 w) { return w <= slice; }))
            << i;
    }
}

/// The implementation that is selected at run time.
struct chosen {
    template <std::size_t N>
    static search::mask equal(const std::array<word, N>& keys, u64 slice) {
        return search::equal(keys, slice);
    }
    template <std::size_t N>
    static search::mask not_above(const std::array<word, N>& keys, u64 slice) {
        return search::not_above(keys, slice);
    }
    static bool is_there() { return true; }
};

template <class Kind>
class masstree_search : public testing::Test {};
using instructions =
    testing::Types<search::by_words, search::by_sse4, search::by_avx2, search::by_avx512, chosen>;
TYPED_TEST_SUITE(masstree_search, instructions);

TYPED_TEST(masstree_search, matches_a_loop_with_14_keys) { try_kind<TypeParam, 14>(); }
TYPED_TEST(masstree_search, matches_a_loop_with_15_keys) { try_kind<TypeParam, 15>(); }

TEST(interior, child_index_ignores_slots_after_the_last_key) {
    auto made = std::make_unique<masstree_detail::interior>();
    masstree_detail::interior& n = *made;
    for (u64 count = 0; count <= n.width; ++count) {
        n.count = count;
        // Values after the last key are old, and may be smaller.
        for (u64 i = 0; i < n.width; ++i) n.keys[i] = i < count ? 10 * (i + 1) : 0;
        for (u64 slice = 0; slice < 10 * (n.width + 2); ++slice) {
            ASSERT_EQ(n.child_index(slice), std::min(slice / 10, count)) << count << ' ' << slice;
        }
        ASSERT_EQ(n.child_index(~u64{0}), count);
    }
    for (u64 i = 0; i < n.width; ++i) n.keys[i] = 0;
    for (const u64 nonsense : {u64{16}, u64{63}, u64{64}, u64{1} << 32, ~u64{0}}) {
        n.count = nonsense;
        EXPECT_LE(n.child_index(~u64{0}), n.width) << nonsense;
    }
}

}  // namespace
}  // namespace hf::test
