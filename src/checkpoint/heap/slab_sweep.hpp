// checkpoint/heap/slab_sweep.hpp: frees empty slabs, and gives all threads what some have freed.
//
// Purpose. A slab belongs to its size class as long as a block of it is allocated. When all of
// its blocks are free its pages may serve another class, or an extent. A slab's free blocks are not
// counted while there is room. Only when the region is full, one sweep over the free lists finds
// empty slabs, takes their blocks off the lists and frees their pages. The blocks that remain go to
// the shared set: they may be in the list of a thread that frees and never allocates.
//
// The sweep may also choose sparsely used slabs, which its caller then empties by moving what is in
// them: their free blocks go to a set from which nothing is allocated, and so do blocks that are
// freed in them. A later sweep, after the caller's last move and in a later epoch, finds them
// empty.
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
//  W5  The free blocks of a chosen slab are in the waiting set's lists by the end of E, or, after a
//      crash in E, where they were. That a slab was chosen is known to the process only: after a
//      crash later than E the waiting set is a set of a lane without a thread, and its blocks are
//      taken over like those of any other. In each class the blocks in use in chosen slabs are not
//      more than the free ones in the others.
//  W6  A page counts as emptied only while its chosen slab exists: the sweep that frees the slab
//      ends that, so what later uses the page is not moved, nor waits when it is freed.
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

#include <algorithm>
#include <tuple>

namespace hf {

template <class Logs>
class slab_sweep {
   public:
    slab_sweep(list_heap<Logs>& heap, stopped_world inside) : heap_(heap), inside_(inside) {}

    /// run() is to choose sparsely used slabs, except of this class.
    void choose_except(u32 fixed_class) noexcept {
        chooses_ = true;
        fixed_class_ = fixed_class;
    }

    /// Without ordinary memory the process ends, as in a crash: the gate is closed.
    void run() noexcept(!crashes_throw) {
        if (!find_slabs()) return;
        if (!each_group([this](class_lists& g, u32 c, u32) { return count(g, c); })) return;
        if (chooses_) choose();
        mark_classes();
        each_group([this](class_lists& g, u32 c, u32 set) {
            if (loses_blocks_[c] || set != 0) unlink(g, c, set);
            return true;
        });
        for (u32 c = 0; c < block_classes; ++c) let_wait(c);
        for (const slab& s : slabs_) {
            if (is_empty(s)) free_slab(s);
        }
    }
    /// Number of blocks read.
    [[nodiscard]] u64 looked_at() const noexcept { return looked_at_; }
    /// True if free blocks were moved to the shared set.
    [[nodiscard]] bool has_gathered() const noexcept { return gathered_; }
    /// Pages of the chosen slabs.
    [[nodiscard]] u64 chosen_pages() const noexcept { return chosen_pages_; }

   private:
    struct slab {
        u64 offset;
        u32 size_class;
        u32 free;                ///< blocks
        u64 first_block;         ///< in met_
        bool has_fresh = false;  ///< a bump pointer leads into it
        bool is_chosen = false;
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
        slabs_.push_back({.offset = offset,
                          .size_class = run.size_class,
                          .free = 0,
                          .first_block = first_block,
                          .is_chosen = first < heap_.emptied_.size() && heap_.emptied_[first]});
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
    /// A free block stays in the lists, or goes with its slab, or waits for its slab to become
    /// empty.
    enum class fate { stays, goes, waits };
    [[nodiscard]] fate fate_of(u64 block, u32 size_class) noexcept {
        const slab& s = *slab_of(block, size_class);
        if (is_empty(s)) return fate::goes;
        return s.is_chosen ? fate::waits : fate::stays;
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
        if (slab* const s = bump != 0 ? slab_of(bump_offset(bump), size_class) : nullptr) {
            s->has_fresh = true;
        }
        for (u64 i = 0; i < bump >> 48; ++i) {
            if (!add(bump_offset(bump) + i * block_size(size_class), size_class)) return false;
        }
        return true;
    }

    void mark_classes() {
        for (const slab& s : slabs_) {
            if (is_empty(s) || s.is_chosen) loses_blocks_[s.size_class] = true;
        }
    }

