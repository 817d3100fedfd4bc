// section/touched.hpp: the commonest store needs no announcement: by a thread that is inside, to
// one line that was touched since the last cut.
//
// Purpose. hf_section_store() asks this first, without a call: two thread-local words, one word of
// the group, and the line's tag.
//
// Why it is right. The tags belong to the open group. They are shown before a section can begin
// and hidden while the gate is closed, so a thread that is inside finds tags that live. A line
// whose tag says touched has a durable undo entry, or needs none (first_touch.hpp, U-a and U-d),
// and stays touched until the thread has left. All other cases take the slow path, which decides
// for itself.
#pragma once

#include "section/inside_runtime.hpp"
#include "section/threads.hpp"

#include <atomic>

namespace hf::section {

namespace detail {
[[gnu::tls_model("initial-exec")]] inline thread_local constinit thread_record* my_record = nullptr;

/// The window of the open group whose stores are announced line by line: the address of its bytes
/// without the offset. A child of fork() has none.
inline constexpr u64 no_window = 1;
inline constinit std::atomic<u64> open_window{no_window};
/// Its tags, while the window is shown.
inline constinit std::atomic<const std::atomic<u8>*> open_tags{nullptr};
}  // namespace detail

inline constexpr u8 touched_tag = 2;

/// Whether [p, p + n) is not empty and lies in the window of the open group, whose stores are
/// announced line by line.
[[nodiscard]] inline bool have_tags(const void* p, std::size_t n) noexcept {
    const u64 first = reinterpret_cast<u64>(p);
    const u64 window = detail::open_window.load(std::memory_order_acquire);
    return n != 0 && n <= window_mask && (first & ~window_mask) == window &&
           ((first + n - 1) & ~window_mask) == window;
}
/// Whether [p, p + n) lies in one line of it.
[[nodiscard]] inline bool has_tag(const void* p, std::size_t n) noexcept {
    const u64 first = reinterpret_cast<u64>(p);
    return (first & ~window_mask) == detail::open_window.load(std::memory_order_acquire) &&
           first / line_size == (first + n - 1) / line_size;
}
/// Whether the line with p, which has a tag, was touched since the last cut.
[[nodiscard]] inline bool is_touched(const void* p) noexcept {
    const std::atomic<u8>* const tags = detail::open_tags.load(std::memory_order_relaxed);
    const u64 line = (reinterpret_cast<u64>(p) & window_mask) / line_size;
    return tags[line].load(std::memory_order_acquire) == touched_tag;
}

[[nodiscard]] inline bool needs_no_announcement(const void* p, std::size_t n) noexcept {
    const thread_record* const r = detail::my_record;
    if (r == nullptr || r->depth == 0 || is_inside_runtime()) return false;
    return has_tag(p, n) && is_touched(p);
}

/// While no thread is inside, and before one can enter.
inline void show_tags(const std::atomic<u8>* tags, const void* base) noexcept {
    detail::open_tags.store(tags, std::memory_order_relaxed);
    detail::open_window.store(reinterpret_cast<u64>(base) & ~window_mask,
                              std::memory_order_release);
}
inline void hide_tags() noexcept {
    detail::open_window.store(detail::no_window, std::memory_order_release);
}

}  // namespace hf::section
