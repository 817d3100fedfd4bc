// paging/huge_memory.hpp: the part of a region that has huge pages (medium `file`).
//
// Purpose. A private mapping of a file has pages of 4 KiB, and a structure larger than the TLB
// covers (some MiB) pays a page-table walk for nearly each access. So the part of the region that
// was grown in this session is not mapped from its file, which contains zeros there anyway, but is
// anonymous memory, for which the kernel has pages of 2 MiB. Checkpoints are not affected.
//
// Invariants.
//  H1 The part is one range, [begin(), end()). It ends at the region's end, or where the region
//     ended when it outgrew its memory.
//  H2 Each byte of it is zero, as when it was mapped, or was stored by this process: the file
//     contains nothing that the range lacks.
// Giving back. Anonymous memory cannot be dropped and read again. When memory must be given back
// (private_pages.hpp), the range is mapped from the file instead, a step at a time from its
// beginning: pages that the base does not contain yet are copied into the new mapping, which then
// atomically replaces the old one, so that concurrent readers notice nothing. No thread may store
// meanwhile: the world is stopped, and no page of the step is pinned.
// A session that opens a region maps it from its file, so the part that existed before has small
// pages until it is closed.
// Concurrency. map_zeros() by the thread that grows the region, one at a time; step_to_file() at
// epoch boundaries. The two never run together: the range stops growing before memory is given
// back.
#pragma once

#include "base/bits.hpp"

#include <atomic>
#include <functional>
#include <optional>

namespace hf {

class huge_memory {
   public:
    static constexpr u64 huge_page_bytes = u64{2} << 20;

    /// `base`: the region, which is mapped from the file `fd`.
    huge_memory(std::byte* base, int fd) : base_(base), file_(fd) {}

    /// Maps zeros at [from, to), where the file contains zeros, too. False: refused, and nothing
    /// has changed. Offsets are multiples of 64 KiB.
    [[nodiscard]] bool map_zeros(u64 from, u64 to) noexcept;

    [[nodiscard]] u64 begin() const noexcept { return begin_.load(std::memory_order_acquire); }
    [[nodiscard]] u64 end() const noexcept { return end_.load(std::memory_order_acquire); }
    [[nodiscard]] bool empty() const noexcept { return begin() >= end(); }
    [[nodiscard]] bool contains(u64 offset) const noexcept {
        return begin() <= offset && offset < end();
    }
    /// The end of the next step, which begins at begin().
    [[nodiscard]] u64 step_end() const noexcept;

    /// Maps [begin(), step_end()) from the file. Pages whose number keep() accepts keep their
    /// contents; the others read as the file then. Returns the number of those others. nullopt: no
    /// address space, and nothing has changed.
    std::optional<u64> step_to_file(const std::function<bool(u64 page)>& keep);

   private:
    std::byte* base_;
    int file_;
    std::atomic<u64> begin_{0};  ///< offsets in the region
    std::atomic<u64> end_{0};
    u64 step_bytes_ = huge_page_bytes;
};

}  // namespace hf