    /// W5. Chooses the sparsest slabs of each class, of those that are about equally sparse the
    /// first ones: adjacent pages become one run.
    void choose() {
        std::array<u64, block_classes> room{};  // free blocks in slabs that are not chosen
        std::array<u64, block_classes> to_move{};
        std::vector<slab*> by_rank;
        for (slab& s : slabs_) {
            if (is_empty(s)) continue;
            room[s.size_class] += s.free;
            const bool may = s.free != 0 && !s.has_fresh && s.size_class != fixed_class_;
            if (may) by_rank.push_back(&s);
        }
        const auto rank = [](const slab* s) {
            constexpr u32 degrees = 3;
            return std::tuple(degrees - s->free * degrees / slab_blocks(s->size_class), s->offset);
        };
        std::ranges::sort(by_rank, {}, rank);
        for (slab* s : by_rank) {
            const u64 used = slab_blocks(s->size_class) - s->free;
            if (to_move[s->size_class] + used + s->free > room[s->size_class]) continue;
            to_move[s->size_class] += used;
            room[s->size_class] -= s->free;
            mark_chosen(*s);
        }
    }
    void mark_chosen(slab& s) {
        s.is_chosen = true;
        chosen_pages_ += slab_pages(s.size_class);
        const u64 first = s.offset / page_size;
        heap_.emptied_.resize(slab_of_page_.size());
        for (u64 page = first; page < first + slab_pages(s.size_class); ++page) {
            heap_.emptied_[page] = true;
        }
    }

    void free_slab(const slab& s) {
        heap_.pages_.release(inside_.my_lane(), inside_.failed(), s.offset,
                             slab_pages(s.size_class));
        if (!s.is_chosen) return;
        const u64 first = s.offset / page_size;
        for (u64 page = first; page < first + slab_pages(s.size_class); ++page) {
            heap_.emptied_[page] = false;  // W6
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
        if (bump != 0 && fate_of(bump_offset(bump), size_class) == fate::goes) {
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
    /// Removes the blocks of freed slabs from a chain, and collects those of chosen slabs.
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
            const fate f = fate_of(block, size_class);
            if (f == fate::waits) collect(block, size_class);
            if (f != fate::stays) {
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

    /// Appends a block to those that wait. Most follow each other in their list already.
    void collect(u64 block, u32 size_class) {
        waiting& w = waiting_[size_class];
        if (w.last == 0) {
            w.first = block;
        } else if (next(w.last) != block) {
            Logs::set_next(inside_, heap_.cell_at(w.last), block);
        }
        w.last = block;
    }
    /// W5. The waiting set's own blocks have moved to the shared set, except those freed in this
    /// epoch.
    void let_wait(u32 size_class) {
        const waiting& w = waiting_[size_class];
        if (w.last == 0) return;
        class_lists& g = heap_.lists(heap_.waiting_set(), size_class);
        HF_ASSERT(g.lists.get(class_lists::free) == 0, "W5: the waiting set has free blocks");
        heap_.begin_group(inside_, g);
        if (next(w.last) != 0) Logs::set_next(inside_, heap_.cell_at(w.last), 0);
        g.lists.set(class_lists::free, w.first);
        HF_PERSIST_POINT("alloc W5: the free blocks of a chosen slab wait");
    }

    static constexpr u32 no_slab = ~u32{0};
    struct waiting {
        u64 first = 0;
        u64 last = 0;
    };

    list_heap<Logs>& heap_;
    stopped_world inside_;
    std::vector<slab> slabs_;
    std::vector<u32> slab_of_page_;
    std::vector<bool> met_;  ///< one bit a block of each slab: visited
    std::array<bool, block_classes> loses_blocks_{};
    std::array<waiting, block_classes> waiting_{};
    bool chooses_ = false;
    u32 fixed_class_ = 0;
    u64 chosen_pages_ = 0;
    u64 looked_at_ = 0;
    bool gathered_ = false;
};

template <class Logs>
bool list_heap<Logs>::may_sweep(u64 freed_now) const noexcept {
    return may_search(freed_now - freed_at_sweep_.load(std::memory_order_relaxed),
                      swept_.load(std::memory_order_relaxed));
}

template <class Logs>
u64 list_heap<Logs>::begin_emptying(u64 fixed_payload) {
    u64 pages = 0;
    checkpoint_.epochs().with_world_stopped([&](lane& l) {
        if (refreshing_ || some_emptied_ || !may_empty()) return;
        (void)made(waiting_set());
        slab_sweep<Logs> sweep(*this, stopped_world(checkpoint_, l));
        sweep.choose_except(class_for(fixed_payload));
        sweep.run();
        l.mark_written();
        pages = sweep.chosen_pages();
        some_emptied_ = pages != 0;
    });
    return pages;
}

template <class Logs>
void list_heap<Logs>::end_emptying() {
    checkpoint_.epochs().with_world_stopped([&](lane&) {
        some_emptied_ = false;
        emptied_.clear();
    });
}

template <class Logs>
u64 list_heap<Logs>::give_back_slabs(bool has_moved) {
    u64 pages = 0;
    gathered_ = false;
    checkpoint_.epochs().with_world_stopped([&](lane& l) {
        const u64 freed_now = freed();
        if (!refreshing_ && (has_moved || may_sweep(freed_now))) {
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
