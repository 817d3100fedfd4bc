// alloc/audit.hpp: checks a heap that may be damaged, against the claims of its owners.
//
// Purpose. Reads the whole heap of a region without trusting a byte of it: segments, page runs,
// free blocks. Then an owner (e.g. masstree/audit.hpp) claims every block that it refers to, and
// finish() reports blocks without an owner. Violations are collected, never repaired.
//
//   audit_view (of a policy)                     heap_audit (for all policies)
//   which pages of a segment hold runs    ──>    walks them, keeps two bits a block
//   contents of a descriptor              ──>    possible at its position?
//   which blocks are free                 ──>    free twice? not a block?
//                        owners' claims   ──>    claimed twice? claimed but free?
//                                                neither free nor claimed?
//
// Checks.
//  H1  a walk by lengths reaches every run, runs have a known use and a possible length;
//  A1  each block is claimed once, or free once; each extent is claimed once; if a policy counts
//      allocated blocks, the counts equal the claims.
//
// Method. A view reads everything as recovery would leave it, so it works before, during and after
// recovery. An offset is validated as a block's before it is followed; a walk that reaches a block
// twice ends there, so cycles are harmless.
//
// Concurrency. No thread may change the heap. The audit writes nothing.
// Cost. The reads of the view; memory of a quarter of a byte a block and four bytes a page.
#pragma once

#include "alloc/geometry.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hf {

/// An invariant that does not hold.
struct violation {
    u64 offset = 0;  ///< in the file
    std::string text;
};

/// Free pages, one after the other.
struct free_run {
    u64 offset;  ///< in the file
    u64 pages;
};

/// Statistics of a heap.
struct heap_figures {
    struct of_class {
        u64 slabs = 0;
        u64 blocks = 0;      ///< in slabs
        u64 handed_out = 0;  ///< allocated, by the counters
        u64 claimed = 0;     ///< as found by the owner's walk
        u64 free = 0;        ///< in free lists
        u64 pending = 0;     ///< freed, not yet reusable
        u64 fresh = 0;       ///< never used: after bump pointers
        u64 leaked = 0;      ///< without an owner

        /// Unused blocks of its slabs, by the counters.
        [[nodiscard]] u64 idle() const noexcept { return blocks - std::min(blocks, handed_out); }
    };
    std::array<of_class, block_classes> classes;
    u64 segments = 0;
    u64 pages = 0;         ///< of heap segments
    u64 system_pages = 0;  ///< headers, descriptors, lists
    u64 slab_pages = 0;
    u64 extents = 0;
    u64 extent_pages = 0;
    u64 extent_pages_handed_out = 0;  ///< allocated, by the counters
    u64 extents_claimed = 0;
    u64 free_runs = 0;
    u64 free_pages = 0;                  ///< used before, free now
    u64 largest_free_run = 0;            ///< pages
    std::vector<free_run> free_runs_at;  ///< and the pages that were never used
    u64 untouched_pages = 0;             ///< never used
    /// Objects of the structure in the heap, by the counters; nullopt: they are not maintained.
    std::optional<u64> objects;

    [[nodiscard]] u64 handed_out_bytes() const noexcept;
    /// Bytes in slabs that are not in allocated blocks.
    [[nodiscard]] u64 idle_slab_bytes() const noexcept;
    /// Bytes of slabs and extents, of which idle_slab_bytes() is a part.
    [[nodiscard]] u64 taken_bytes() const noexcept {
        return (slab_pages + extent_pages) * page_size;
    }
    /// Bytes of pages that are usable for any purpose: used before, or never.
    [[nodiscard]] u64 spare_bytes() const noexcept {
        return (free_pages + untouched_pages) * page_size;
    }
};

/// Statistics of a tree.
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
    /// Maximum number of violations kept; further ones are counted.
    static constexpr std::size_t most_kept = 1000;

    void add(u64 offset, std::string text);
    /// Part of the heap was not reached, so missing owners are not reported.
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

class heap_audit;

/// State of a block in the audit.
enum class block_state : u8 { unseen = 0, free = 1, fresh = 2, claimed = 3 };

/// A policy's data as the audit reads it. None of it is trusted.
class audit_view {
   public:
    virtual ~audit_view() = default;

    /// The pages of a segment that can contain runs.
    struct bounds {
        u64 first;
        u64 end;
    };
    /// Checks a segment's header; `first`: it is the heap's first segment. nullopt: there is
    /// nothing to walk, or a violation gives the reason.
    [[nodiscard]] virtual std::optional<bounds> look_at(const segment& s, bool first,
                                                        audit_report& report) = 0;
    /// Offset of the descriptor of a page, for messages.
    [[nodiscard]] virtual u64 descriptor_of(const segment& s, u64 page) const = 0;
    [[nodiscard]] virtual page_run run_at(const segment& s, u64 page) const = 0;
    /// Further checks of the policy, for a run that is possible at its position, and counted.
    virtual void check_run(const segment& s, u64 page, const page_run& run,
                           audit_report& report) = 0;
    /// Space for an owner's root in the heap's own pages; there is at most one.
    struct own_room {
        u64 offset;
        u64 bytes;
    };
    [[nodiscard]] virtual std::optional<own_room> founding() const { return std::nullopt; }
    /// Reports free blocks to the audit.
    virtual void read_free(heap_audit& audit) = 0;
    /// Reports the numbers of allocated blocks, by class.
    virtual void read_counters(heap_audit& audit) = 0;
    /// True if unclaimed blocks are free: the policy does not record free blocks, and has no leaks.
    [[nodiscard]] virtual bool unclaimed_is_free() const { return false; }
    /// Called when everything has been claimed.
    virtual void finish(heap_audit& audit) = 0;
    /// The meaning of `free` or `fresh` for a message: "it is ...".
    [[nodiscard]] virtual const char* name_of(block_state s) const = 0;
};

