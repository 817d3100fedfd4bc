// swept_heap.hpp: the swept policy: memory whose owners are found by tracing after a crash.
//
// Purpose. Memory for indexes that are durable with every operation. Such an index publishes with
// one store, so it has no log that could record an allocation in progress.
// The heap records none either: free blocks are known to the process only. After a crash
// everything unreachable from the roots is free. So neither allocating nor freeing a block flushes
// or fences.
//
//   auto& c = a cache of the thread;        heap.allocate(c, bytes)     nothing flushed
//   ... fill, publish ...                   heap.free(c, offset)        after a grace period
//
//   after an open                           blocks of earlier sessions are `old`:
//     heap.shade(of, offset, kind)          called for each old block that is unlinked
//     heap.collect(structures, others)      traces; then unreachable blocks are free
//
// On the medium: swept/layout.hpp. A word a page tells where slabs and extents begin, and their
// class; 0 if nothing begins there.
//
// Invariants.
//  W1  A slab's or an extent's word is durable before any block of it is allocated; a freed run's
//      word is durably 0 before its pages are reused.
//  W2  A block is allocated, or in one list of free blocks, or after a slab's bump pointer; or it
//      is old, and its state is unknown before the sweep.
//  W3  Old memory is not reused before the sweep has ended, since the tracer reads old nodes
//      without taking part in any grace period.
//  W4  Every block that an old root reached at the open gets marked, unless its unlinking
//      operation ended before the tracer reached it; then it was shaded (the trace is a
//      snapshot of the state at the open; Yuasa's barrier).
//  W5  New extents may be freed while old memory is traced. Dead nodes that are traced because of
//      W4 may still refer to them; this is not corruption.
//
// Persist order.
//  S1  a run's word is durable before its memory is allocated (1 flush, 1 fence a slab);
//  S2  the words of runs freed by the sweep, or by free(), are durably 0 before their pages are
//      reused. On the medium `file` they become 0 within one epoch, like an operation's
//      stores: meanwhile no line is captured, and no page of theirs dropped.
//  S3  after a kill: the traced nodes are durable before anything is freed;
//  S4  after a kill: page words are durable, as they were found, before pages are taken by them. A
//      killed process may have left both only in the caches, and after the next power cut the freed
//      blocks would be referenced again. On the medium `file` no process leaves anything in caches.
//
// Concurrency. A cache belongs to one thread at a time. Full and empty caches exchange blocks with
// shared lists, with a spin lock a class; pages take the heap's mutex. shade() may be called by
// any thread at any time. collect(): one caller, concurrently with everything else.
//
// Recovery. open() reads a line of each segment and its page words. Until collect() has ended
// blocks are taken from new pages; when there are none left the region grows. After an interruption
// a sweep starts again: it has only changed words of runs that are unreachable.
//
// Bad input. A damaged word or header is errc::corrupt at the open. A trace that finds a reference
// to something that is not a block ends with errc::corrupt and frees nothing: a leak is better.
// Full region. When no page is free, and before the region grows, make_room() looks for memory that
// is free already (swept/reuse.cpp): the blocks in this thread's cache, and in those of idle
// threads, go to the shared lists; then slabs all of whose blocks are there become free pages. If
// the region cannot grow either, a larger free block serves: for a record up to a quarter larger,
// for a node of any size. After removals at random most slabs are partly used, and no page comes
// back. A block's class is that of its slab, so it is freed into the lists of its own class. If no
// such block is free, allocate() returns the region's error; nothing has changed.
//
//  W6  A slab becomes free pages only if all of its blocks are in the shared lists or after a bump
//      pointer there: then no thread owns one (W2). Not while old memory is traced: dead nodes may
//      refer to blocks of it (W4). The order is S2: a killed process left either a slab without
//      reachable blocks, which the next sweep frees, or free pages.
//
// Limits. Between two shortages empty slabs stay slabs. Free lists cost eight bytes of ordinary
// memory a free block.
//
// Literature. Bhandari et al., "Makalu", OOPSLA 2016; Cai et al., "Understanding and optimizing
// persistent memory allocation" (Ralloc), ISMM 2020; Yuasa, "Real-time garbage collection on
// general-purpose machines", JSS 1990.
#pragma once

#include "alloc/free_runs.hpp"
#include "alloc/swept/run.hpp"
#include "alloc/swept/tracing.hpp"
#include "sync/spin_lock.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace hf {

