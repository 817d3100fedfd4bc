#include "region/huge_pages.hpp"

#include "persist/detect.hpp"

#include <fcntl.h>
#include <sys/mman.h>

namespace hf::detail {
namespace {

constexpr u64 huge_page = u64{2} << 20;
constexpr u64 small_page = 4096;
constexpr int collapse = 25;  // MADV_COLLAPSE, which older headers do not know

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
        if (view != MAP_FAILED) view_ = view;
    }
    aligned_view(const aligned_view&) = delete;
    aligned_view& operator=(const aligned_view&) = delete;
    ~aligned_view() {
        if (reserved_ != MAP_FAILED) ::munmap(reserved_, reserved_bytes_);
    }
    /// nullptr: refused.
    [[nodiscard]] void* get() const noexcept { return view_; }

   private:
    u64 reserved_bytes_;
    void* reserved_;
    void* view_ = nullptr;
};

}  // namespace

void map_huge_pages(std::byte* base, u64 from, u64 to) noexcept {
    const u64 first = from / huge_page * huge_page;
    const u64 last = to / huge_page * huge_page;
    if (first < last) (void)::madvise(base + first, last - first, collapse);
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
    if (view.get() != nullptr) (void)::madvise(view.get(), last - first, collapse);
}

}  // namespace hf::detail