class heap_audit {
   public:
    heap_audit(const region& r, audit_view& view, audit_report& report)
        : region_(r), view_(view), report_(report) {}

    /// Reads segments and page runs. Call it first.
    void read_runs();
    /// Reads free blocks and the counters.
    void read_free() { view_.read_free(*this); }
    /// Reads only the counters: allocated blocks by class.
    void read_counters() { view_.read_counters(*this); }

    /// A block or an extent, described by its payload.
    struct place {
        u64 payload = 0;  ///< offset of the first byte of the payload
        u64 room = 0;     ///< bytes that the payload may have
        u32 run = 0;      ///< index of its run
        u32 block = 0;    ///< index in the slab; 0 for extents
        u32 lead = 0;     ///< bytes of the block before the header: lead_in()
        bool extent = false;
    };
    /// The block whose payload is at the offset, after a header of `header` bytes; nullopt: none.
    [[nodiscard]] std::optional<place> locate(u64 payload_offset,
                                              u64 header = block_header_size) const noexcept;
    /// As locate(), but the payload may also begin later in a larger block (lead_in()).
    [[nodiscard]] std::optional<place> locate_payload(u64 offset) const noexcept;
    /// True if the walk over the runs did not reach the offset.
    [[nodiscard]] bool is_unknown(u64 offset) const noexcept;
    /// True if an allocation of `payload` bytes would get such a block.
    [[nodiscard]] bool fits(const place& p, u64 payload,
                            u64 header = block_header_size) const noexcept;
    /// Claims it for the object at `from`; a violation if it is free or has an owner. False:
    /// it was claimed before, so its contents have been checked.
    bool claim(const place& p, const char* what, u64 from);
    /// Called at each first claim.
    using claim_visitor = std::function<void(const place& p, const char* what, u64 from)>;
    void tell_claims(claim_visitor visit) { told_ = std::move(visit); }

    /// Reports blocks without an owner, and checks the counters.
    void finish();

    // --- for a policy's view ---
    [[nodiscard]] audit_report& report() noexcept { return report_; }
    [[nodiscard]] u32 class_of(const place& p) const noexcept {
        return runs_[p.run].what.size_class;
    }
    [[nodiscard]] block_state state_of(const place& p) const noexcept {
        return state_of(runs_[p.run].first_state + p.block);
    }
    [[nodiscard]] const char* name_of(block_state s) const;
    /// Larger blocks may be claimed for smaller payloads: may_stand_in().
    void let_larger_stand_in() noexcept { larger_stand_in_ = true; }
    /// The size classes of payloads, if not those of today's format.
    void set_classes(class_range c) noexcept { classes_ = c; }
    /// Marks a block that is neither free nor claimed yet.
    void set_free(const place& p, block_state s) noexcept {
        set_state(runs_[p.run].first_state + p.block, s);
    }
    /// visit(offset, run) for each slab.
    template <class Visit>
    void each_slab(Visit&& visit) const {
        for (const run& r : runs_) {
            if (r.what.use == page_use::slab) visit(r.offset, r.what);
        }
    }

   private:
    static constexpr u32 no_run = ~u32{0};

    struct run {
        u64 offset;
        page_run what;
        u64 first_state;  ///< index of its first block in states_
    };
    struct span {
        u64 offset;
        u64 pages;
        u64 first_page;  ///< first page that can contain runs
        std::vector<u32> run_of_page;
    };

    [[nodiscard]] const span* span_of(u64 offset) const noexcept;
    [[nodiscard]] block_state state_of(u64 index) const noexcept;
    void set_state(u64 index, block_state s) noexcept;
    [[nodiscard]] std::optional<page_run> read_run(const segment& s, u64 page, u64 end);
    void read_segment(const segment& s, bool first);
    void add_run(span& s, u64 page, const page_run& what);
    void finish_slabs();

    const region& region_;
    audit_view& view_;
    audit_report& report_;
    std::vector<span> spans_{span{}};  ///< by offset; the first one is an empty sentinel
    std::vector<run> runs_;
    std::vector<u8> states_;
    u64 blocks_ = 0;  ///< in all slabs
    bool larger_stand_in_ = false;
    class_range classes_ = class_range::fine;
    claim_visitor told_;
};

}  // namespace hf