inline constexpr layout::room_format swept_format{"swept", 1};

class swept_heap {
   public:
    /// Free blocks of one thread.
    class cache {
       public:
        cache() = default;

       private:
        friend class swept_heap;
        struct of_class {
            std::vector<u64> free;
            u64 bump = 0;  ///< start of the never used rest of a slab
            u64 end = 0;
        };
        std::array<of_class, block_classes> classes_;
        bool is_for_node_ = false;  ///< the block that is being allocated is for a node
    };

    explicit swept_heap(region& r);
    ~swept_heap();
    swept_heap(const swept_heap&) = delete;
    swept_heap& operator=(const swept_heap&) = delete;

    /// Finds the region's heap segments; a region without one is an empty heap.
    [[nodiscard]] result<void> open();

    /// Allocates `bytes` bytes of undefined contents: within one line if they fit into one, else at
    /// a line's start. Up to 64 KiB in a block, larger sizes in whole pages.
    [[nodiscard]] result<u64> allocate(cache& c, u64 bytes);
    /// As allocate(), for a node of an index: may use the pages of keep_for_nodes(), and in a full
    /// region any larger block.
    [[nodiscard]] result<u64> allocate_node(cache& c, u64 bytes);
    /// Keeps a `share`-th of the region's maximal size free of records, for an index whose removals
    /// allocate nodes. Without it a region that is full of records could not be emptied again. Call
    /// it before operations begin.
    void keep_for_nodes(u64 share) noexcept { kept_share_ = share; }
    /// Frees a block that is unreachable, and that no reader still uses.
    void free(cache& c, u64 offset);
    /// As free(), for a target of an index's word. If it is not a block, the word was damaged, and
    /// nothing is freed.
    void free_if_block(cache& c, u64 offset);
    /// Moves the blocks of a cache that no thread is using to the shared lists.
    void give_up(cache& c);
    /// Sets what is called when no page is free, before the region grows: `gather` gives up the
    /// caches of idle threads. It may be called by any thread, within an operation.
    void when_short(std::function<void()> gather) { gather_ = std::move(gather); }
    /// Bytes of the block or extent that begins there; 0: none does.
    [[nodiscard]] u64 bytes_at(u64 offset) const noexcept {
        const swept::run* r = run_of(offset);
        if (r == nullptr) return 0;
        return r->is_extent() ? r->pages * page_size : r->block;
    }

    [[nodiscard]] region& store() const noexcept { return region_; }
    /// Approximate number of free bytes: pages, and blocks in the shared lists.
    [[nodiscard]] u64 free_bytes() const;

    // --- after an open ---
    /// True if there is old memory whose state is still unknown.
    [[nodiscard]] bool is_tracing() const noexcept {
        return tracing_.load(std::memory_order_acquire);
    }
    /// To be called by a thread that unlinks `offset`, or copies the only reference to it, before
    /// its operation ends.
    void shade(const traced& of, u64 offset, u32 kind) {
        if (is_tracing()) [[unlikely]] {
            shade_old(of, offset, kind);
        }
    }
    struct sweep_figures {
        u64 reached = 0;   ///< blocks and extents
        u64 freed = 0;     ///< blocks and extents
        u64 trace_ns = 0;  ///< time to trace everything reachable
        u64 free_ns = 0;   ///< then, time to find everything that is free
    };
    /// The operations that run concurrently with a sweep.
    struct operations {
        /// Returns when all operations that were running have ended.
        std::function<void()> wait_for_all;
        /// Calls the function as an operation, so that it is within one epoch.
        std::function<void(const std::function<void()>&)> run_as_one;
    };
    /// Traces all structures of the region, then frees what was not reached. `threads` trace.
    [[nodiscard]] result<sweep_figures> collect(std::span<traced* const> structures,
                                                const operations& others, unsigned threads = 1);

    // --- for audits: no other thread uses the heap ---
    /// visit(offset) for each block that can be allocated immediately.
    void each_free(std::span<const cache* const> caches,
                   const std::function<void(u64)>& visit) const;
    [[nodiscard]] const swept::run* run_of(u64 offset) const noexcept;
    /// Number of slabs and extents known to the process, including freed ones.
    [[nodiscard]] std::size_t runs() const noexcept { return runs_.size(); }

