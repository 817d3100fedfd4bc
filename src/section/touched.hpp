// section/touched.hpp: the commonest store, by a thread that is inside, to one line that was touched
// since the last cut: it needs no announcement.
//
// Purpose. hf_section_store() asks this first, without a call: two thread-local words, one word of
// the group, and the line's tag.
//
// Why it is right. The tags belong to the open group. They are shown before a section can begin and
// hidden while the gate is closed, so a thread that is inside finds tags that live. A line whose tag
// says touched has a durable undo entry, or needs none (first_touch.hpp, U-a and U-d), and stays
// touched until the thread has left. All other cases take the slow path, which decides for itself.
#pragma once

#include "section/inside_runtime.hpp"
#include "section/threads.hpp"

#include <atomic>

namespace hf::section {

namespace detail {
[[gnu::tls_model("initial-exec")]] inline thread_local constinit thread_record* my_record = nullptr;

/// nullptr: no group is open, or its stores are not announced line by line. A child of fork() has
/// none.
inline constinit std::atomic<const std::atomic<u8>*> open_tags{nullptr};
/// The number of the open group's window: the address of its bytes without the offset.
inline constinit std::atomic<u64> open_window{0};
}  // namespace detail

inline constexpr u8 touched_tag = 2;

[[nodiscard]] inline bool needs_no_announcement(const void* p, std::size_t n) noexcept {
    const thread_record* const r = detail::my_record;
    const std::atomic<u8>* const tags = detail::open_tags.load(std::memory_order_acquire);
    if (r == nullptr || r->depth == 0 || tags == nullptr || is_inside_runtime()) return false;
    const u64 first = reinterpret_cast<u64>(p);
    if ((first & ~window_mask) != detail::open_window.load(std::memory_order_relaxed)) return false;
    if (first / line_size != (first + n - 1) / line_size) return false;
    return tags[(first & window_mask) / line_size].load(std::memory_order_acquire) == touched_tag;
}

/// While no thread is inside, and before one can enter.
inline void show_tags(const std::atomic<u8>* tags, const void* base) noexcept {
    detail::open_window.store(reinterpret_cast<u64>(base) & ~window_mask,
                              std::memory_order_relaxed);
    detail::open_tags.store(tags, std::memory_order_release);
}
inline void hide_tags() noexcept { detail::open_tags.store(nullptr, std::memory_order_release); }

}  // namespace hf::section
