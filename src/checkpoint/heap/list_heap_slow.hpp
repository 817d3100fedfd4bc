// checkpoint/heap/list_heap_slow.hpp: the parts of list_heap.hpp that run once a slab, once a
// session or in the background.
#pragma once

#include "checkpoint/heap/list_heap.hpp"

namespace hf {

template <class Logs>
result<void> list_heap<Logs>::recover() {
    if (auto pages = pages_.recover(); !pages) return pages;
    Logs::recover(pages_.all_lists(), checkpoint_);
    some_stand_in_ = pages_.root().has_stand_ins();
    sets_are_shared_ = set_count() < max_lanes;
    return {};
}

template <class Logs>
auto list_heap<Logs>::made(u32 set) noexcept -> list_set& {
    const std::lock_guard guard(making_);
    if (sets_[set] == nullptr) {
        sets_[set] = std::make_unique<list_set>();
        sets_[set]->lists = &lists(set, 0);
        sets_[set]->is_shared = sets_are_shared_ || set == waiting_set();
    }
    return *sets_[set];
}

/// Refills an empty `free` list from, in this order: shared surplus, never used blocks, lists of
/// ended threads, a new slab.
template <class Logs>
result<u64> list_heap<Logs>::refill(operation& op, u32 size_class, list_set& set) {
    if (u64 b = take_made(op, size_class, set)) return b;
    class_lists& g = set.lists[size_class];
    const u64 pages = slab_pages(size_class);
    auto slab = pages_.reserve(op, pages);
    if (!slab) return slab;
    pages_.commit(op, *slab, {page_use::slab, size_class, pages});
    g.lists.set(class_lists::bump, u64{slab_blocks(size_class)} << 48 | *slab);
    return take_bump(g, size_class);
}

template <class Logs>
u64 list_heap<Logs>::take_made(operation& op, u32 size_class, list_set& set) {
    class_lists& g = set.lists[size_class];
    if (u64 b = take_shared(op, size_class, g, set.of_class[size_class])) return b;
    if (u64 b = take_bump(g, size_class)) return b;
    return adopt_idle(op, size_class, g);
}

/// Takes the smallest larger block, in the epochs that allow it; the block is counted. Returns
/// where a block of class `wanted` would begin in it.
template <class Logs>
u64 list_heap<Logs>::take_larger(operation& op, u32 wanted, list_set& set) {
    if (op.epoch() >= larger_stand_in_before_.load(std::memory_order_relaxed)) return 0;
    constexpr u64 many_freed = 256;  // then a sweep is tried first again
    const u64 freed_now = freed();
    if (freed_now - freed_at_stand_in_ >= many_freed && may_sweep(freed_now)) return 0;
    for (const u32 c : classes_by_size()) {
        if (c >= classes_in(classes()) || !may_stand_in(c, wanted)) continue;
        class_lists& g = set.lists[c];
        remembered& m = set.of_class[c];
        begin(op, c, g, m);
        u64 block = pop(op, g, c);
        if (block != 0) {
            if (m.free_count != 0) --m.free_count;
        } else {
            block = take_made(op, c, set);
        }
        if (block == 0) continue;
        count(g, +1);
        return block + lead_in(block, wanted);
    }
    return 0;
}

template <class Logs>
void list_heap<Logs>::let_larger_stand_in() {
    constexpr u64 epochs = 16;  // afterwards a sweep for empty slabs is tried again
    checkpoint_.epochs().with_world_stopped([&](lane& l) {
        heap_root& root = pages_.root();
        if (!root.has_stand_ins()) {  // A5
            root.magic = root.is_format_1() ? heap_root::magic_1_with_stand_ins
                                            : heap_root::magic_2_with_stand_ins;
            l.note_sticky(&root, line_size);
            l.mark_written();
        }
        some_stand_in_ = true;
        freed_at_stand_in_ = freed();
        larger_stand_in_before_ = l.epoch + epochs;
    });
}

template <class Logs>
u64 list_heap<Logs>::objects() {
    u64 sum = 0;
    for (u32 set = 0; set < set_count(); ++set) {
        sum += lists(set, extent_class).lists.get(class_lists::objects);
    }
    // For an object that moves from set to set, perhaps only the removal was read.
    return std::max<std::int64_t>(static_cast<std::int64_t>(sum), 0);
}

/// The count is durable, so the word may become durable at any time from here on.
template <class Logs>
void list_heap<Logs>::objects_are_counted() {
    checkpoint_.epochs().with_world_stopped([&](lane& l) {
        heap_root& root = pages_.root();
        root.counts_objects = 1;
        l.note_sticky(&root, line_size);
        l.mark_written();
    });
}

template <class Logs>
u64 list_heap<Logs>::take_bump(class_lists& g, u32 size_class) {
    const u64 word = g.lists.get(class_lists::bump);
    const u64 left = word >> 48;
    if (left == 0) return 0;
    const u64 block = word & ((u64{1} << 48) - 1);
    check_block(block, left * block_size(size_class));
    g.lists.set(class_lists::bump,
                left == 1 ? 0 : (left - 1) << 48 | (block + block_size(size_class)));
    return block;
}

/// Takes up to pool_batch blocks off the shared list; they were freed in earlier epochs.
template <class Logs>
u64 list_heap<Logs>::take_shared(operation& op, u32 size_class, class_lists& g, remembered& m) {
    class_lists& shared = lists(0, size_class);
    if (shared.lists.get(class_lists::free) == 0) return 0;
    const std::lock_guard guard(shared_locks_[size_class]);
    const bool any =
        shared.lists.get(class_lists::free) != 0;  // other threads may have been faster
    return any ? take_batch(op, size_class, g, m) : 0;
}

/// As take_shared(), if the list is not empty; called under its lock.
template <class Logs>
u64 list_heap<Logs>::take_batch(operation& op, u32 size_class, class_lists& g, remembered& m) {
    class_lists& shared = lists(0, size_class);
    const u64 bytes = block_size(size_class);
    const u64 first = shared.lists.get(class_lists::free);
    begin_group(op, shared);
    u64 last = first;
    check_block(last, bytes);
    u64 after = next_block(last, op.failed(), op.epoch());
    u32 taken = 1;
    for (; taken < pool_batch && after != 0; ++taken) {
        last = after;
        check_block(last, bytes);
        after = next_block(last, op.failed(), op.epoch());
    }
    shared.lists.set(class_lists::free, after);
    if (after != 0) set_next(op, last, 0);
    g.lists.set(class_lists::free, first);
    m.free_count = taken;
    const u64 block = pop(op, g, size_class);
    --m.free_count;
    return block;
}

/// Joins the pending list, whose blocks were freed in earlier epochs, to the shared list.
template <class Logs>
void list_heap<Logs>::give_shared(operation& op, u32 size_class, class_lists& g, remembered& m) {
    class_lists& shared = lists(0, size_class);
    const std::lock_guard guard(shared_locks_[size_class]);
    begin_group(op, shared);
    set_next(op, m.pending_tail, shared.lists.get(class_lists::free));
    shared.lists.set(class_lists::free, g.lists.get(class_lists::pending));
}

/// Takes over lists of lanes without a thread, left by ended threads or by earlier sessions with
/// more threads.
template <class Logs>
u64 list_heap<Logs>::adopt_idle(operation& op, u32 size_class, class_lists& g) {
    for (u32 i = 1; i < set_count(); ++i) {
        if (i == waiting_set() && some_emptied_.load(std::memory_order_relaxed)) continue;
        class_lists& theirs = lists(i, size_class);
        if (&theirs == &g || (theirs.lists.get(class_lists::free) == 0 &&
                              theirs.lists.get(class_lists::pending) == 0 &&
                              theirs.lists.get(class_lists::bump) == 0)) {
            continue;
        }
        u64 block = 0;
        const auto take = [&] {
            // Threads that share it may hold its lock and wait for ours.
            std::unique_lock<spin_lock> held;
            if (sets_are_shared_ || i == waiting_set()) {
                held = std::unique_lock(made(i).lock, std::try_to_lock);
                if (!held.owns_lock()) return;
            }
            block = adopt(op, i, size_class, g);
        };
        // All users of the waiting set lock it. Where lanes share sets no lane has its number.
        if (sets_are_shared_ && i == waiting_set()) {
            take();
        } else {
            checkpoint_.epochs().with_idle_lane(i, take);
        }
        if (block != 0) return block;
    }
    return 0;
}

template <class Logs>
u64 list_heap<Logs>::adopt(operation& op, u32 set, u32 size_class, class_lists& g) {
    class_lists& theirs = lists(set, size_class);
    const auto taken = [](class_lists& from, class_lists::list which) {
        const u64 all = from.lists.get(which);
        from.lists.set(which, 0);
        return all;
    };
    // A pending list may be taken as a whole if it was last changed in an earlier epoch.
    const bool settled = theirs.lists.epoch.load(std::memory_order_relaxed) != op.epoch();
    begin_group(op, theirs);
    if (theirs.lists.get(class_lists::free) != 0) {
        g.lists.set(class_lists::free, taken(theirs, class_lists::free));
    } else if (settled && theirs.lists.get(class_lists::pending) != 0) {
        g.lists.set(class_lists::free, taken(theirs, class_lists::pending));
    } else if (theirs.lists.get(class_lists::bump) != 0) {
        g.lists.set(class_lists::bump, taken(theirs, class_lists::bump));
    } else {
        return 0;
    }
    if (sets_[set] != nullptr) sets_[set]->of_class[size_class] = {};
    const u64 block = pop(op, g, size_class);
    return block != 0 ? block : take_bump(g, size_class);
}

// --------------------------------------------------------------------------------- large payloads

template <class Logs>
result<u64> list_heap<Logs>::reserve_large(operation& op, u64 payload) {
    auto offset = pages_.reserve(op, extent_pages(payload));
    if (!offset) return offset;
    return *offset + block_header_size;
}

template <class Logs>
void list_heap<Logs>::commit_large(operation& op, u64 offset, u64 payload) {
    const u64 pages = extent_pages(payload);
    pages_.commit(op, offset - block_header_size, {page_use::extent, 0, pages});
    count_extent(op, static_cast<std::int64_t>(pages));
}

template <class Logs>
void list_heap<Logs>::count_extent(operation& op, std::int64_t pages) {
    list_set& set = set_of(op.my_lane());
    const auto mine = use(set);
    class_lists& g = set.lists[classes_in(classes())];
    begin_group(op, g);
    count(g, pages);
}

// ------------------------------------------------------------------------------- reports, refresh

template <class Logs>
std::array<u64, accounted_classes> list_heap<Logs>::usage() {
    std::array<u64, accounted_classes> bytes{};
    for (u32 c = 0; c < accounted_classes; ++c) {
        if (c >= classes_in(classes()) && c != extent_class) continue;
        std::int64_t blocks = 0;
        for (u32 set = 0; set < set_count(); ++set) {
            const u64 word = lists(set, c).live.load(std::memory_order_relaxed);
            blocks += static_cast<std::int32_t>(word & 0xffffffff);
        }
        const u64 size = c == extent_class ? page_size : block_size(c);
        bytes[c] = static_cast<u64>(std::max<std::int64_t>(blocks, 0)) * size;
    }
    return bytes;
}

template <class Logs>
u64 list_heap<Logs>::idle_bytes() {
    u64 bytes = 0;
    try {
        pages_.walk([&](u64, const page_run& run) {
            bytes += run.use == page_use::slab ? run.pages * page_size : 0;
            return true;
        });
    } catch (const damage&) {  // NOLINT(bugprone-empty-catch): an incomplete figure
    }
    const auto used = usage();
    for (u32 c = 0; c < block_classes; ++c) bytes -= std::min(bytes, used[c]);
    return bytes;
}

template <class Logs>
u64 list_heap<Logs>::freed() {
    const std::lock_guard guard(making_);
    u64 sum = 0;
    for (const auto& set : sets_) {
        if (set != nullptr) sum += set->freed.load(std::memory_order_relaxed);
    }
    return sum;
}

template <class Logs>
u64 list_heap<Logs>::removed() {
    const std::lock_guard guard(making_);
    u64 sum = 0;
    for (const auto& set : sets_) {
        if (set != nullptr) sum += set->removed.load(std::memory_order_relaxed);
    }
    return sum;
}

/// Whether a sweep now has a chance to free as much as there is to be allocated soon: an eighth of
/// the region is idle, and of that half has become so since the last sweep.
template <class Logs>
bool list_heap<Logs>::sweep_pays() {
    constexpr u64 least_freed = 64;
    const u64 freed_now = freed();
    if (freed_now < freed_at_sweep_.load(std::memory_order_relaxed) + least_freed ||
        refreshing_.load(std::memory_order_relaxed) || !may_sweep(freed_now)) {
        return false;
    }
    const u64 size = checkpoint_.file().size();
    const u64 idle = idle_bytes();
    return idle >= size / 8 &&
           idle >= idle_after_sweep_.load(std::memory_order_relaxed) + size / 16;
}

template <class Logs>
void list_heap<Logs>::refresh(u64 older_than, const std::function<bool()>& cancelled) {
    if constexpr (!Logs::are_kept) return;
    // Slabs that exist now must stay slabs until the end (also if damage throws), since they are
    // written to by their present class.
    const auto set_refreshing = [this](bool on) {
        checkpoint_.epochs().with_world_stopped([&](lane&) { refreshing_ = on; });
    };
    set_refreshing(true);
    refresh_slabs(older_than, cancelled);
    set_refreshing(false);
}

template <class Logs>
void list_heap<Logs>::refresh_slabs(u64 older_than, const std::function<bool()>& cancelled) {
    constexpr std::size_t batch_size = 512;
    std::vector<std::pair<u64, page_run>> slabs;
    pages_.walk([&](u64 offset, const page_run& run) {
        if (run.use == page_use::slab) slabs.emplace_back(offset, run);
        return true;
    });
    const u64 current = checkpoint_.epochs().current_epoch();
    const auto stale = [&](const compact_cell& cell) {
        return cell.needs_recovery(checkpoint_.failed(), current) ||
               compact_cell::full_epoch(cell.load().epoch, current) < older_than;
    };
    std::vector<u64> batch;
    const auto mend = [&] {
        // A header belongs to its list's owner, so it is restamped with the world stopped, and with
        // its value at that time: the owner may have changed it meanwhile.
        checkpoint_.epochs().with_world_stopped([&](lane& l) {
            for (u64 block : batch) {
                compact_cell& cell = cell_at(block);
                cell.write(cell.read(checkpoint_.failed(), l.epoch), checkpoint_.failed(), l.epoch);
                l.note_once(&cell, sizeof(cell));
                l.mark_written();
            }
        });
        batch.clear();
    };
    for (const auto& [offset, run] : slabs) {
        if (cancelled()) return;
        for (u32 i = 0; i < slab_blocks(run.size_class); ++i) {
            const u64 block = offset + u64{i} * block_size(run.size_class);
            if (stale(cell_at(block))) batch.push_back(block);
            if (batch.size() == batch_size) mend();
        }
    }
    if (!batch.empty()) mend();
    checkpoint_.epochs().with_world_stopped([&](lane& l) { pages_.refresh(l, older_than); });
}

}  // namespace hf