   private:
    friend class trace_work;
    friend class tracer;
    struct alignas(line_size) shared_list {
        spin_lock lock;
        std::vector<u64> free;
        /// Rests of slabs from ended threads.
        std::vector<std::pair<u64, u64>> rests;
    };
    /// Maximum number of blocks of a class in a cache, and the number exchanged at a time.
    static constexpr std::size_t most_kept = 256;
    static constexpr std::size_t exchanged = 128;

    [[nodiscard]] result<u64> refill(cache& c, u32 size_class);
    [[nodiscard]] static u64 take_cached(cache::of_class& mine, u32 size_class);
    [[nodiscard]] u64 take_larger(cache& c, u32 wanted);
    [[nodiscard]] bool take_from_lists(cache::of_class& mine, u32 size_class);
    [[nodiscard]] result<u64> take_extent(cache& c, u64 pages);
    /// Creates a run with its word, durable (S1); `may_grow`: if necessary the region grows.
    [[nodiscard]] result<swept::run*> make_run(const cache& c, const page_run& what, bool may_grow);
    [[nodiscard]] result<u64> take_pages(const cache& c, u64 pages, bool may_grow);
    /// Whether that many pages may be taken for records. The mutex is held.
    [[nodiscard]] bool keeps_enough(u64 pages) const;
    /// Finds memory that is free already (W6). True: blocks or pages may have become available.
    [[nodiscard]] bool make_room(cache& own);
    struct listed_blocks;
    void free_empty_slabs();
    void take_lists(u32 size_class, listed_blocks& into);
    void keep_partly_used(u32 size_class, listed_blocks& all, std::vector<swept::run*>& empty);
    void free_extent(swept::run& r);
    [[nodiscard]] bool free_later(const swept::run& r, u64 offset);
    /// True if an extent that began in this page was allocated since the open, and freed.
    [[nodiscard]] bool has_gone(u64 offset);
    void put_into_lists(u32 size_class, std::vector<u64>& blocks);

    /// True if S3 and S4 apply.
    [[nodiscard]] bool is_after_a_kill() const noexcept;
    [[nodiscard]] result<void> add_segment(const segment& s);
    [[nodiscard]] result<void> index(const heap_span& s);
    void write_header(const segment& s);
    swept::run& add_run(const heap_span& s, u64 page, const page_run& what, bool old);
    [[nodiscard]] swept::run* gone_like(u64 offset, const page_run& what);
    void remove_run(const swept::run& r);
    [[nodiscard]] const heap_span* span_of(u64 offset) const noexcept;

    void shade_old(const traced& of, u64 offset, u32 kind);
    void make_marks();
    [[nodiscard]] sweep_figures sweep(const operations& others);
    [[nodiscard]] std::vector<swept::run*> sort_out_old(sweep_figures& found);
    void clear_words(std::span<swept::run* const> of);

    region& region_;
    mutable std::mutex mutex_;  // guards pages, runs and segments
    std::vector<heap_span> segments_;
    free_runs pages_;
    /// By page of the region: the run that the page is part of, or null.
    std::unique_ptr<std::atomic<swept::run*>[], void (*)(void*)> by_page_;
    std::vector<std::unique_ptr<swept::run>> runs_;
    /// Freed runs by offset and kind. The next run with the same ones reuses the object, since
    /// another thread may still read it; so it never changes.
    std::map<std::pair<u64, u64>, swept::run*> gone_runs_;
    std::unique_ptr<shared_list[]> lists_;
    std::function<void()> gather_;
    // How much a search for empty slabs may read: see free_empty_slabs().
    std::atomic<u64> listed_{0};  ///< blocks moved to the shared lists in this session
    u64 listed_at_search_ = 0;
    u64 searched_ = 0;    ///< blocks that the last search read
    u64 kept_share_ = 0;  ///< 0: no pages are kept for nodes

    std::unique_ptr<std::atomic<u64>[]> marks_;
    std::atomic<bool> tracing_{false};
    std::mutex old_mutex_;            // guards the members below
    std::vector<trace_item> shaded_;  ///< to be traced
    u64 shaded_count_ = 0;            ///< including leaves
    std::vector<u64> waiting_;        ///< old blocks that were freed before the sweep
    /// First pages of new extents that were freed before the sweep: dead nodes that are not traced
    /// yet may refer to them.
    std::set<u64> gone_;
};

}  // namespace hf
