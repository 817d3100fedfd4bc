#include "region/huge_pages.hpp"

#include "base/clock.hpp"
#include "persist/detect.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace hf::detail {
namespace {

constexpr u64 huge_page = u64{2} << 20;
constexpr u64 small_page = 4096;
constexpr int collapse = 25;  // MADV_COLLAPSE, which older headers lack
constexpr u64 for_each_ns = 2'000'000;
constexpr u64 most_at_once = 32;  // huge pages; a request cannot be cancelled

/// A mapping of a part of a file, at a multiple of a huge page.
class aligned_view {
   public:
    aligned_view(const file_handle& file, u64 from, u64 bytes) noexcept
        : reserved_bytes_(bytes + huge_page),
          reserved_(::mmap(nullptr, reserved_bytes_, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
        if (reserved_ == MAP_FAILED) return;
        auto* const at = static_cast<std::byte*>(reserved_) +
                         (align_up(reinterpret_cast<u64>(reserved_), huge_page) -
                          reinterpret_cast<u64>(reserved_));
        void* const view = ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                                  file.get(), static_cast<off_t>(from));
        if (view != MAP_FAILED) view_ = at;
    }
    aligned_view(const aligned_view&) = delete;
    aligned_view& operator=(const aligned_view&) = delete;
    ~aligned_view() {
        if (reserved_ != MAP_FAILED) ::munmap(reserved_, reserved_bytes_);
    }
    /// nullptr: mapping failed.
    [[nodiscard]] std::byte* get() const noexcept { return view_; }

   private:
    u64 reserved_bytes_;
    void* reserved_;
    std::byte* view_ = nullptr;
};

}  // namespace

void ask_for_huge_pages(std::byte* at, u64 bytes, u64 at_first_ns) noexcept {
    u64 now = now_ns();
    u64 until = now + at_first_ns;
    u64 left = bytes / huge_page;
    for (u64 step = 1; left != 0 && now < until;) {
        const u64 asked = std::min(step, left);
        // No huge page is free at the moment; or the kernel lacks the call.
        if (::madvise(at, asked * huge_page, collapse) != 0 && errno == EINVAL) return;
        at += asked * huge_page;
        left -= asked;
        const u64 took = now_ns() - now;
        now += took;
        until += asked * for_each_ns;
        // Twice as many, if they are likely to arrive in time.
        step = now + 2 * took < until ? std::min(2 * step, most_at_once) : u64{1};
    }
}

void wish_for_huge_pages(const file_handle& file, u64 from, u64 to) {
    const u64 first = from / huge_page * huge_page;
    const u64 last = to / huge_page * huge_page;
    if (first >= last || file_system_name(file.get()) != "tmpfs") return;
    for (u64 at = first; at < last; at += huge_page) {
        const auto end = static_cast<off_t>(at + huge_page - small_page);
        if (::fallocate(file.get(), 0, end, small_page) != 0) return;
    }
    const aligned_view view(file, first, last - first);
    if (view.get() != nullptr) ask_for_huge_pages(view.get(), last - first);
}

}  // namespace hf::detail
