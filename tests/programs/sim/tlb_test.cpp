// TLBs against lists that are kept by hand.
#include "sim/tlb.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <deque>

namespace hf::sim {
namespace {

constexpr auto never = [](u64) { return false; };

hardware with(unsigned entries, unsigned sets = 0, unsigned ways = 0, unsigned cores = 1) {
    hardware h;
    h.cores = cores;
    h.tlb_entries = entries;
    h.stlb_sets = sets;
    h.stlb_ways = ways;
    return h;
}

/// A fully associative LRU list.
class plain_lru {
   public:
    explicit plain_lru(std::size_t size) : size_(size) {}
    bool touch(u64 page) {
        const auto at = std::find(pages_.begin(), pages_.end(), page);
        const bool hit = at != pages_.end();
        if (hit) pages_.erase(at);
        pages_.push_front(page);
        if (pages_.size() > size_) pages_.pop_back();
        return hit;
    }
    void drop(u64 page) { std::erase(pages_, page); }
    [[nodiscard]] bool holds(u64 page) const {
        return std::find(pages_.begin(), pages_.end(), page) != pages_.end();
    }

   private:
    std::size_t size_;
    std::deque<u64> pages_;
};

RC_GTEST_PROP(tlbs, of_one_level_hit_and_forget_as_an_lru_list, (std::vector<u8> steps)) {
    tlbs t(with(5));
    plain_lru plain(5);
    for (const u8 step : steps) {
        const u64 page = step % 11;
        if (step > 240) {
            t.drop(page);
            plain.drop(page);
        } else {
            RC_ASSERT((t.touch(0, page, never) == tlbs::found::first) == plain.touch(page));
        }
        for (u64 v = 0; v < 11; ++v) {
            RC_ASSERT(t.holds(0, v) == plain.holds(v));
            RC_ASSERT(t.refs(v) == (plain.holds(v) ? 1U : 0U));
        }
    }
}

RC_GTEST_PROP(tlbs, of_two_levels_hit_as_two_lists, (std::vector<u8> steps)) {
    tlbs t(with(2, 2, 3));
    plain_lru first(2);
    std::array<plain_lru, 2> second{plain_lru(3), plain_lru(3)};
    for (const u8 step : steps) {
        const u64 page = step % 13;
        const bool in_first = first.touch(page);
        // The STLB sees misses of the first level only, and is ordered by them.
        const bool in_second = in_first || second[page % 2].touch(page);
        const tlbs::found expected = in_first    ? tlbs::found::first
                                     : in_second ? tlbs::found::second
                                                 : tlbs::found::nowhere;
        std::vector<bool> before;
        for (u64 v = 0; v < 13; ++v) before.push_back(t.refs(v) != 0);
        RC_ASSERT(t.touch(0, page, never) == expected);
        std::vector<u64> gone;
        for (u64 v = 0; v < 13; ++v) {
            const unsigned refs = (first.holds(v) ? 1U : 0U) + (second[v % 2].holds(v) ? 1U : 0U);
            RC_ASSERT(t.refs(v) == refs);
            if (before[v] && refs == 0) gone.push_back(v);
        }
        if (expected != tlbs::found::first) {
            auto told = t.gone();
            std::sort(told.begin(), told.end());
            RC_ASSERT(told == gone);
        }
    }
}

TEST(tlbs, a_page_is_gone_when_the_last_core_has_lost_it) {
    tlbs t(with(1, 0, 0, 2));
    t.touch(0, 7, never);
    t.touch(1, 7, never);
    t.touch(0, 8, never);
    EXPECT_TRUE(t.gone().empty());
    EXPECT_FALSE(t.holds(0, 7));
    EXPECT_TRUE(t.holds(1, 7));
    t.touch(1, 9, never);
    EXPECT_EQ(t.gone(), std::vector<u64>{7});
}

TEST(tlbs, a_pinned_page_stays_while_another_can_leave) {
    tlbs t(with(2));
    const auto pinned = [](u64 v) { return v == 1; };
    t.touch(0, 1, pinned);
    t.touch(0, 2, pinned);
    t.touch(0, 3, pinned);
    EXPECT_EQ(t.gone(), std::vector<u64>{2});
    EXPECT_TRUE(t.holds(0, 1));
    const auto all = [](u64) { return true; };
    t.touch(0, 4, all);
    EXPECT_EQ(t.gone(), std::vector<u64>{1}) << "where all are pinned the oldest leaves";
}

TEST(tlbs, a_shootdown_reports_cores_and_the_page) {
    tlbs t(with(4, 0, 0, 3));
    t.touch(0, 5, never);
    t.touch(2, 5, never);
    EXPECT_EQ(t.drop(5), 2U);
    EXPECT_EQ(t.gone(), std::vector<u64>{5});
    EXPECT_EQ(t.drop(5), 0U);
    EXPECT_TRUE(t.gone().empty());
}

}  // namespace
}  // namespace hf::sim
