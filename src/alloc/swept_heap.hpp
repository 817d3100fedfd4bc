// swept_heap.hpp: the swept policy: memory whose owners are found by tracing after a crash.
//
// Purpose. Memory for indexes that are durable with every operation. Such an index publishes with
// one store, so it has no log that could say what was being handed out when the machine stopped.
// The heap says nothing either: which blocks are free is known to the process alone. After a crash
// what no root reaches is free. So neither a block's allocation nor its release flushes or fences.
//
//   auto& c = a cache of the thread's;      heap.allocate(c, bytes)     nothing flushed
//   ... fill, publish ...                   heap.free(c, offset)        behind a grace period
//
//   after an opening                        what earlier openings handed out is `old`:
//     heap.shade(of, offset, kind)          said of each old block that is unlinked
//     heap.collect(structures, others)      traces; then what nothing reaches is free
//
// On the medium: swept/layout.hpp. A word a page says where slabs and extents begin, and of which
// class; 0 where nothing does.
//
// Invariants.
//  W1  A slab's or an extent's word is durable before any block of it is handed out; a freed run's
//      word is durably 0 before its pages are.
//  W2  A block is handed out, or in one list of free blocks, or behind a slab's bump pointer; or it
//      is old, and nobody knows before the sweep.
//  W3  Old memory is not reused before the sweep has ended: whoever traces reads old nodes without
//      taking part in any grace period.
//  W4  What an old root reached when the region was opened gets marked, unless its unlinking
//      operation had ended before the trace came by, and then it was shaded (the trace is a
//      snapshot of the opening; Yuasa's barrier).
//  W5  New extents may be freed while old memory is traced. Dead nodes that are traced for W4's
//      sake may still refer to them: that is no damage.
//
// Persist order.
//  S1  a run's word is durable before its memory is handed out (1 flush, 1 fence a slab);
//  S2  the words of runs that the sweep, or free(), gives back are durably 0 before their pages are
//      handed out again. On the medium `file` they become 0 within one epoch, as an operation's
//      stores do: neither is a line captured meanwhile, nor its page given back.
//  S3  behind a kill: the nodes that were traced are durable before anything is freed;
//  S4  and so are page words, as they were found, before pages are taken by them. A process that
//      was killed may have left either in the caches alone, and what was freed would come back with
//      the next power cut, as another's. On the medium `file` no process leaves anything there.
//
// Concurrency. A cache belongs to one thread at a time. Full and empty caches exchange blocks with
// lists that all share, a spin lock a class; pages take the heap's mutex. shade() may be called by
// anybody at any time. collect(): one caller, beside everybody else.
//
// Recovery. open() reads a line of each segment and its page words. Until collect() has ended
// blocks come from fresh pages; when there are none left the region grows. Cut short, a sweep
// begins anew: all that it has changed are words of runs that nothing reaches.
//
// Bad input. A damaged word or header is errc::corrupt at opening. A trace that meets a reference
// to no block of the heap ends with errc::corrupt and frees nothing: a leak is better.
// Full region. allocate() returns the error of a region that can't grow; nothing has changed.
//
// Limits. Slabs that run empty stay slabs until a sweep finds them. Free lists cost eight bytes of
// ordinary memory a free block.
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
            u64 bump = 0;  ///< the rest of a slab that was never used
            u64 end = 0;
        };
        std::array<of_class, block_classes> classes_;
    };

    explicit swept_heap(region& r);
    ~swept_heap();
    swept_heap(const swept_heap&) = delete;
    swept_heap& operator=(const swept_heap&) = delete;

    /// Takes the region's heap segments; a region without one is an empty heap.
    [[nodiscard]] result<void> open();

    /// `bytes` of memory with any contents: within one line where they fit into one, at a line's
    /// start where they don't. Up to 64 KiB in a block, beyond in whole pages.
    [[nodiscard]] result<u64> allocate(cache& c, u64 bytes);
    /// Nobody reaches it any more, and no reader is left who did.
    void free(cache& c, u64 offset);
    /// The same of what a word of an index has led to. No block: the word was damaged, and there is
    /// nothing to free.
    void free_if_block(cache& c, u64 offset);
    /// What a thread has left goes to the others.
    void give_up(cache& c);

    [[nodiscard]] region& store() const noexcept { return region_; }
    /// About so many bytes are known to be free: pages, and blocks in the lists that all share.
    [[nodiscard]] u64 free_bytes() const;

    // --- after an opening ---
    /// Whether there is old memory of which nobody knows whether it is free.
    [[nodiscard]] bool is_tracing() const noexcept {
        return tracing_.load(std::memory_order_acquire);
    }
    /// By who unlinks `offset`, or copies the only reference to it, before its operation ends.
    void shade(const traced& of, u64 offset, u32 kind) {
        if (is_tracing()) [[unlikely]] {
            shade_old(of, offset, kind);
        }
    }
    struct sweep_figures {
        u64 reached = 0;   ///< blocks and extents
        u64 freed = 0;     ///< blocks and extents
        u64 trace_ns = 0;  ///< until all was reached
        u64 free_ns = 0;   ///< then, until all that is free was known
    };
    /// The operations that run beside a sweep.
    struct operations {
        /// Returns when all that were running have ended.
        std::function<void()> wait_for_all;
        /// Calls it as one of them: an epoch ends before it, or behind it.
        std::function<void(const std::function<void()>&)> run_as_one;
    };
    /// Traces all structures of the region, then frees what was not reached. `threads` trace.
    [[nodiscard]] result<sweep_figures> collect(std::span<traced* const> structures,
                                                const operations& others, unsigned threads = 1);

    // --- for audits: nobody else is at work ---
    /// visit(offset) for each block that may be handed out at once.
    void each_free(std::span<const cache* const> caches,
                   const std::function<void(u64)>& visit) const;
    [[nodiscard]] const swept::run* run_of(u64 offset) const noexcept;
    /// Slabs and extents of which the process knows, those included that are gone.
    [[nodiscard]] std::size_t runs() const noexcept { return runs_.size(); }

   private:
    friend class trace_work;
    friend class tracer;
    struct alignas(line_size) shared_list {
        spin_lock lock;
        std::vector<u64> free;
        /// Rests of slabs that threads have left.
        std::vector<std::pair<u64, u64>> rests;
    };
    /// What a cache has of a class at most, and what it exchanges at a time.
    static constexpr std::size_t most_kept = 256;
    static constexpr std::size_t exchanged = 128;

    [[nodiscard]] result<u64> refill(cache::of_class& mine, u32 size_class);
    [[nodiscard]] result<u64> take_extent(u64 pages);
    /// A run with its word, durable (S1).
    [[nodiscard]] result<swept::run*> make_run(const page_run& what);
    [[nodiscard]] result<u64> take_pages(u64 pages);
    void free_extent(swept::run& r);
    [[nodiscard]] bool free_later(const swept::run& r, u64 offset);
    /// Whether an extent that began in this page was there since the opening, and was freed.
    [[nodiscard]] bool has_gone(u64 offset);
    void put_into_lists(u32 size_class, std::vector<u64>& blocks);

    /// Then S3 asks for more.
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
    mutable std::mutex mutex_;  // pages, runs and segments
    std::vector<heap_span> segments_;
    free_runs pages_;
    /// By page of the region: what lies there, if the page is a part of a run.
    std::unique_ptr<std::atomic<swept::run*>[], void (*)(void*)> by_page_;
    std::vector<std::unique_ptr<swept::run>> runs_;
    /// By place and pages: the next one like it is the same object, which somebody may be looking
    /// at, so it does not change.
    std::map<std::pair<u64, u64>, swept::run*> gone_extents_;
    std::unique_ptr<shared_list[]> lists_;

    std::unique_ptr<std::atomic<u64>[]> marks_;
    std::atomic<bool> tracing_{false};
    std::mutex old_mutex_;            // what follows
    std::vector<trace_item> shaded_;  ///< to be traced
    u64 shaded_count_ = 0;            ///< leaves, too
    std::vector<u64> waiting_;        ///< old blocks that were freed before the sweep
    /// First pages of new extents that were freed before the sweep: what is dead and not traced yet
    /// may refer to them.
    std::set<u64> gone_;
};

}  // namespace hf
