// Runs of pages: the walk of open(), free runs, growth.
#include "alloc/geometry.hpp"
#include "base/check.hpp"
#include "section/heap/heap.hpp"

#include <sys/mman.h>

#include <string>

namespace hf::section {
namespace {

constexpr u64 info_count = window_size / page_bytes + 1;
constexpr u64 min_growth_pages = (u64{16} << 20) / page_bytes;
constexpr u64 max_growth_pages = (u64{1} << 30) / page_bytes;

}  // namespace

heap::heap(region& file) : file_(file) {
    void* const p = ::mmap(nullptr, info_count * sizeof(page_info), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HF_CHECK(p != MAP_FAILED, "no address space for the pages of a group's heap");
    pages_ = static_cast<page_info*>(p);
}

heap::~heap() { ::munmap(pages_, info_count * sizeof(page_info)); }

result<void> heap::open() {
    for (const segment& s : file_.segments()) {
        if (s.kind != segment_kind::heap) continue;
        if (auto ok = adopt_segment(s); !ok) return ok;
    }
    return {};
}

result<void> heap::adopt_segment(const segment& s) {
    const u64 end = s.offset / page_bytes + s.pages;
    u64 page = s.offset / page_bytes + (s.offset == page_bytes ? table_pages : 0);
    pages_[page].begins_segment = true;
    while (page < end) {
        const run_header& run = *run_at(page);
        const bool is_known = run.kind == run_kind::free || run.kind == run_kind::large ||
                              (run.kind == run_kind::slab && run.size_class < size_classes &&
                               run.pages == slab_pages(run.size_class));
        const u64 pages = run.kind == run_kind::free && run.pages == 0 ? end - page : run.pages;
        if (!is_known || pages == 0 || pages > end - page || run.owner >= max_regions) {
            return failure(
                {errc::corrupt, "open the heap of the group",
                 file_.path().string() + " at offset " + std::to_string(page * page_bytes),
                 "the header of a run of pages is impossible", "restore the file from a copy"});
        }
        adopt_run(page, pages);
        page += pages;
    }
    known_end_ = std::max(known_end_, end);
    return {};
}

void heap::adopt_run(u64 page, u64 pages) {
    const run_header& run = *run_at(page);
    set_run(page, pages, run.kind == run_kind::free);
    if (run.kind == run_kind::free) return push(bin_of(pages), page);
    if (run.kind == run_kind::large) {
        allocated_.fetch_add(pages * page_bytes, std::memory_order_relaxed);
        return;
    }
    const slab_shape& shape = slab_shapes[run.size_class];
    u32 used = 0;
    for (u32 w = 0; w < (shape.blocks + 63) / 64; ++w) {
        used += static_cast<u32>(std::popcount(bits_of(run)[w]));
    }
    allocated_.fetch_add(used * class_bytes(run.size_class), std::memory_order_relaxed);
    pages_[page].free_blocks = shape.blocks - used;
    if (used != shape.blocks) push(partial(run.owner, run.size_class), page);
}

/// All pages of an allocated run know its start; of a free one the first and the last.
void heap::set_run(u64 page, u64 pages, bool is_free) noexcept {
    const u32 start = static_cast<u32>(page);
    const bool begins = pages_[page].begins_segment;
    pages_[page] = {start, static_cast<u32>(pages), 0, 0, 0, 0, begins, 0};
    pages_[page + pages - 1].start = start;
    for (u64 i = 1; i + 1 < pages && !is_free; ++i) pages_[page + i].start = start;
}

// ------------------------------------------------------------------------------------------ lists

u32& heap::bin_of(u64 pages) noexcept { return free_[std::bit_width(pages) - 1]; }

void heap::push(u32& list, u64 page) noexcept {
    pages_[page].next = list;
    pages_[page].previous = 0;
    if (list != 0) pages_[list].previous = static_cast<u32>(page);
    list = static_cast<u32>(page);
}

void heap::remove(u32& list, u64 page) noexcept {
    page_info& info = pages_[page];
    (info.previous == 0 ? list : pages_[info.previous].next) = info.next;
    if (info.next != 0) pages_[info.next].previous = info.previous;
    info.next = info.previous = 0;
}

// ------------------------------------------------------------------------------------------- runs

void heap::write_free(change& by, u64 page, u64 pages, u64 freed) {
    run_header& run = *run_at(page);
    by.announce(&run, sizeof run);
    run = {run_kind::free, 0, 0, pages, 0, 0, {}};
    set_run(page, pages, true);
    pages_[page].freed = freed;
    push(bin_of(pages), page);
}

/// First fit in the smallest bin that has a run of that many pages.
result<heap::taken_run> heap::take_run(change& by, u64 pages) {
    for (int attempt = 0;; ++attempt) {
        for (unsigned b = static_cast<unsigned>(std::bit_width(pages)) - 1; b < bins; ++b) {
            for (u64 page = free_[b]; page != 0; page = pages_[page].next) {
                const u64 found = pages_[page].pages;
                if (found < pages) continue;
                const u64 freed = pages_[page].freed;
                remove(free_[b], page);
                if (found > pages) write_free(by, page + pages, found - pages, freed);
                set_run(page, pages, false);
                return taken_run{page, freed < by.epoch()};
            }
        }
        HF_CHECK(attempt < 2, "a heap that has just grown has no run of that many pages");
        if (auto ok = grow(pages); !ok) return tl::unexpected(ok.error());
    }
}

/// Pages that may still be appended, without those that the undo logs are to have.
u64 heap::room() const {
    u64 log_pages = 0;
    for (const segment& s : file_.segments()) {
        const bool is_log = s.kind == segment_kind::log || s.kind == segment_kind::section_log;
        log_pages += is_log ? s.pages : 0;
    }
    const u64 kept = kept_from_heap(file_.max_pages());
    const u64 taken = file_.size() / page_bytes + (kept > log_pages ? kept - log_pages : 0);
    return file_.max_pages() > taken ? file_.max_pages() - taken : 0;
}

/// A quarter of the region more; less where that much cannot be had.
result<void> heap::grow(u64 pages) {
    const u64 most = room();
    if (pages > most) {
        return failure({errc::no_space, "allocate " + std::to_string(pages) + " pages of 64 KiB",
                        file_.path().string(),
                        "the group's maximal size leaves " + std::to_string(most) +
                            ", without those of the undo logs",
                        "allow a larger maximal size, or free memory"});
    }
    const u64 wanted = std::min(
        most, std::clamp(file_.size() / page_bytes / 4, min_growth_pages, max_growth_pages));
    for (u64 n = std::max(wanted, pages);; n = std::max(n / 4, pages)) {
        auto grown = file_.grow(segment_kind::heap, n, 0);
        if (grown) {
            ::madvise(file_.base() + grown->offset, grown->bytes(), MADV_DONTFORK);
            if (grown_) grown_(file_.base() + grown->offset, grown->bytes());
            return adopt_segment(*grown);
        }
        if (n == pages || grown.error().code != errc::no_space) {
            return tl::unexpected(grown.error());
        }
    }
}

/// The run becomes free, together with free neighbours of its segment (H1).
void heap::give_run(change& by, u64 page) {
    u64 first = page;
    u64 pages = pages_[page].pages;
    const auto is_free = [this](u64 p) {
        return pages_[p].start == p && run_at(p)->kind == run_kind::free;
    };
    const auto absorb = [this](u64 p) {
        remove(bin_of(pages_[p].pages), p);
        return u64{pages_[p].pages};
    };
    const u64 next = page + pages;
    if (next < known_end_ && !pages_[next].begins_segment && is_free(next)) {
        pages += absorb(next);
        pages_[next].start = 0;
    }
    const u64 before = pages_[page].begins_segment ? 0 : pages_[page - 1].start;
    if (before != 0 && is_free(before)) {
        pages += absorb(before);
        first = before;
        pages_[page].start = 0;
    }
    write_free(by, first, pages, by.epoch());
}

result<u64> heap::make_slab(change& by, u16 owner, unsigned c) {
    const auto taken = take_run(by, slab_pages(c));
    if (!taken) return tl::unexpected(taken.error());
    const u64 page = taken->page;
    run_header& run = *run_at(page);
    by.announce(&run, sizeof run);
    by.zero(&run, slab_shapes[c].first);
    run.kind = run_kind::slab;
    run.size_class = static_cast<u16>(c);
    run.owner = owner;
    run.pages = slab_pages(c);
    pages_[page].free_blocks = slab_shapes[c].blocks;
    push(partial(owner, c), page);
    return page;
}

}  // namespace hf::section
