// Compares permutations with a list of slots.
#include "index/masstree/permutation.hpp"

#include "base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace hf {
namespace {

template <class Width>
class permutations : public ::testing::Test {
   protected:
    static constexpr unsigned width = Width::value;
    using slots_in_order = masstree_detail::permutation<width>;

    /// The slots in rank order: the used ones, then the free ones.
    static std::vector<unsigned> slots(slots_in_order p) {
        std::vector<unsigned> all;
        for (unsigned r = 0; r < width; ++r) all.push_back(p.slot(r));
        return all;
    }
    static std::vector<unsigned> used(slots_in_order p) {
        auto all = slots(p);
        all.resize(p.size());
        return all;
    }
    static void expect_sound(slots_in_order p) {
        EXPECT_TRUE(p.is_valid());
        auto all = slots(p);
        std::sort(all.begin(), all.end());
        std::vector<unsigned> each(width);
        std::iota(each.begin(), each.end(), 0U);
        EXPECT_EQ(all, each) << "every slot is named once";
        unsigned mask = 0;
        for (const unsigned s : used(p)) mask |= 1U << s;
        for (unsigned s = 0; s < width; ++s) EXPECT_EQ(p.uses(s), (mask >> s & 1) != 0) << s;
        EXPECT_EQ(p.used(), mask);
        EXPECT_EQ(p.full(), p.size() == width);
        EXPECT_EQ(slots_in_order(p.word()).word(), p.word());
    }
};

using widths =
    ::testing::Types<std::integral_constant<unsigned, 1>, std::integral_constant<unsigned, 2>,
                     std::integral_constant<unsigned, 14>, std::integral_constant<unsigned, 15>>;
TYPED_TEST_SUITE(permutations, widths);

TYPED_TEST(permutations, fills_both_halves_alternately) {
    using perm = typename TestFixture::slots_in_order;
    constexpr unsigned half = (TestFixture::width + 1) / 2;
    EXPECT_EQ(perm::empty().word(), perm::filled(0).word());
    for (unsigned n = 0; n <= TestFixture::width; ++n) {
        const perm p = perm::filled(n);
        TestFixture::expect_sound(p);
        std::vector<unsigned> wanted;
        for (unsigned i = 0; i < n; ++i) wanted.push_back(i / 2 + (i % 2 == 0 ? 0 : half));
        EXPECT_EQ(TestFixture::used(p), wanted);
        EXPECT_EQ(p.word() & 15, n);
    }
}

TYPED_TEST(permutations, inserts_each_free_slot_at_each_rank) {
    using perm = typename TestFixture::slots_in_order;
    for (unsigned n = 0; n < TestFixture::width; ++n) {
        const perm p = perm::filled(n);
        for (unsigned rank = 0; rank <= n; ++rank) {
            for (unsigned free_at = n; free_at < TestFixture::width; ++free_at) {
                const unsigned slot = p.slot(free_at);
                const perm after = p.inserted(rank, slot);
                TestFixture::expect_sound(after);
                auto wanted = TestFixture::used(p);
                wanted.insert(wanted.begin() + rank, slot);
                EXPECT_EQ(TestFixture::used(after), wanted);
            }
        }
    }
}

TYPED_TEST(permutations, remove_at_each_rank_moves_the_slot_to_the_end) {
    using perm = typename TestFixture::slots_in_order;
    for (unsigned n = 1; n <= TestFixture::width; ++n) {
        const perm p = perm::filled(n);
        for (unsigned rank = 0; rank < n; ++rank) {
            const perm after = p.removed(rank);
            TestFixture::expect_sound(after);
            auto wanted = TestFixture::used(p);
            wanted.erase(wanted.begin() + rank);
            EXPECT_EQ(TestFixture::used(after), wanted);
            EXPECT_EQ(after.slot(TestFixture::width - 1), p.slot(rank));
        }
    }
}

TYPED_TEST(permutations, matches_a_list_after_random_changes) {
    using perm = typename TestFixture::slots_in_order;
    for (const u64 seed : {1, 2, 3, 4}) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        xoshiro256ss random(seed);
        perm p = perm::empty();
        std::vector<unsigned> model;
        bool was_full = false;
        bool was_emptied = false;
        for (int step = 0; step < 4000; ++step) {
            const bool grows = step / 200 % 2 == 0 ? random.below(3) != 0 : random.below(3) == 0;
            if (!p.full() && (grows || model.empty())) {
                const auto rank = static_cast<unsigned>(random.below(model.size() + 1));
                const auto free_at =
                    p.size() + static_cast<unsigned>(random.below(TestFixture::width - p.size()));
                const unsigned slot = p.slot(free_at);
                p = p.inserted(rank, slot);
                model.insert(model.begin() + rank, slot);
            } else if (!model.empty()) {
                const auto rank = static_cast<unsigned>(random.below(model.size()));
                p = p.removed(rank);
                model.erase(model.begin() + rank);
                was_emptied |= model.empty();
            }
            was_full |= p.full();
            TestFixture::expect_sound(p);
            ASSERT_EQ(TestFixture::used(p), model) << "step " << step;
        }
        EXPECT_TRUE(was_full && was_emptied) << "the run is too short";
    }
}

TEST(permutation, invalid_words_are_detected) {
    using perm = masstree_detail::permutation<14>;
    const u64 good = perm::filled(3).word();
    EXPECT_TRUE(perm(good).is_valid());
    EXPECT_FALSE(perm(0).is_valid()) << "slot 0 throughout";
    EXPECT_FALSE(perm(~u64{0}).is_valid());
    EXPECT_FALSE(perm((good & ~u64{15}) | 15).is_valid()) << "more used than there are";
    EXPECT_FALSE(perm(good ^ u64{0x10}).is_valid()) << "one slot twice";
    EXPECT_FALSE(perm((good & ~u64{0xf0}) | 0xe0).is_valid()) << "a slot that there is not";
}

}  // namespace
}  // namespace hf
