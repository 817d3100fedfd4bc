// checkpoint/heap/slab_sweep.hpp: frees empty slabs, and gives all threads what some have freed.
//
// Purpose. A slab belongs to its size class as long as a block of it is allocated. When all of
// its blocks are free its pages may serve another class, or an extent. A slab's free blocks are not
// counted while there is room. Only when the region is full, one sweep over the free lists finds
// empty slabs, takes their blocks off the lists and frees their pages. The blocks that remain go to
// the shared set: they may be in the list of a thread that frees and never allocates.
//
// Invariants.
//  W1  Only allocatable blocks count as free: those of the lists `free`, of a `pending`
//      list that was last changed in an earlier epoch (list_heap.hpp, A2), and after a bump
//      pointer. So no operation, and no rollback to the start of an epoch that may still fail,
//      finds a block in use there.
//  W2  A slab is freed as a whole, its descriptor and its blocks' list entries in one epoch E. All
//      of this is in logged groups and compact cells: a crash in E restores the slab, and with it
//      the lists, which are linked through headers inside of the slab. So
//  W3  the pages are not reused before E has ended (page_heap.hpp, H2).
//  W4  A chain is moved to the shared set by its last block's header and two list heads, a
//      compact_cell and two logged groups: a crash in E undoes all three.
//
// Persist order: none beyond the in-line order of the building blocks; the boundary flushes the
// rest (L1).
//
// Concurrency. The world is stopped. Not during the background pass, which writes into the slabs
// that existed when it began: then nothing is freed.
//
// Bad input. A list with an invalid entry, or a cycle, ends the sweep before any
// change.
//
// Cost. Reads each free block's header, twice where blocks are moved; how often, is bounded by
// alloc/search_budget.hpp.
#pragma once

#include "alloc/search_budget.hpp"
#include "checkpoint/heap/list_heap.hpp"

namespace hf {

template <class Logs>
class slab_sweep {
   public:
    slab_sweep(list_heap<Logs>& heap, stopped_world inside) : heap_(heap), inside_(inside) {}

    /// Without ordinary memory the process ends, as in a crash: the gate is closed.
    void run() noexcept(!crashes_throw) {
        if (!find_slabs()) return;
        if (!each_group([this](class_lists& g, u32 c, u32) { return count(g, c); })) return;
        mark_classes();
        each_group([this](class_lists& g, u32 c, u32 set) {
            if (runs_empty_[c] || set != 0) unlink(g, c, set);
            return true;
        });
        for (const slab& s : slabs_) {
            if (is_empty(s)) {
                heap_.pages_.release(inside_.my_lane(), inside_.failed(), s.offset,
                                     slab_pages(s.size_class));
            }
        }
    }
    /// Number of blocks read.
    [[nodiscard]] u64 looked_at() const noexcept { return looked_at_; }
    /// True if free blocks were moved to the shared set.
    [[nodiscard]] bool has_gathered() const noexcept { return gathered_; }

   private:
    struct slab {
        u64 offset;
        u32 size_class;
        u32 free;         ///< blocks
        u64 first_block;  ///< in met_
    };

    /// False: a descriptor is damaged.
    [[nodiscard]] bool find_slabs() {
        slab_of_page_.resize(heap_.checkpoint_.file().size() / page_size, no_slab);
        u64 blocks = 0;
        try {
            heap_.pages_.walk([&](u64 offset, const page_run& run) {
                if (run.use == page_use::slab) blocks += add_slab(offset, run, blocks);
                return true;
            });
        } catch (const damage&) {
            return false;
        }
        met_.resize(blocks);
        return true;
    }
    /// Returns the number of its blocks; `first_block`: their first index in met_.
    u64 add_slab(u64 offset, const page_run& run, u64 first_block) {
        const u64 first = offset / page_size;
        for (u64 page = first; page < first + run.pages; ++page) {
            slab_of_page_[page] = static_cast<u32>(slabs_.size());
        }
        slabs_.push_back({offset, run.size_class, 0, first_block});
        return slab_blocks(run.size_class);
    }

    /// visit(lists, class, set) for each group; stops and returns false if visit() does.
    template <class Visit>
    bool each_group(Visit&& visit) {
        for (u32 set = 0; set < heap_.set_count(); ++set) {
            for (u32 c = 0; c < classes_in(heap_.classes()); ++c) {
                if (!visit(heap_.lists(set, c), c, set)) return false;
            }
        }
        return true;
    }

    [[nodiscard]] static bool is_empty(const slab& s) noexcept {
        return s.free == slab_blocks(s.size_class);
    }
    /// True if pending blocks are allocatable (W1).
    [[nodiscard]] bool is_settled(const class_lists& g) const noexcept {
        return g.lists.epoch.load(std::memory_order_relaxed) != inside_.epoch();
    }
    [[nodiscard]] u64 next(u64 block) const noexcept {
        return heap_.next_block(block, inside_.failed(), inside_.epoch());
    }
    [[nodiscard]] static u64 bump_offset(u64 word) noexcept { return word & ((u64{1} << 48) - 1); }

    /// The slab that contains the block of the class; nullptr: none, so something is damaged.
    [[nodiscard]] slab* slab_of(u64 block, u32 size_class) noexcept {
        const u64 page = block / page_size;
        if (page >= slab_of_page_.size() || slab_of_page_[page] == no_slab) return nullptr;
        slab& s = slabs_[slab_of_page_[page]];
        return s.size_class == size_class ? &s : nullptr;
    }
    [[nodiscard]] bool goes(u64 block, u32 size_class) noexcept {
        return is_empty(*slab_of(block, size_class));
    }

