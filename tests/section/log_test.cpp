// The undo log: what is counted, its bound, and stores that are not the group's.
#include "section/opened_group.hpp"

#include <cstring>
#include <thread>

namespace hf {
namespace {

using namespace std::chrono_literals;

class section_log : public test::on_tmpfs {
   protected:
    static constexpr u64 lines = 4000;

    /// `blocks` have as many lines; the maximal size leaves little room for logs.
    char* open(bool clock) const {
        auto o = test::by_hand(HF_STORES_ANNOUNCED);
        o.max_bytes = u64{16} << 20;
        o.by_hand = clock ? 0 : 1;
        o.period_us = 10'000'000;
        EXPECT_EQ(hf_group_open(file.c_str(), &o), 0) << hf_section_error();
        auto* const p = static_cast<char*>(hf_aligned(hf_region_open("r"), 64, lines * 64));
        EXPECT_NE(p, nullptr) << hf_section_error();
        EXPECT_EQ(hf_section_cut(), 0) << hf_section_error();
        return p;
    }
    void TearDown() override { static_cast<void>(hf_group_close()); }
    static hf_section_numbers numbers() {
        hf_section_numbers n{};
        hf_section_numbers_get(&n);
        return n;
    }
};

TEST_F(section_log, has_one_entry_for_a_line_in_an_epoch) {
    char* const p = open(false);
    const u64 before = numbers().lines;
    for (int i = 0; i < 10; ++i) test::store(p[i], 'a');
    EXPECT_EQ(numbers().lines, before + 1);
    static_cast<void>(hf_section_store(p + 60, 8));  // two lines, one of them touched
    hf_section_stored();
    EXPECT_EQ(numbers().lines, before + 2);
    ASSERT_EQ(hf_section_cut(), 0);
    test::store(p[0], 'b');
    EXPECT_EQ(numbers().lines, before + 3) << "a new epoch";
}

TEST_F(section_log, that_is_nearly_full_makes_the_clock_cut_before_its_time) {
    char* const p = open(true);
    const u64 cuts = numbers().cuts;
    for (u64 i = 0; i < 4 * lines; ++i) {
        test::store(p[i % lines * 64], 'a');
    }
    EXPECT_GT(numbers().cuts, cuts) << "the period is 10 s";
}

TEST_F(section_log, of_one_section_that_is_full_ends_the_process_with_a_message) {
    EXPECT_DEATH(
        {
            char* const p = open(false);
            hf_section_begin();
            static_cast<void>(hf_section_store(p, lines * 64));
        },
        "undo log of sections is full");
}

TEST_F(section_log, knows_which_stores_are_the_groups) {
    open(false);
    const u64 before = numbers().lines;
    region_options o;
    o.kind = discipline::transient;
    const auto other = region::create_volatile(u64{1} << 20, o);
    ASSERT_TRUE(other);
    ASSERT_TRUE(hf_is_persistent((*other)->base()));
    EXPECT_EQ(hf_section_store((*other)->base() + layout::page_size, 8), 0);
    EXPECT_EQ(numbers().lines, before);
}

TEST_F(section_log, refuses_a_store_to_memory_that_the_group_does_not_have) {
    EXPECT_DEATH(
        {
            char* const p = open(false);
            static_cast<void>(hf_section_store(p + (u64{1} << 30), 8));
        },
        "memory in the window of the group that it does not have");
}

}  // namespace
}  // namespace hf
