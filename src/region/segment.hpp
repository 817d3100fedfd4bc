// region/segment.hpp: a contiguous run of pages of a region, and what it is for.
#pragma once

#include "region/layout.hpp"

namespace hf {

enum class segment_kind : u8 {
    heap = 1,  ///< belongs to the allocator
    log = 2,   ///< belongs to the external log
};

struct segment {
    u64 offset = 0;  ///< of its first byte in the region
    u64 pages = 0;   ///< of layout::page_size
    segment_kind kind = segment_kind::heap;
    u16 owner = 0;  ///< means what the kind's room says
    [[nodiscard]] u64 bytes() const noexcept { return pages * layout::page_size; }
    friend bool operator==(const segment&, const segment&) = default;
};

}  // namespace hf
