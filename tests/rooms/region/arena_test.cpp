// Windows in the address space.
#include "region/arena.hpp"

#include <holdfast/section_hooks.h>

#include <gtest/gtest.h>

#include <vector>

namespace hf {
namespace {

TEST(arena, windows_are_aligned_and_addresses_tell_their_window) {
    auto a = window::take();
    auto b = window::take();
    ASSERT_TRUE(a && b);
    EXPECT_EQ(reinterpret_cast<u64>(a->base()) % window_size, 0U);
    EXPECT_NE(a->base(), b->base());
    const std::byte* const last = a->base() + (window_size - 1);
    EXPECT_EQ(window_base(a->base()), a->base());
    EXPECT_EQ(window_base(last), a->base());
    EXPECT_TRUE(same_region(a->base(), last));
    EXPECT_FALSE(same_region(a->base(), b->base()));
    EXPECT_TRUE(is_persistent(a->base()));
    EXPECT_TRUE(is_persistent(last));
}

TEST(arena, other_memory_is_not_persistent) {
    auto w = window::take();
    ASSERT_TRUE(w);
    const int on_the_stack = 0;
    const auto on_the_heap = std::make_unique<int>(0);
    EXPECT_FALSE(is_persistent(&on_the_stack));
    EXPECT_FALSE(is_persistent(on_the_heap.get()));
    EXPECT_FALSE(is_persistent(nullptr));
    const u64 begin = detail::arena_begin.load();
    const u64 bytes = detail::arena_bytes.load();
    EXPECT_FALSE(is_persistent(reinterpret_cast<const void*>(begin - 1)));
    EXPECT_FALSE(is_persistent(reinterpret_cast<const void*>(begin + bytes)));
    EXPECT_TRUE(is_persistent(reinterpret_cast<const void*>(begin + bytes - 1)));
}

TEST(arena, when_all_windows_are_taken_one_more_is_an_error_until_one_comes_back) {
    std::vector<window> taken;
    for (;;) {
        auto w = window::take();
        if (!w) {
            EXPECT_EQ(w.error().code, errc::no_space);
            EXPECT_NE(w.error().to_string().find("windows are in use"), std::string::npos);
            break;
        }
        taken.push_back(std::move(*w));
        ASSERT_LE(taken.size(), wanted_windows);
    }
    EXPECT_EQ(taken.size(), window_count());
    taken.pop_back();
    EXPECT_TRUE(window::take());
}

TEST(arena, a_window_is_taken_at_its_address_unless_it_is_in_use) {
    std::byte* base = nullptr;
    {
        const auto w = window::take();
        ASSERT_TRUE(w);
        base = w->base();
        const auto taken = window::take_at(reinterpret_cast<u64>(base));
        ASSERT_FALSE(taken);
        EXPECT_EQ(taken.error().code, errc::busy);
    }
    const auto w = window::take_at(reinterpret_cast<u64>(base));
    ASSERT_TRUE(w);
    EXPECT_EQ(w->base(), base);
    const auto next = window::take_at(reinterpret_cast<u64>(base) + window_size);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->base(), base + window_size);
}

TEST(arena, an_address_at_which_no_window_starts_is_an_error_that_says_where_they_do) {
    ASSERT_TRUE(window::take());
    const u64 begin = detail::arena_begin.load();
    const u64 end = begin + window_count() * window_size;
    for (const u64 address : {u64{0}, begin - window_size, begin + 4096, begin + window_size - 1,
                              end, end + window_size, ~u64{0}}) {
        const auto w = window::take_at(address);
        ASSERT_FALSE(w) << address;
        EXPECT_EQ(w.error().code, errc::incompatible);
        EXPECT_NE(w.error().why.find("its regions lie in 0x"), std::string::npos);
    }
}

TEST(arena, a_window_is_taken_by_its_number) {
    const auto last = window::take_number(window_count() == 0 ? 3 : window_count() - 1);
    ASSERT_TRUE(last);
    EXPECT_EQ(window::take_number(wanted_windows).error().code, errc::incompatible);
    const auto first = window::take();
    ASSERT_TRUE(first);
    EXPECT_EQ(reinterpret_cast<u64>(first->base()), detail::arena_begin);
    EXPECT_EQ(window::take_number(0).error().code, errc::busy);
}

#if !defined(__SANITIZE_THREAD__)
TEST(arena, it_lies_at_its_fixed_place_in_an_ordinary_program) {
    ASSERT_TRUE(window::take());
    EXPECT_EQ(detail::arena_begin, arena_address);
    EXPECT_EQ(window_count(), wanted_windows);
    EXPECT_EQ(window::bytes(), window_size);
    EXPECT_EQ(hf_section_arena_number, 2U);
}
#endif

TEST(arena, a_returned_window_is_used_again) {
    std::byte* first = nullptr;
    {
        auto w = window::take();
        ASSERT_TRUE(w);
        first = w->base();
    }
    auto w = window::take();
    ASSERT_TRUE(w);
    EXPECT_EQ(w->base(), first);
}

}  // namespace
}  // namespace hf
