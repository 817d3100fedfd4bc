// alloc/audit.hpp: checks an allocator that may be damaged, and what others say that they own.
//
// Purpose. Reads the whole heap of a region without trusting a byte of it: segments, page runs,
// free
//  lists, bump pointers, counters. Then an owner (masstree/audit.hpp) claims every block that it
//  refers to, and finish() tells what belongs to nobody. Violations are collected, never repaired.
//
// Checks, by the numbers of heap.hpp and page_heap.hpp:
//  H1  a walk by lengths meets every run, runs have a known use and a possible length;
//  A1  each block is claimed once, or in one list, or behind one bump pointer; each extent is
//  claimed
//      once; the counters of blocks handed out equal the claims.
//
// Method. Two bits a block say where it was met. Everything is read through its logs (failed epochs
//  count as undone), so it works before, during and after recovery. No offset is followed before it
//  is known to be a block's; a list that meets a block twice ends there, so nothing runs in
//  circles.
//
// Concurrency. Nobody may be changing the heap. Writes nothing.
// Cost. One read of each page descriptor, of each list head and of each free block's header; memory
//  of a quarter of a byte a block and four bytes a page.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "alloc/heap_layout.hpp"
#include "checkpoint/failed_set.hpp"
#include "region/region.hpp"

namespace hf {

/// Something that must not be.
struct violation {
    u64 offset = 0;  ///< in the file
    std::string text;
};

/// What a heap holds.
struct heap_figures {
    struct of_class {
        u64 slabs = 0;
        u64 blocks = 0;      ///< in slabs
        u64 handed_out = 0;  ///< by the counters
        u64 claimed = 0;     ///< as found by the owner's walk
        u64 free = 0;        ///< in free lists
        u64 pending = 0;     ///< freed, not yet to be handed out
        u64 fresh = 0;       ///< behind bump pointers
        u64 leaked = 0;      ///< nobody's
    };
    std::array<of_class, block_classes> classes;
    u64 segments = 0;
    u64 pages = 0;         ///< of heap segments
    u64 system_pages = 0;  ///< headers, descriptors, lists
    u64 slab_pages = 0;
    u64 extents = 0;
    u64 extent_pages = 0;
    u64 extent_pages_handed_out = 0;  ///< by the counters
    u64 extents_claimed = 0;
    u64 free_runs = 0;
    u64 free_pages = 0;        ///< used before, free now
    u64 largest_free_run = 0;  ///< pages
    u64 untouched_pages = 0;   ///< never used

    [[nodiscard]] u64 handed_out_bytes() const noexcept;
    /// Bytes in slabs that no block handed out covers.
    [[nodiscard]] u64 idle_slab_bytes() const noexcept;
};

/// What a tree holds.
struct tree_figures {
    u64 layers = 0;
    u64 empty_layers = 0;  ///< below the first one; harmless
    u64 deepest_layer = 0;
    u64 tallest_layer = 0;  ///< nodes from root to leaf
    u64 interiors = 0;
    u64 leaves = 0;
    u64 empty_leaves = 0;  ///< other than layers' roots; harmless
    u64 records = 0;
    u64 large_records = 0;
    u64 key_bytes = 0;
    u64 value_bytes = 0;
    u64 recovered_leaves = 0;  ///< rolled back by this walk
};

class audit_report {
   public:
    /// How many violations are kept; the others are counted.
    static constexpr std::size_t most_kept = 1000;

    void add(u64 offset, std::string text);
    /// Part of what there is was not reached, so what belongs to nobody is a consequence.
    void mark_incomplete() noexcept { complete_ = false; }

    [[nodiscard]] const std::vector<violation>& violations() const noexcept { return kept_; }
    [[nodiscard]] u64 violation_count() const noexcept { return count_; }
    [[nodiscard]] bool ok() const noexcept { return count_ == 0; }
    [[nodiscard]] bool complete() const noexcept { return complete_; }
    /// The violations, a line each; for messages of tests.
    [[nodiscard]] std::string to_string() const;

    heap_figures heap;
    tree_figures tree;

   private:
    std::vector<violation> kept_;
    u64 count_ = 0;
    bool complete_ = true;
};

class heap_audit {
   public:
    heap_audit(const region& r, const failed_set& failed, u64 current_epoch, audit_report& report);

    /// Segments and page runs; before everything else.
    void read_runs();
    /// Free lists, bump pointers and counters.
    void read_lists();
    /// Only the counters: blocks handed out by class.
    void read_counters();

    /// A block or an extent, as a payload's owner sees it.
    struct place {
        u64 payload = 0;  ///< offset of the first byte of the payload
        u64 room = 0;     ///< bytes that the payload may have
        u32 run = 0;      ///< index of its run
        u32 block = 0;    ///< index in the slab; 0 for extents
        bool extent = false;
    };
    /// What starts at the payload's offset; nullopt: nothing does.
    [[nodiscard]] std::optional<place> locate(u64 payload_offset) const noexcept;
    /// Whether the offset lies where the walk over the runs did not get to.
    [[nodiscard]] bool is_unknown(u64 offset) const noexcept;
    /// Whether `payload` bytes would be given just such a place.
    [[nodiscard]] bool fits(const place& p, u64 payload) const noexcept;
    /// Says that the thing at `from` owns it; a violation where it is free or has an owner. False:
    /// it was claimed before, so its contents have been looked at.
    bool claim(const place& p, const char* what, u64 from);

    /// What belongs to nobody, and the counters.
    void finish();

   private:
    enum state : u8 { unseen = 0, in_list = 1, behind_bump = 2, claimed = 3 };
    static constexpr u32 no_run = ~u32{0};

    struct run {
        u64 offset;
        page_run what;
        u64 first_state;  ///< of its blocks, in states_
    };
    struct span {
        u64 offset;
        u64 pages;
        std::vector<u32> run_of_page;
    };

    template <class T>
    [[nodiscard]] const T& at(u64 offset) const noexcept {
        return *reinterpret_cast<const T*>(region_.base() + offset);
    }
    [[nodiscard]] const span* span_of(u64 offset) const noexcept;
    [[nodiscard]] state state_of(u64 index) const noexcept;
    void set_state(u64 index, state s) noexcept;
    [[nodiscard]] bool is_block_of(const place& p, u32 size_class) const noexcept;
    [[nodiscard]] std::optional<page_run> read_run(u64 descriptor, u64 page, u64 end);
    void read_segment(const segment& s, bool first);
    void add_run(span& s, u64 page, const page_run& what);
    void read_chain(u64 head, u32 size_class, u64 from, bool pending);
    void read_bump(u64 word, u32 size_class, u64 from);
    [[nodiscard]] u64 list_value(const class_lists& g, unsigned which) const noexcept;
    [[nodiscard]] const heap_root* root() const noexcept;
    void finish_slabs();
    void finish_counters();

    const region& region_;
    const failed_set& failed_;
    u64 current_;
    audit_report& report_;
    std::vector<span> spans_;
    std::vector<run> runs_;
    std::vector<u8> states_;
    u64 blocks_ = 0;  ///< in all slabs
    u64 root_offset_ = 0;
};

}  // namespace hf
