// paging/huge_memory.hpp: the part of a region that has huge pages (medium `file`).
//
// Purpose. A private mapping of a file has pages of 4 KiB, and a structure larger than what the
//  processor knows of them (some MiB) pays a walk through the page table for nearly each access. So
//  a part of the region that was grown in this session is not mapped from its file, where zeros are
//  anyhow, but is anonymous memory, for which the kernel has pages of 2 MiB. Checkpoints do not
//  care.
//
// Invariants.
//  H1 The part is one range, [begin(), end()), and ends where the region does or did when it
//     outgrew its memory.
//  H2 Each byte of it is what it was when it was mapped, zero, or was stored by this process: there
//     is nothing in the file that it lacks.
// Giving back. Such memory cannot be dropped and read again. When memory is to be given back
//  (private_pages.hpp), the range is mapped from the file instead, a step at a time from its
//  beginning: pages that the base does not have yet are copied into the new mapping, which then
//  takes the place of the old one at once, so that whoever reads meanwhile notices nothing. Nobody
//  may store meanwhile: the world is stopped, and no page of the step is held.
// A session that opens a region finds it in its file, so what was there at that time has small
//  pages until it is closed.
// Concurrency. map_zeros() by who grows the region, one at a time; step_to_file() at
//  boundaries. The two do not meet: the range grows no more when memory is to be given back.
#pragma once

#include "base/bits.hpp"

#include <atomic>
#include <functional>
#include <optional>

namespace hf {

class huge_memory {
   public:
    static constexpr u64 huge_page_bytes = u64{2} << 20;

    /// For the region at `base`, which is mapped from the file `fd`.
    huge_memory(std::byte* base, int fd) : base_(base), file_(fd) {}

    /// Maps zeros at [from, to), which the file has there, too. False: refused, and nothing has
    /// changed. Offsets are multiples of 64 KiB.
    [[nodiscard]] bool map_zeros(u64 from, u64 to) noexcept;

    [[nodiscard]] u64 begin() const noexcept { return begin_.load(std::memory_order_acquire); }
    [[nodiscard]] u64 end() const noexcept { return end_.load(std::memory_order_acquire); }
    [[nodiscard]] bool empty() const noexcept { return begin() >= end(); }
    [[nodiscard]] bool contains(u64 offset) const noexcept {
        return begin() <= offset && offset < end();
    }
    /// Where the next step ends: it goes from begin() to here.
    [[nodiscard]] u64 step_end() const noexcept;

    /// Maps [begin(), step_end()) from the file. Pages for which `keep` returns true, given their
    /// numbers, keep what is in them; the others read as the file then. Returns how many those are.
    /// nullopt: the kernel has no address space for it, and nothing has changed.
    std::optional<u64> step_to_file(const std::function<bool(u64 page)>& keep);

   private:
    std::byte* base_;
    int file_;
    std::atomic<u64> begin_{0};  ///< offsets in the region
    std::atomic<u64> end_{0};
    u64 step_bytes_ = huge_page_bytes;
};

}  // namespace hf
