#include "section/heap/heap.hpp"

#include "base/check.hpp"
#include "section/inside_runtime.hpp"

#include <mutex>
#include <string>

namespace hf::section {
namespace {

[[noreturn]] void refuse_free(const void* p, const char* why) {
    char text[160];
    std::snprintf(text, sizeof text, "hf_free(%p): %s", p, why);
    fatal(text);
}

}  // namespace

block_ref heap::find(const void* p) const noexcept {
    const u64 page = page_of(p);
    const u64 start = pages_[page].start;
    if (start == 0 || pages_[start].start != start) return {};
    run_header* const run = run_at(start);
    const u64 at = reinterpret_cast<u64>(p) - reinterpret_cast<u64>(run);
    if (at >= pages_[start].pages * page_bytes) return {};
    if (run->kind == run_kind::large) {
        if (at < run->payload) return {};
        return {run, 0, reinterpret_cast<std::byte*>(run) + run->payload,
                run->pages * page_bytes - run->payload};
    }
    if (run->kind != run_kind::slab) return {};
    const slab_shape& shape = slab_shapes[run->size_class];
    const u64 bytes = class_bytes(run->size_class);
    if (at < shape.first || (at - shape.first) / bytes >= shape.blocks) return {};
    const u64 block = (at - shape.first) / bytes;
    if (!is_allocated(*run, block)) return {};
    return {run, block, reinterpret_cast<std::byte*>(run) + shape.first + block * bytes, bytes};
}

u64 heap::usable(const void* p) const {
    const std::lock_guard guard(lock_);
    const block_ref b = find(p);
    return b.begin == p && b.run != nullptr ? b.bytes : 0;
}

u16 heap::owner_of(const void* p) const {
    const std::lock_guard guard(lock_);
    const block_ref b = find(p);
    if (b.run == nullptr || b.begin != p) refuse_free(p, "it is no block of this group");
    return b.run->owner;
}

// -------------------------------------------------------------------------------- small and large

result<void*> heap::allocate(change& by, u16 owner, u64 bytes) {
    const inside_runtime in;
    if (bytes > max_small) return allocate_large(by, owner, bytes, grain);
    const unsigned c = class_of(std::max<u64>(bytes, 1));
    const ordered_guard guard(lock_, by);
    u32& list = partial(owner, c);
    if (list == 0) {
        auto made = make_slab(by, owner, c);
        if (!made) return tl::unexpected(made.error());
    }
    return take_block(by, list);
}

result<void*> heap::allocate_aligned(change& by, u16 owner, u64 bytes, u64 alignment) {
    HF_CHECK(std::has_single_bit(alignment) && alignment <= page_bytes,
             "an alignment is a power of two up to 64 KiB");
    if (alignment <= grain) return allocate(by, owner, bytes);
    const inside_runtime in;
    // Blocks of a class of a multiple of 64 bytes begin on lines.
    if (alignment <= line_size) {
        for (unsigned c = class_of(std::clamp<u64>(bytes, alignment, max_small));
             bytes <= max_small && c < size_classes; ++c) {
            if (class_bytes(c) % alignment == 0) return allocate(by, owner, class_bytes(c));
        }
    }
    return allocate_large(by, owner, bytes, alignment);
}

void* heap::take_block(change& by, u64 page) {
    run_header& slab = *run_at(page);
    page_info& info = pages_[page];
    const slab_shape& shape = slab_shapes[slab.size_class];
    const u64 words = (shape.blocks + 63) / 64;
    u64* const bits = bits_of(slab);
    for (u64 k = 0; k < words; ++k) {
        const u64 w = (info.hint + k) % words;
        if (~bits[w] == 0) continue;
        const u64 block = w * 64 + static_cast<u64>(std::countr_one(bits[w]));
        if (block >= shape.blocks) continue;
        by.store(bits[w], bits[w] | u64{1} << (block % 64));
        info.hint = static_cast<u32>(w);
        if (--info.free_blocks == 0) remove(partial(slab.owner, slab.size_class), page);
        const u64 bytes = class_bytes(slab.size_class);
        allocated_.fetch_add(bytes, std::memory_order_relaxed);
        return reinterpret_cast<std::byte*>(&slab) + shape.first + block * bytes;
    }
    fatal("the heap of a group: a slab in the list of those with free blocks has none");
}

result<void*> heap::allocate_large(change& by, u16 owner, u64 bytes, u64 alignment) {
    const u64 payload = align_up(sizeof(run_header), std::max(alignment, grain));
    if (bytes > window_size) {
        return failure({errc::no_space, "allocate " + std::to_string(bytes) + " bytes",
                        file_.path().string(), "a group has at most 1 TiB", "allocate less"});
    }
    const u64 pages = align_up(payload + bytes, page_bytes) / page_bytes;
    const ordered_guard guard(lock_, by);
    const auto taken = take_run(by, pages);
    if (!taken) return tl::unexpected(taken.error());
    run_header& run = *run_at(taken->page);
    by.announce(&run, sizeof run);
    if (taken->is_fresh) {
        by.own_fresh(&run + 1, pages * page_bytes - sizeof run);
    }
    run = {run_kind::large, 0, owner, pages, payload, bytes, {}};
    allocated_.fetch_add(pages * page_bytes, std::memory_order_relaxed);
    return reinterpret_cast<std::byte*>(&run) + payload;
}

void heap::free(change& by, void* p) {
    const inside_runtime in;
    const ordered_guard guard(lock_, by);
    const block_ref b = find(p);
    if (b.run == nullptr || b.begin != p) {
        refuse_free(p, "it is no block of this group, or was freed before");
    }
    if (b.run->kind == run_kind::slab) return free_block(by, *b.run, b.index);
    allocated_.fetch_sub(b.run->pages * page_bytes, std::memory_order_relaxed);
    give_run(by, page_of(b.run));
}

void heap::free_block(change& by, run_header& slab, u64 block) {
    const u64 page = page_of(&slab);
    page_info& info = pages_[page];
    u64& word = bits_of(slab)[block / 64];
    by.store(word, word & ~(u64{1} << (block % 64)));
    allocated_.fetch_sub(class_bytes(slab.size_class), std::memory_order_relaxed);
    u32& list = partial(slab.owner, slab.size_class);
    if (info.free_blocks++ == 0) push(list, page);
    // The last slab of its size stays, so that one block taken and given makes no run.
    const bool is_only = list == page && info.next == 0;
    if (info.free_blocks == slab_shapes[slab.size_class].blocks && !is_only) {
        remove(list, page);
        give_run(by, page);
    }
}

void heap::free_all(change& by, u16 owner) {
    const inside_runtime in;
    const ordered_guard guard(lock_, by);
    for (u64 page = 1; page < known_end_; ++page) {
        if (pages_[page].start != page) continue;
        const run_header& run = *run_at(page);
        if (run.kind == run_kind::free || run.owner != owner) continue;
        if (run.kind == run_kind::large) {
            allocated_.fetch_sub(run.pages * page_bytes, std::memory_order_relaxed);
        } else {
            const u64 used = slab_shapes[run.size_class].blocks - pages_[page].free_blocks;
            allocated_.fetch_sub(used * class_bytes(run.size_class), std::memory_order_relaxed);
            if (pages_[page].free_blocks != 0) remove(partial(owner, run.size_class), page);
        }
        give_run(by, page);
    }
}

u64 heap::allocated_blocks() const {
    u64 blocks = 0;
    for (u64 page = 1; page < known_end_; ++page) {
        if (pages_[page].start != page) continue;
        const run_header& run = *run_at(page);
        if (run.kind == run_kind::large) ++blocks;
        if (run.kind == run_kind::slab) {
            blocks += slab_shapes[run.size_class].blocks - pages_[page].free_blocks;
        }
    }
    return blocks;
}

void heap::walk(const std::function<void(run_header&)>& visit) const {
    for (u64 page = 1; page < known_end_; ++page) {
        if (pages_[page].start == page) visit(*run_at(page));
    }
}

}  // namespace hf::section