    /// False: not a block of the class, or it was visited before.
    [[nodiscard]] bool add(u64 block, u32 size_class) {
        slab* const s = slab_of(block, size_class);
        if (s == nullptr) return false;
        const u64 number = (block - s->offset) / block_size(size_class);
        if ((block - s->offset) % block_size(size_class) != 0 ||
            number >= slab_blocks(size_class) || met_[s->first_block + number]) {
            return false;
        }
        met_[s->first_block + number] = true;
        ++s->free;
        ++looked_at_;
        return true;
    }
    [[nodiscard]] bool count(class_lists& g, u32 size_class) {
        const auto chain = [&](u64 block) {
            for (; block != 0; block = next(block)) {
                if (!add(block, size_class)) return false;
            }
            return true;
        };
        if (!chain(g.lists.get(class_lists::free))) return false;
        if (is_settled(g) && !chain(g.lists.get(class_lists::pending))) return false;
        const u64 bump = g.lists.get(class_lists::bump);
        for (u64 i = 0; i < bump >> 48; ++i) {
            if (!add(bump_offset(bump) + i * block_size(size_class), size_class)) return false;
        }
        return true;
    }

    void mark_classes() {
        for (const slab& s : slabs_) {
            if (is_empty(s)) runs_empty_[s.size_class] = true;
        }
    }

    void unlink(class_lists& g, u32 size_class, u32 set) {
        // After a change of a group its stamp is this epoch's.
        const bool settled = is_settled(g);
        kept free = thin(g, class_lists::free, size_class);
        kept pending{};
        if (settled) pending = thin(g, class_lists::pending, size_class);
        if (set != 0) {
            share(g, class_lists::free, size_class, free);
            if (settled) share(g, class_lists::pending, size_class, pending);
        }
        const u64 bump = g.lists.get(class_lists::bump);
        if (bump != 0 && goes(bump_offset(bump), size_class)) {
            heap_.begin_group(inside_, g);
            g.lists.set(class_lists::bump, 0);
        }
        if (heap_.sets_[set] == nullptr) return;
        auto& remembered = heap_.sets_[set]->of_class[size_class];
        remembered.free_count = free.blocks;
        if (!settled) return;
        remembered.pending_count = pending.blocks;
        remembered.pending_tail = pending.last;
    }

    struct kept {
        u64 blocks = 0;
        u64 last = 0;
    };
    /// Removes the blocks of freed slabs from a chain.
    kept thin(class_lists& g, class_lists::list which, u32 size_class) {
        kept k;
        bool gap = false;  // removed blocks between k.last and the current one
        const auto close_gap = [&](u64 block) {
            if (!gap) return;
            gap = false;
            if (k.last != 0) return Logs::set_next(inside_, heap_.cell_at(k.last), block);
            heap_.begin_group(inside_, g);
            g.lists.set(which, block);
        };
        for (u64 block = g.lists.get(which); block != 0;) {
            const u64 after = next(block);
            if (goes(block, size_class)) {
                gap = true;
            } else {
                close_gap(block);
                k = {k.blocks + 1, block};
            }
            block = after;
        }
        close_gap(0);
        return k;
    }

    /// Moves a whole chain of allocatable blocks to the shared set, which is visited first (W4).
    void share(class_lists& g, class_lists::list which, u32 size_class, kept& chain) {
        if (chain.last == 0) return;
        class_lists& shared = heap_.lists(0, size_class);
        heap_.begin_group(inside_, shared);
        heap_.begin_group(inside_, g);
        Logs::set_next(inside_, heap_.cell_at(chain.last), shared.lists.get(class_lists::free));
        shared.lists.set(class_lists::free, g.lists.get(which));
        g.lists.set(which, 0);
        HF_PERSIST_POINT("alloc W4: a chain of free blocks has moved to the shared lists");
        chain = {};
        gathered_ = true;
    }

    static constexpr u32 no_slab = ~u32{0};

    list_heap<Logs>& heap_;
    stopped_world inside_;
    std::vector<slab> slabs_;
    std::vector<u32> slab_of_page_;
    std::vector<bool> met_;  ///< one bit a block of each slab: visited
    std::array<bool, block_classes> runs_empty_{};
    u64 looked_at_ = 0;
    bool gathered_ = false;
};

template <class Logs>
bool list_heap<Logs>::may_sweep(u64 freed_now) const noexcept {
    return may_search(freed_now - freed_at_sweep_.load(std::memory_order_relaxed),
                      swept_.load(std::memory_order_relaxed));
}

template <class Logs>
u64 list_heap<Logs>::give_back_slabs() {
    u64 pages = 0;
    gathered_ = false;
    checkpoint_.epochs().with_world_stopped([&](lane& l) {
        const u64 freed_now = freed();
        if (!refreshing_ && may_sweep(freed_now)) {
            slab_sweep<Logs> sweep(*this, stopped_world(checkpoint_, l));
            sweep.run();
            l.mark_written();
            freed_at_sweep_ = freed_now;
            swept_ = sweep.looked_at();
            gathered_ = sweep.has_gathered();
        }
        pages = pages_.pending_pages(l.epoch);
    });
    idle_after_sweep_ = idle_bytes();
    return pages;
}

}  // namespace hf
