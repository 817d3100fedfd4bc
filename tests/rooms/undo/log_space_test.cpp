// The segments of a lane's log: found again, added, and counted across their ends.
#include "undo/log_space.hpp"

#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hf {
namespace {

using layout::page_size;
using test::must;

class log_space_test : public test::on_tmpfs {
   protected:
    [[nodiscard]] std::vector<u64> pages() const {
        std::vector<u64> all;
        for (const segment& s : space_.segments()) all.push_back(s.pages);
        return all;
    }

    static constexpr u16 owner = 3;
    std::unique_ptr<region> region_;
    log_space space_{4};
};

TEST_F(log_space_test, segments_double_up_to_the_limit_unless_an_entry_needs_more) {
    region_options o;
    o.initial_size = u64{1} << 20;
    region_ = must(region::open(file, o));
    space_.attach(*region_, 0);
    EXPECT_TRUE(space_.empty());
    must(space_.add(1));
    must(space_.add(1));
    must(space_.add(40));
    EXPECT_EQ(pages(), (std::vector<u64>{16, 4, 40})) << "the first has 1 MiB";
    log_space again(4);
    again.attach(*region_, 0);
    EXPECT_EQ(again.segments().size(), 3U);
    again.attach(*region_, 1);
    EXPECT_TRUE(again.empty());
}

TEST_F(log_space_test, half_of_what_is_kept_is_left_to_others_and_one_page_to_lane_0) {
    region_options o;
    o.initial_size = 2 * page_size;
    o.max_size = 18 * page_size;
    region_ = must(region::open(file, o));
    space_.attach(*region_, owner);
    ASSERT_EQ(kept_from_heap(region_->max_pages()), 2U);
    must(space_.add(1));
    EXPECT_EQ(space_.add(1).error().code, errc::no_space);
    EXPECT_EQ(pages(), std::vector<u64>{1});
    EXPECT_EQ(space_.room_with({}, log_share::fair), page_size);
    EXPECT_EQ(space_.room_with({}, log_share::all), page_size) << "the last page is lane 0's";
}

TEST_F(log_space_test, places_are_found_across_the_ends_of_segments) {
    region_options o;
    o.initial_size = u64{1} << 20;
    region_ = must(region::open(file, o));
    space_.attach(*region_, 0);
    must(space_.add(1));
    must(space_.add(1));
    const u64 first = 16 * page_size;
    const u64 second = 4 * page_size;
    EXPECT_EQ(space_.room_at({0, 64}), first - 64);
    EXPECT_EQ(space_.room_at({2, 0}), 0U);
    EXPECT_EQ(space_.place_for({0, 64}, first - 64).segment, 0U);
    EXPECT_EQ(space_.place_for({0, 64}, second).segment, 0U);
    EXPECT_EQ(space_.place_for({0, first - 64}, second).segment, 1U);
    EXPECT_EQ(space_.place_for({0, 64}, first).segment, 2U) << "nowhere in one piece";
    const log_place end = space_.after({0, 64}, first);
    EXPECT_EQ(end.segment, 1U);
    EXPECT_EQ(end.at, 64U);
    EXPECT_EQ(space_.after({0, 0}, first).at, first) << "the end of a segment is in it";
}

TEST_F(log_space_test, an_entry_may_take_all_that_is_kept) {
    region_options o;
    o.initial_size = page_size * 2;
    o.max_size = u64{64 * 256} * page_size;
    region_ = must(region::open(file, o));
    space_.attach(*region_, 0);
    const u64 kept = kept_from_heap(region_->max_pages());
    ASSERT_EQ(kept, 64U);
    must(space_.add(1));
    EXPECT_EQ(space_.room_with({}, log_share::all), kept * page_size);
    EXPECT_EQ(space_.room_with({}, log_share::fair), (kept / 2) * page_size);
    must(space_.add_until({}, kept * page_size, log_share::all));
    u64 sum = 0;
    for (const u64 p : pages()) sum += p;
    EXPECT_EQ(sum, kept);
    EXPECT_EQ(space_.add_until({}, kept * page_size + 1, log_share::all).error().code,
              errc::no_space);
}

}  // namespace
}  // namespace hf
