// Windows in the address space.
#include "region/arena.hpp"

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
