#include "alloc/committed_heap.hpp"

#include "base/check.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>

namespace hf {

using committed::slab;

committed_heap::committed_heap(region& r)
    : region_(r), space_(r), bins_(std::make_unique<bin[]>(shards * block_classes)) {}

u32 committed_heap::my_shard() noexcept {
    static std::atomic<u32> next{0};
    thread_local const u32 mine = next.fetch_add(1, std::memory_order_relaxed) % shards;
    return mine;
}

// -------------------------------------------------------------------------------------------- bins

committed_heap::bin& committed_heap::lock_bin_of(const slab& s) noexcept {
    for (;;) {
        const u32 number = s.bin.load(std::memory_order_acquire);
        bins_[number].lock.lock();
        if (s.bin.load(std::memory_order_acquire) == number) return bins_[number];
        bins_[number].lock.unlock();
    }
}

void committed_heap::list(bin& b, slab& s) {
    if (s.listed || s.free == 0) return;
    s.listed = true;
    b.with_room.push_back(&s);
}

void committed_heap::unlist(bin& b, slab& s) {
    if (!s.listed) return;
    s.listed = false;
    std::erase(b.with_room, &s);
}

committed_heap::block committed_heap::take_from(bin& b) {
    const std::lock_guard guard(b.lock);
    if (b.with_room.empty()) return {};
    slab& s = *b.with_room.back();
    const u32 number = s.take();
    if (s.free == 0) {
        s.listed = false;
        b.with_room.pop_back();
    }
    if (b.with_room.empty()) return {&s, number};
    // The thread that takes the next block fills it at once, and would wait for the cache miss of a
    // block that was not used for long.
    const slab& next_of = *b.with_room.back();
    if (const auto next = next_of.next_block()) {
        const auto* const first = region_.at<std::byte>(*next);
        // A small block may be in two lines, and of a large one the second is filled soon, too.
        const u32 bytes = std::min<u32>(block_size(next_of.size_class), 2 * line_size);
        __builtin_prefetch(first, 1);
        __builtin_prefetch(first + bytes - 1, 1);
    }
    return {&s, number};
}

/// Moves a slab from its current bin, whichever that is, to bin `to`; locks one bin at a time.
void committed_heap::move(slab& s, u32 to) {
    {
        bin& from = lock_bin_of(s);
        const std::lock_guard guard(from.lock, std::adopt_lock);
        s.know();
        unlist(from, s);
        ++s.movers;
        s.bin.store(to, std::memory_order_release);
    }
    bin& now = lock_bin_of(s);
    const std::lock_guard guard(now.lock, std::adopt_lock);
    --s.movers;
    list(now, s);
}

/// Finds a slab of any shard with at least `least_free` free blocks. May find one in this bin, if
/// another thread of the shard was faster.
bool committed_heap::take_over(u32 to, u32 least_free) {
    for (u32 i = to % block_classes; i < shards * block_classes; i += block_classes) {
        slab* found = nullptr;
        {
            const std::lock_guard guard(bins_[i].lock);
            for (slab* s : bins_[i].with_room) {
                if (s->free < least_free) continue;
                found = s;
                break;
            }
            if (found == nullptr) continue;
            unlist(bins_[i], *found);
            ++found->movers;  // another thread may find it during the move
            found->bin.store(to, std::memory_order_release);
        }
        bin& now = lock_bin_of(*found);
        const std::lock_guard guard(now.lock, std::adopt_lock);
        --found->movers;
        list(now, *found);
        return true;
    }
    return false;
}

/// An empty slab that a bin lists leaves the bin, so no thread takes a block of it. Slabs that were
/// not used in this session are examined at the first shortage.
bool committed_heap::free_empty_slabs() {
    const u64 emptied_before = emptied_.load(std::memory_order_acquire);
    const std::lock_guard one_at_a_time(emptying_);
    if (emptied_.load(std::memory_order_relaxed) != emptied_before) return true;
    for (u32 c = 0; c < block_classes; ++c) {
        while (slab* s = space_.take_dormant(c)) {
            move(*s, c);
            some_empty_.store(true, std::memory_order_release);
        }
    }
    if (!some_empty_.exchange(false, std::memory_order_acq_rel)) return false;
    std::vector<slab*> empty;
    for (u32 i = 0; i < shards * block_classes; ++i) {
        const std::lock_guard guard(bins_[i].lock);
        std::erase_if(bins_[i].with_room, [&](slab* s) {
            if (!is_empty(*s)) return false;
            s->listed = false;
            empty.push_back(s);
            return true;
        });
    }
    if (empty.empty()) return false;
    drop_all(empty);
    emptied_.fetch_add(1, std::memory_order_release);
    return true;
}

void committed_heap::drop_all(const std::vector<slab*>& empty) {
    const medium& med = region_.med();
    for (const slab* s : empty) {
        auto* const w = region_.at<committed::word>(s->descriptor);
        med.flush_line(w);  // on the medium `file`, recorded before the store
        w->store(0, std::memory_order_release);
        med.flush_line(w);
    }
    med.fence();
    HF_PERSIST_POINT("alloc C4: empty slabs' words are durably 0 before their pages are used");
    for (slab* s : empty) space_.drop(*s);
}

/// Gives the bin an existing slab with free blocks. False: there is none.
result<bool> committed_heap::find_room(u32 to) {
    const u32 size_class = to % block_classes;
    const u64 pages = slab_pages(size_class);
    for (;;) {
        if (slab* s = space_.take_dormant(size_class)) {
            move(*s, to);
            return true;
        }
        if (take_over(to, slab_blocks(size_class) / 2)) return true;
        if (u64 offset = space_.take(pages)) {
            move(space_.add_slab(offset, size_class), to);
            return true;
        }
        auto more = space_.index_next();
        if (!more) return more;
        if (!*more) return take_over(to, 1) || free_empty_slabs();
    }
}

result<committed_heap::block> committed_heap::take_block(u32 shard, u32 size_class) {
    const u32 number = shard * block_classes + size_class;
    for (;;) {
        if (const block b = take_from(bins_[number]); b.of != nullptr) return b;
        const auto found = find_room(number);
        if (!found) return tl::unexpected(found.error());
        if (*found) continue;
        const auto offset = space_.take_grown(slab_pages(size_class));
        if (!offset) return tl::unexpected(offset.error());
        move(space_.add_slab(*offset, size_class), number);
    }
}

result<u64> committed_heap::take_extent(u64 pages) {
    for (;;) {
        if (u64 offset = space_.take(pages)) return offset;
        const auto more = space_.index_next();
        if (!more) return tl::unexpected(more.error());
        if (!*more && !free_empty_slabs()) return space_.take_grown(pages);
    }
}

// ------------------------------------------------------------------------------------------ blocks

bool committed_heap::release_block(const block& b) {
    bin& of = lock_bin_of(*b.of);
    b.of->know();
    const bool was_owned = b.of->release(b.number);
    of.lock.unlock();
    return was_owned;
}

void committed_heap::keep_block(const block& b) {
    bin& of = lock_bin_of(*b.of);
    const std::lock_guard guard(of.lock, std::adopt_lock);
    b.of->keep(b.number);
}

/// Pages that are a slab only in this process are freed with its last block.
void committed_heap::free_block(const block& b) {
    slab& s = *b.of;
    bin& of = lock_bin_of(s);
    s.give_back(b.number);
    const bool is_unused = s.free == s.blocks && s.movers == 0 &&
                           s.durable.load(std::memory_order_relaxed) == slab::stage::absent;
    if (is_unused) {
        unlist(of, s);
    } else {
        list(of, s);
        if (s.free == s.blocks) some_empty_.store(true, std::memory_order_release);
    }
    of.lock.unlock();
    if (is_unused) space_.drop(s);
}

}  // namespace hf
