// The arena where address space is scarce. A program of its own, since the arena is reserved once:
// the children must not inherit one.
#include <holdfast/section_hooks.h>

#include "region/arena.hpp"
#include "support/effort.hpp"
#include "support/kernel.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace hf {
namespace {

using test::kernel::answer;
using test::kernel::answered;
using test::kernel::call;

class arena_limits : public ::testing::Test {};

/// No mapping of more than `bytes` bytes can be made.
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
                  const auto limit = limit_address_space(2 * window_size - 1);
                  const auto r = test::must_open(dir / "store.hf");
                  EXPECT_EQ(window_count(), 1U);
                  EXPECT_EQ(window::bytes(), window_size);
                  const auto second = test::must_fail(dir / "other.hf");
                  EXPECT_EQ(second.code, errc::no_space);
                  return 0;
              }),
              0);
}

TEST_F(arena_limits, where_no_window_fits_there_is_one_short_window) {
    const test::scratch_directory dir;
    for (const u64 most : {window_size - 1, u64{1} << 35, 2 * least_window}) {
        EXPECT_EQ(test::in_child([&] {
                      const auto limit = limit_address_space(most);
                      auto r = test::must_open(dir / std::to_string(most));
                      EXPECT_EQ(window_count(), 1U);
                      EXPECT_LE(window::bytes(), most / 2) << "the program needs some, too";
                      EXPECT_GT(window::bytes(), most / 5);
                      EXPECT_EQ(reinterpret_cast<u64>(r->base()) % window_size, 0U);
                      EXPECT_EQ(r->max_pages(), window::bytes() / layout::page_size);
                      const std::byte* const end = r->base() + window::bytes();
                      EXPECT_TRUE(is_persistent(end - 1));
                      EXPECT_FALSE(is_persistent(end));
                      const int on_the_stack = 0;
                      EXPECT_FALSE(same_region(r->base(), &on_the_stack));
                      r->back_rest_of_window();
                      EXPECT_EQ(*(end - 1), std::byte{0});
                      return testing::Test::HasFailure() ? 1 : 0;
                  }),
                  0);
    }
}

TEST_F(arena_limits, a_region_larger_than_the_short_window_is_refused_with_the_reason) {
    const test::scratch_directory dir;
    region_options large;
    large.initial_size = u64{64} << 20;
    EXPECT_EQ(
        test::in_child([&] { return test::must_open(dir / "large.hf", large) == nullptr ? 1 : 0; }),
        0);
    for (const open_mode mode : {open_mode::open_existing, open_mode::inspect}) {
        EXPECT_EQ(test::in_child([&] {
                      const auto limit = limit_address_space(2 * least_window);
                      large.mode = mode;
                      const error e = test::must_fail(dir / "large.hf", large);
                      EXPECT_EQ(e.code, errc::no_space);
                      EXPECT_NE(e.why.find("this process could reserve"), std::string::npos);
                      return testing::Test::HasFailure() ? 1 : 0;
                  }),
                  0);
    }
}

TEST_F(arena_limits, the_arena_lies_elsewhere_where_its_place_is_taken) {
    EXPECT_EQ(test::in_child([] {
                  void* const in_the_way = ::mmap(reinterpret_cast<void*>(arena_address), 4096,
                                                  PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                  EXPECT_EQ(reinterpret_cast<u64>(in_the_way), arena_address);
                  const auto refused = window::take_at(arena_address);
                  EXPECT_FALSE(refused);
                  EXPECT_EQ(refused.error().code, errc::incompatible);
                  const auto w = window::take();
                  EXPECT_TRUE(w);
                  EXPECT_EQ(window_count(), wanted_windows);
                  EXPECT_EQ(hf_section_arena_number, reinterpret_cast<u64>(w->base()) >> 44);
                  EXPECT_EQ(detail::arena_begin % (u64{1} << 44), 0U) << "it has two numbers";
                  return testing::Test::HasFailure() ? 1 : 0;
              }),
              0);
}

TEST_F(arena_limits, without_any_it_is_an_error_that_names_the_limit) {
    if (test::is_sanitized) GTEST_SKIP() << "a sanitizer needs address space of its own";
    EXPECT_EQ(test::in_child([] {
                  const rlimit some{u64{8} << 30, u64{8} << 30};
                  EXPECT_EQ(::setrlimit(RLIMIT_AS, &some), 0);
                  const auto limit = limit_address_space(2 * least_window - 1);
                  const auto w = window::take();
                  EXPECT_FALSE(w);
                  EXPECT_EQ(w.error().code, errc::no_space);
                  EXPECT_NE(w.error().next.find("(ulimit -v), which is 8192 MiB"),
                            std::string::npos);
                  EXPECT_EQ(window_count(), 0U);
                  EXPECT_EQ(limit.count("munmap"), 0U) << "there is nothing to give back";
                  return 0;
              }),
              0);
}

// Of what was reserved to find aligned windows in, nothing is kept but the windows.
TEST_F(arena_limits, the_ends_of_what_was_reserved_are_given_back) {
    EXPECT_EQ(test::in_child([] {
                  const answered script([](const call& c) -> answer {
                      return {c.name == "mmap" && c.offset == arena_address ? EEXIST : 0};
                  });
                  EXPECT_TRUE(window::take());
                  const u64 begin = detail::arena_begin.load();
                  const u64 end = begin + detail::arena_bytes.load();
                  EXPECT_EQ(end - begin, wanted_windows * window_size);
                  u64 reserved = 0;
                  u64 below = 0;
                  u64 above = 0;
                  for (const call& c : script.calls()) {
                      if (c.name == "mmap") reserved = std::max(reserved, c.size);
                      if (c.name != "munmap") continue;
                      if (c.offset + c.size == begin) below += c.size;
                      if (c.offset == end) above += c.size;
                  }
                  EXPECT_GT(reserved, end - begin);
                  EXPECT_EQ(below + above, reserved - (end - begin));
                  return 0;
              }),
              0);
}

// A window that comes back is empty: its mappings were removed.
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
