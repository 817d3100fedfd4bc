// paging/written_pages.hpp: finds the pages that were stored to since the last query, with the
// kernel's help.
//
// Purpose. userfaultfd in its asynchronous write-protect mode marks a protected page as written at
// its first store, without a signal and without a handler thread (Linux 6.7). PAGEMAP_SCAN on
// /proc/self/pagemap returns the marked pages and protects them again, in one step. No privilege is
// needed: UFFD_USER_MODE_ONLY.
// Coverage. Private copies only. A page that is not present, or comes from the page cache, equals
// the file: it is neither returned nor protected, and becomes a copy, which counts as written, at
// its first store. So a freshly mapped region costs nothing, whatever its size. The mark of a copy
// survives swapping; a dropped page (MADV_DONTNEED) needs none.
// Concurrency. take() by one thread at a time; concurrent stores are returned by this call or the
// next. The rest by any thread.
// The interface is newer than the headers of many systems, so written_pages.cpp declares it.
#pragma once

#include "paging/page_table.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace hf {

class written_pages {
   public:
    /// nullptr if the kernel does not support it, or denies it.
    [[nodiscard]] static std::unique_ptr<written_pages> start();
    written_pages(const written_pages&) = delete;
    written_pages& operator=(const written_pages&) = delete;
    ~written_pages();

    /// Starts watching stores to this memory, which must be a mapping.
    [[nodiscard]] bool watch(const std::byte* p, u64 bytes) noexcept;
    /// Appends the pages [first, end) from `base` on that were stored to since the last call.
    /// False: the kernel failed, and some pages may be missing.
    [[nodiscard]] bool take(const std::byte* base, u64 first, u64 end,
                            std::vector<small_page_run>& found);
    /// The number of pages that take() would return; counting stops at `most`.
    [[nodiscard]] std::optional<u64> count(const std::byte* base, u64 first, u64 end,
                                           u64 most) const;

   private:
    written_pages() = default;
    [[nodiscard]] bool begin() noexcept;
    [[nodiscard]] bool works();
    template <class Visit>
    [[nodiscard]] bool scan(const std::byte* base, u64 first, u64 end, u64 flags,
                            Visit visit) const;

    int uffd_ = -1;
    page_table page_table_;
};

}  // namespace hf
