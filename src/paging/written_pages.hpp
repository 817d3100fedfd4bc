// paging/written_pages.hpp: which pages were stored to since somebody last asked, by the kernel.
//
// Purpose. userfaultfd in its asynchronous write-protecting mode marks a protected page as written
//  at its first store, without a signal and without a thread that would have to answer (Linux 6.7).
//  PAGEMAP_SCAN on /proc/self/pagemap names the marked pages and protects them anew, in one step.
//  No privilege is needed: UFFD_USER_MODE_ONLY.
// What counts. Private copies only. A page that is not there or comes from the page cache has what
//  the file has: it is neither named nor protected, and becomes a copy, which counts as written, at
//  its first store. So a region that was just mapped costs nothing, whatever its size. The mark of
//  a copy survives swapping; that of a page that was given back (MADV_DONTNEED) does not need to.
// Concurrency. take() by one thread at a time, and stores meanwhile are named now or by the next
//  call. All else by anybody.
// The interface is younger than the headers of many systems: written_pages.cpp declares it itself.
#pragma once

#include "paging/page_table.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace hf {

class written_pages {
   public:
    /// nullptr where the kernel has no such thing, or does not let us.
    [[nodiscard]] static std::unique_ptr<written_pages> start();
    written_pages(const written_pages&) = delete;
    written_pages& operator=(const written_pages&) = delete;
    ~written_pages();

    /// From here on stores to this memory, which must be a mapping, are seen.
    [[nodiscard]] bool watch(const std::byte* p, u64 bytes) noexcept;
    /// Appends the pages [first, end) from `base` on that were stored to since they were last
    /// taken. False: the kernel does not tell, and some may be lost.
    [[nodiscard]] bool take(const std::byte* base, u64 first, u64 end,
                            std::vector<small_page_run>& found);
    /// How many take() would find; at least `most` where there are more.
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
