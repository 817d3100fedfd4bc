// The arena where address space is scarce. A program of its own, since the arena is reserved once:
// the children must not inherit one.
#include "region/arena.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__) || defined(HF_SMALL_WINDOWS)
#define HF_NO_ADDRESS_LIMITS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HF_NO_ADDRESS_LIMITS 1
#endif
#endif

namespace hf {
namespace {

class arena_limits : public ::testing::Test {
   protected:
    void SetUp() override {
#ifdef HF_NO_ADDRESS_LIMITS
        GTEST_SKIP() << "a sanitizer needs more address space than this test leaves it";
#endif
    }
};

void limit_address_space(u64 bytes) {
    const rlimit limit{bytes, bytes};
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
}

TEST_F(arena_limits, with_less_address_space_there_are_fewer_windows) {
    EXPECT_EQ(test::in_child([] {
                  limit_address_space(6 * window_size);
                  EXPECT_TRUE(window::take());
                  EXPECT_EQ(window_count(), 4U);
                  return 0;
              }),
              0);
}

TEST_F(arena_limits, one_window_is_enough_for_a_region) {
    const test::scratch_directory dir;
    EXPECT_EQ(test::in_child([&dir] {
                  limit_address_space(2 * window_size + (u64{1} << 30));
                  const auto r = test::must_open(dir / "store.hf");
                  EXPECT_EQ(window_count(), 1U);
                  const auto second = test::must_fail(dir / "other.hf");
                  EXPECT_EQ(second.code, errc::no_space);
                  return 0;
              }),
              0);
}

TEST_F(arena_limits, without_any_it_is_an_error_that_names_the_limit) {
    EXPECT_EQ(test::in_child([] {
                  limit_address_space(u64{1} << 30);
                  const auto w = window::take();
                  EXPECT_FALSE(w);
                  EXPECT_EQ(w.error().code, errc::no_space);
                  EXPECT_NE(w.error().next.find("ulimit -v"), std::string::npos);
                  EXPECT_EQ(window_count(), 0U);
                  return 0;
              }),
              0);
}

}  // namespace
}  // namespace hf
