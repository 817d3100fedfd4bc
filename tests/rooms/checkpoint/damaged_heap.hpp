// A heap of which a test damages one word after the other.
#pragma once

#include "owned_heap.hpp"

namespace hf::test {

inline constexpr u64 usable_of_eight = descriptor_pages(8);

class damaged_heap : public owned_heap {
   protected:
    /// A further segment of eight pages, as the growth leaves it.
    segment add_segment() { return must(up_.file().grow(segment_kind::heap, 8, 0)); }
    void lay_out(const segment& s, u64 frontier) {
        heap_segment& h = segment_at(s.offset);
        h.magic = heap_segment::magic_value;
        h.first_usable = descriptor_pages(s.pages);
        h.frontier.set(0, frontier);
    }
    void set_run(u64 page, const page_run& run) {
        std::atomic<u64>& word = segment_at().descriptors()[page].now;
        constexpr u64 field = (compact_cell::value_limit - 1) << 4;
        word.store((word.load() & ~field) | run.pack() << 4);
    }
    [[nodiscard]] u64 now() { return up_.epochs().current_epoch(); }
};

}  // namespace hf::test
