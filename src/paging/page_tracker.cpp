#include "paging/page_tracker.hpp"

#include "base/check.hpp"
#include "base/clock.hpp"
#include "paging/differing_lines.hpp"

#include <sys/mman.h>

#include <bit>

namespace hf {

namespace {

constexpr u64 lines_of_page = small_page / line_size;
static_assert(lines_of_page == 64, "a mask has 64 bits");
constexpr u64 first_page = header_bytes / small_page;
constexpr u64 every_line = ~u64{0};

}  // namespace

page_tracker::page_tracker(const std::byte* base, u64 max_bytes, int fd, way best)
    : base_(base), max_pages_(max_bytes / small_page), fd_(fd), way_(best) {
    void* p = ::mmap(nullptr, max_pages_ * sizeof(page_state), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HF_CHECK(p != MAP_FAILED, "no address space for the masks of pages (ulimit -v)");
    states_ = static_cast<page_state*>(p);
    if (how() == way::written) {
        written_ = written_pages::start();
        if (!written_) fall_back(way::copies);
    }
    if (!page_table_.open()) fall_back(way::all);
}

page_tracker::~page_tracker() {
    ::munmap(states_, max_pages_ * sizeof(page_state));
    ::munmap(const_cast<std::byte*>(file_), file_bytes_);  // no effect if it was never mapped
}

void page_tracker::watch(u64 from, u64 to) noexcept {
    if (how() == way::written && !written_->watch(base_ + from, to - from)) fall_back(way::copies);
}

bool page_tracker::find_copies(u64 end) {
    return page_table_.for_each_copy(base_, first_page, end, [this](u64 page) {
        if (!runs_.empty() && runs_.back().first + runs_.back().count == page) {
            ++runs_.back().count;
        } else {
            runs_.push_back({page, 1});
        }
    });
}

/// Finds the pages to check, up to page `end`. A method that fails may have lost pages; the next
/// one covers them (T3).
void page_tracker::find_pages(u64 end) {
    runs_.clear();
    if (how() == way::written && !written_->take(base_, first_page, end, runs_)) {
        fall_back(way::copies);
        runs_.clear();
    }
    if (how() == way::copies && !find_copies(end)) {
        fall_back(way::all);
        runs_.clear();
    }
    if (how() == way::all) runs_.push_back({first_page, end - first_page});
}

/// Extends the mapping of the base file to `bytes`; false: not possible.
bool page_tracker::reach(u64 bytes) noexcept {
    if (bytes <= file_bytes_) return true;
    void* p = file_ == nullptr
                  ? ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, 0)
                  : ::mremap(const_cast<std::byte*>(file_), file_bytes_, bytes, MREMAP_MAYMOVE);
    if (p == MAP_FAILED) return false;
    file_ = static_cast<const std::byte*>(p);
    file_bytes_ = bytes;
    return true;
}

u64 page_tracker::lines_to_capture(u64 page, u64 applied) noexcept {
    page_state& s = states_[page];
    u64 pending = s.mask;
    if (pending != 0 && s.epoch <= applied) pending = s.mask = 0;  // T2
    if ((page + 1) * small_page > file_bytes_) return every_line;
    const u64 at = page * small_page;
    return pending | differing_lines(base_ + at, file_ + at, pending);
}

std::vector<u64> page_tracker::collect(u64 region_bytes, u64 applied_epoch) {
    const u64 start = now_ns();
    find_pages(region_bytes / small_page);
    (void)reach(region_bytes);  // if it fails, the rest is captured without a comparison
    std::vector<u64> lines;
    u64 pages = 0;
    u64 again = 0;
    for (const small_page_run& r : runs_) {
        pages += r.count;
        for (u64 page = r.first; page < r.first + r.count; ++page) {
            const u64 found = lines_to_capture(page, applied_epoch);
            again += static_cast<u64>(std::popcount(states_[page].mask));
            for (u64 left = found; left != 0; left &= left - 1) {
                lines.push_back(page * lines_of_page + static_cast<u64>(std::countr_zero(left)));
            }
        }
    }
    collected_.fetch_add(1, std::memory_order_acq_rel);
    seen_.store(0, std::memory_order_relaxed);
    pages_ += pages;
    lines_ += lines.size();
    again_.store(again, std::memory_order_relaxed);
    last_ns_ = now_ns() - start;
    return lines;
}

void page_tracker::captured(std::span<const u64> lines, u64 epoch) noexcept {
    for (const u64 line : lines) {
        page_state& s = states_[line / lines_of_page];
        s.mask |= u64{1} << line % lines_of_page;
        s.epoch = epoch;
    }
}

void page_tracker::look(u64 region_bytes) {
    if (how() != way::written) return;
    const u64 boundaries = collected_.load(std::memory_order_acquire);
    const auto n = written_->count(base_, first_page, region_bytes / small_page, 8 * limit());
    seen_.store(n.value_or(0), std::memory_order_relaxed);
    // A count from before a boundary does not belong to the current epoch.
    if (collected_.load(std::memory_order_acquire) != boundaries) {
        seen_.store(0, std::memory_order_relaxed);
    }
}

std::string_view to_string(page_tracker::way w) noexcept {
    switch (w) {
        case page_tracker::way::written:
            return "written";
        case page_tracker::way::copies:
            return "copies";
        case page_tracker::way::all:
            return "all";
    }
    return "unknown";
}

}  // namespace hf
