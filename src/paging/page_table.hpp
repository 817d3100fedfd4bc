// paging/page_table.hpp: finds the copied pages of a private file mapping, from /proc/self/pagemap.
#pragma once

#include "base/bits.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace hf {

inline constexpr u64 small_page = 4096;  ///< the unit that the kernel copies at a store
/// The region's header, which is never dropped and never checked.
inline constexpr u64 header_bytes = u64{64} << 10;

/// Page numbers relative to a base.
struct small_page_run {
    u64 first;
    u64 count;
};

class page_table {
   public:
    page_table() = default;
    page_table(const page_table&) = delete;
    page_table& operator=(const page_table&) = delete;
    ~page_table();

    /// False if the kernel does not provide it.
    [[nodiscard]] bool open() noexcept;
    [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
    [[nodiscard]] int get() const noexcept { return fd_; }

    /// Calls visit(page) for the copies among the pages [first, end) from `base` on. False: the
    /// kernel stopped providing the information, and some are missing.
    template <class Visit>
    [[nodiscard]] bool for_each_copy(const std::byte* base, u64 first, u64 end, Visit visit) const {
        std::array<u64, 8192> entries;
        while (first < end) {
            const u64 got = read(base, first, std::min<u64>(entries.size(), end - first), entries);
            if (got == 0) return false;
            for (u64 i = 0; i < got; ++i) {
                if (is_copy(entries[i])) visit(first + i);
            }
            first += got;
        }
        return true;
    }

    // Bits of an entry (Documentation/admin-guide/mm/pagemap.rst).
    static constexpr u64 present = u64{1} << 63;
    static constexpr u64 swapped = u64{1} << 62;
    static constexpr u64 of_file = u64{1} << 61;
    static constexpr u64 write_protected = u64{1} << 57;
    /// A kernel that has no descriptors for the pages of persistent memory does not set of_file for
    /// them: on DAX clean pages then count as copies. They are compared with the file
    /// (page_tracker.hpp) or dropped (private_pages.hpp) without need, which loses nothing.
    ///
    /// A page that was protected (written_pages.hpp) and dropped leaves a mark, which is shown as
    /// swapped. A page that was protected and then swapped out looks the same: it takes no memory,
    /// and was not stored to since.
    [[nodiscard]] static bool is_copy(u64 entry) noexcept {
        if ((entry & of_file) != 0) return false;
        return (entry & present) != 0 || (entry & (swapped | write_protected)) == swapped;
    }

   private:
    u64 read(const std::byte* base, u64 page, u64 count,
             std::array<u64, 8192>& entries) const noexcept;

    int fd_ = -1;
};

}  // namespace hf
