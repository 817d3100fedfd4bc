// The arena where address space is scarce. A program of its own, since the arena is reserved once:
// the children must not inherit one.
#include "region/arena.hpp"
#include "scratch.hpp"
#include "support/kernel.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cerrno>

namespace hf {
namespace {

using test::kernel::answer;
using test::kernel::answered;
using test::kernel::call;

class arena_limits : public ::testing::Test {};

/// No mapping of more than so many bytes is to be had.
answered limit_address_space(u64 bytes) {
    return answered([bytes](const call& c) -> answer {
        return {c.name == "mmap" && c.size > bytes ? ENOMEM : 0};
    });
}

TEST_F(arena_limits, with_less_address_space_there_are_fewer_windows) {
    EXPECT_EQ(test::in_child([] {
                  const auto limit = limit_address_space(6 * window_size);
                  EXPECT_TRUE(window::take());
                  EXPECT_EQ(window_count(), 4U);
                  return 0;
              }),
              0);
}

TEST_F(arena_limits, one_window_is_enough_for_a_region) {
    const test::scratch_directory dir;
    EXPECT_EQ(test::in_child([&dir] {
                  const auto limit = limit_address_space(2 * window_size);
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
                  const auto limit = limit_address_space(2 * window_size - 1);
                  const auto w = window::take();
                  EXPECT_FALSE(w);
                  EXPECT_EQ(w.error().code, errc::no_space);
                  EXPECT_NE(w.error().next.find("ulimit -v"), std::string::npos);
                  EXPECT_EQ(window_count(), 0U);
                  EXPECT_EQ(limit.count("munmap"), 0U) << "there is nothing to give back";
                  return 0;
              }),
              0);
}

// Of what was reserved to find aligned windows in, nothing is kept but the windows.
TEST_F(arena_limits, the_ends_of_what_was_reserved_are_given_back) {
    EXPECT_EQ(test::in_child([] {
                  const answered script([](const call&) -> answer { return {}; });
                  EXPECT_TRUE(window::take());
                  const u64 begin = detail::arena_begin.load();
                  const u64 end = begin + detail::arena_bytes.load();
                  EXPECT_EQ(end - begin, wanted_windows * window_size);
                  u64 reserved = 0;
                  u64 below = 0;
                  u64 above = 0;
                  for (const call& c : script.calls()) {
                      if (c.name == "mmap" && reserved == 0) reserved = c.size;
                      if (c.name != "munmap") continue;
                      if (c.offset + c.size == begin) below += c.size;
                      if (c.offset == end) above += c.size;
                  }
                  EXPECT_EQ(reserved, end - begin + window_size);
                  EXPECT_EQ(below + above, window_size);
                  return 0;
              }),
              0);
}

// A window that comes back is empty: what was mapped there is gone.
TEST_F(arena_limits, a_window_that_was_returned_has_no_memory) {
    EXPECT_EQ(test::in_child([] {
                  std::byte* base = nullptr;
                  {
                      auto w = window::take();
                      base = w->base();
                      void* const p = ::mmap(base, 4096, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
                      EXPECT_EQ(p, base);
                      *base = std::byte{1};
                  }
                  unsigned char resident = 0;
                  EXPECT_EQ(::mincore(base, 4096, &resident), 0) << "nobody else can map there";
                  EXPECT_EQ(resident & 1U, 0U);
                  return 0;
              }),
              0);
}

}  // namespace
}  // namespace hf
