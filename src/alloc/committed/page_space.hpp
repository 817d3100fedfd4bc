// alloc/committed/page_space.hpp: the free pages of a committed heap, and the slabs of the others.
// Volatile; built from the medium's words one segment at a time, on demand.
//
// Concurrency. One mutex; but slab_of() takes none if the segment is indexed.
#pragma once

#include "alloc/committed/slab.hpp"
#include "alloc/free_runs.hpp"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace hf::committed {

class page_space {
   public:
    explicit page_space(region& r)
        : region_(r),
          segments_(std::make_unique<std::unique_ptr<pages_of_segment>[]>(layout::max_segments)) {}

    /// Finds the segments. errc::corrupt: one belongs to another kind of heap.
    [[nodiscard]] result<void> open();

    /// Takes `pages` contiguous free pages of the indexed segments; 0: there are none.
    [[nodiscard]] u64 take(u64 pages);
    void give_back(u64 offset, u64 pages);
    /// Indexes one more segment. False: all are.
    [[nodiscard]] result<bool> index_next();
    /// As take(), in a new segment.
    [[nodiscard]] result<u64> take_grown(u64 pages);

    /// Makes a slab of pages that were taken; volatile until a commit.
    [[nodiscard]] slab& add_slab(u64 offset, u32 size_class);
    /// A slab of an earlier session that has not been used since; nullptr: there is none.
    [[nodiscard]] slab* take_dormant(u32 size_class);
    /// The slab that contains the offset; nullptr: none does.
    [[nodiscard]] slab* slab_of(u64 offset);
    /// Frees its pages; the slab must be unused.
    void drop(slab& s);

    [[nodiscard]] bool is_in_segment(u64 offset) const noexcept {
        return segment_of(offset) != nullptr;
    }
    /// Marks an extent as being freed by a batch. False: not an extent, or being freed already.
    [[nodiscard]] bool release_extent(u64 offset, u64 pages);
    void keep_extent(u64 offset);
    void free_extent(u64 offset, u64 pages);
    /// Offset of the word of the page at `offset`.
    [[nodiscard]] u64 descriptor_at(u64 offset) const;

   private:
    struct pages_of_segment {
        heap_span span;
        std::atomic<bool> indexed{false};
        std::unique_ptr<std::atomic<slab*>[]> slab_of_page;
    };

    [[nodiscard]] pages_of_segment* segment_of(u64 offset) const noexcept;
    [[nodiscard]] pages_of_segment& add_segment(const segment& s);
    void write_header(const segment& s);
    void persist_words(const heap_span& s) const;
    [[nodiscard]] result<void> index(pages_of_segment& s);
    [[nodiscard]] bool make_indexed(pages_of_segment& s);
    slab& add_slab(pages_of_segment& s, u64 page, u32 size_class, slab::stage durable);
    [[nodiscard]] u64 take_locked(u64 pages);

    region& region_;
    std::unique_ptr<std::unique_ptr<pages_of_segment>[]> segments_;
    std::atomic<u64> segment_count_{0};
    mutable std::mutex mutex_;  // guards the members below, and changes of the segments
    u64 first_unindexed_ = 0;
    free_runs free_;
    std::map<u64, std::unique_ptr<slab>> slabs_;
    std::array<std::vector<slab*>, block_classes> dormant_;
    std::set<u64> released_extents_;
};

}  // namespace hf::committed
