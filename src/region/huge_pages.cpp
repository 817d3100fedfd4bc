#include "region/huge_pages.hpp"

#include "base/clock.hpp"
#include "persist/detect.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

namespace hf::detail {
namespace {

constexpr u64 huge_page = u64{2} << 20;
constexpr u64 small_page = 4096;
constexpr int collapse = 25;  // MADV_COLLAPSE, which older headers do not know

/// Asks for huge pages one after the other, as long as that is no work of its own.
class wish {
   public:
    /// False: it is to be the last one.
    [[nodiscard]] bool grant(void* at) noexcept {
        // There may be none at the moment; or no such call.
        if (::madvise(at, huge_page, collapse) != 0 && errno == EINVAL) return false;
        until_ += for_each_ns;
        return now_ns() < until_;
    }

   private:
    static constexpr u64 once_ns = 20'000'000;
    static constexpr u64 for_each_ns = 2'000'000;
    u64 until_ = now_ns() + once_ns;
};

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
    /// nullptr: refused.
    [[nodiscard]] std::byte* get() const noexcept { return view_; }

   private:
    u64 reserved_bytes_;
    void* reserved_;
    std::byte* view_ = nullptr;
};

}  // namespace

void wish_for_huge_pages(const file_handle& file, u64 from, u64 to) {
    const u64 first = from / huge_page * huge_page;
    const u64 last = to / huge_page * huge_page;
    if (first >= last || file_system_name(file.get()) != "tmpfs") return;
    const aligned_view view(file, first, last - first);
    if (view.get() == nullptr) return;
    wish all;
    for (u64 at = first; at < last; at += huge_page) {
        const auto end = static_cast<off_t>(at + huge_page - small_page);
        if (::fallocate(file.get(), 0, end, small_page) != 0) return;
        if (!all.grant(view.get() + (at - first))) return;
    }
}

}  // namespace hf::detail
