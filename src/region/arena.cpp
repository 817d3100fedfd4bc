#include "region/arena.hpp"

#include <holdfast/section_hooks.h>

#include "base/check.hpp"
#include "base/lock_order.hpp"
#include "base/os_error.hpp"
#include "region/reservation.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

static_assert(hf::arena_address >> HF_SECTION_ARENA_SHIFT == HF_SECTION_ARENA_NUMBER);
extern "C" {
uintptr_t hf_section_arena_number = HF_SECTION_ARENA_NUMBER;
}

namespace hf {

constinit std::atomic<u64> detail::arena_begin{0};
constinit std::atomic<u64> detail::arena_bytes{0};

void detail::refuse_pointer(const void* at, const void* to) {
    HF_CHECK(is_persistent(to), "a pointer in a region to memory outside of all regions");
    HF_CHECK(is_persistent(at), "an offset_pointer outside of the region that it points into");
    HF_CHECK(same_region(at, to), "a pointer from one region into another");
    fatal("a pointer was refused that is right");
}

namespace {

constinit std::mutex arena_mutex;
constinit unsigned arena_windows = 0;
constinit u32 taken_windows = 0;  // a bit each

bool arena_ready() noexcept {
    if (arena_windows != 0) return true;
    const detail::reservation found = detail::reserve_arena();
    if (found.begin == nullptr) return false;
    const u64 begin = reinterpret_cast<u64>(found.begin);
    hf_section_arena_number = begin >> HF_SECTION_ARENA_SHIFT;
    arena_windows = found.windows;
    detail::arena_begin.store(begin, std::memory_order_relaxed);
    detail::arena_bytes.store(found.bytes, std::memory_order_release);
    return true;
}

tl::unexpected<error> no_arena() {
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    const bool is_limited = limit.rlim_cur != RLIM_INFINITY;
    return failure(
        os_error(errc::no_space, "reserve address space for regions", "",
                 is_limited ? "raise the limit on virtual memory (ulimit -v), which is " +
                                  std::to_string(limit.rlim_cur >> 20) + " MiB"
                            : "leave more of the address space free: a region needs " +
                                  std::to_string(2 * least_window >> 20) + " MiB of it at least"));
}

std::string hexadecimal(u64 address) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%" PRIx64, address);
    return text;
}

constexpr const char* finding = "find a window in the address space for a region";

}  // namespace

unsigned window_count() noexcept {
    const ranked_guard lock(lock_rank::arena, arena_mutex);
    return arena_windows;
}

u64 window::bytes() noexcept {
    const u64 arena = detail::arena_bytes.load(std::memory_order_acquire);
    return arena == 0 ? window_size : std::min(window_size, arena);
}

/// The arena is there, and its lock is held. nullopt: any.
result<window> window::take_free(std::optional<unsigned> number) {
    for (unsigned i = 0; i < arena_windows; ++i) {
        if ((taken_windows >> i & 1U) != 0 || (number && i != *number)) continue;
        taken_windows |= 1U << i;
        const u64 begin = detail::arena_begin.load(std::memory_order_relaxed);
        return window(reinterpret_cast<std::byte*>(begin + i * window_size));
    }
    if (number) {
        return failure({errc::busy, finding, "", "window " + std::to_string(*number) + " is in use",
                        "close the region that was opened there first"});
    }
    return failure({errc::no_space, finding, "",
                    "all " + std::to_string(arena_windows) + " windows are in use",
                    "close a region first"});
}

result<window> window::take() {
    const ranked_guard lock(lock_rank::arena, arena_mutex);
    if (!arena_ready()) return no_arena();
    return take_free(std::nullopt);
}

result<window> window::take_number(unsigned index) {
    const ranked_guard lock(lock_rank::arena, arena_mutex);
    if (!arena_ready()) return no_arena();
    if (index < arena_windows) return take_free(index);
    return failure({errc::incompatible, finding, "",
                    "there is no window " + std::to_string(index) + ": this process has " +
                        std::to_string(arena_windows),
                    "leave the window out, or choose a smaller number"});
}

result<window> window::take_at(u64 address) {
    const ranked_guard lock(lock_rank::arena, arena_mutex);
    if (!arena_ready()) return no_arena();
    const u64 begin = detail::arena_begin.load(std::memory_order_relaxed);
    const u64 distance = address - begin;
    const u64 end = begin + arena_windows * window_size;
    if (distance % window_size == 0 && address < end && address >= begin) {
        return take_free(static_cast<unsigned>(distance / window_size));
    }
    return failure({errc::incompatible, finding, "",
                    "no window of this process starts at " + hexadecimal(address) +
                        ": its regions lie in " + hexadecimal(begin) + " to " + hexadecimal(end),
                    "run it where these addresses are free (not under ThreadSanitizer)"});
}

window& window::operator=(window&& other) noexcept {
    std::swap(base_, other.base_);
    return *this;
}

window::~window() {
    if (base_ == nullptr) return;
    // Mapped over rather than unmapped, so that no other mapping can slip into the arena.
    void* p = ::mmap(base_, bytes(), PROT_NONE, detail::reservation_flags | MAP_FIXED, -1, 0);
    HF_CHECK(p != MAP_FAILED, "the kernel refuses to reserve a window again");
    const ranked_guard lock(lock_rank::arena, arena_mutex);
    const u64 begin = detail::arena_begin.load(std::memory_order_relaxed);
    taken_windows &= ~(1U << ((reinterpret_cast<u64>(base_) - begin) >> window_bits));
}

}  // namespace hf
