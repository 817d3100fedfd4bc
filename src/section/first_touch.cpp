#include "section/first_touch.hpp"

#include "base/check.hpp"
#include "section/inside_runtime.hpp"

#include <sys/mman.h>

#include <cerrno>

namespace hf::section {
namespace {

constexpr u64 tag_bytes = window_size / line_size;

constexpr u64 max_limit = u64{256} << 20;

/// Logs have a 256th of the region's largest size, of which one thread gets at most half
/// (alloc/geometry.hpp). At an eighth of that 256th a cut is due, at a quarter new sections wait
/// for it: so the sections in flight have as much again, though one thread has logged everything.
u64 limit_of(const region& r) {
    return std::min(r.max_pages() * layout::page_size / 2048, max_limit);
}

}  // namespace

first_touch::first_touch(region& r, bool keeps_log)
    : region_(r),
      keeps_log_(keeps_log),
      limit_(limit_of(r)),
      least_room_(std::min(2 * limit_, layout::page_size)),
      logs_(new std::array<thread_log, max_threads>) {
    void* const p = ::mmap(nullptr, tag_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HF_CHECK(p != MAP_FAILED, "no address space for the tags of a region's lines");
    ::madvise(p, tag_bytes, MADV_HUGEPAGE);  // a wish: random lines miss the TLB otherwise
    tags_ = static_cast<std::atomic<u8>*>(p);
}

first_touch::~first_touch() { ::munmap(static_cast<void*>(tags_), tag_bytes); }

void first_touch::claim(thread_record& by, u64 line, u64 epoch) noexcept(!crashes_throw) {
    const inside_runtime in;
    __builtin_prefetch(region_.base() + line * line_size, 1);
    HF_CHECK(line < region_.size() / line_size,
             "a store is announced to memory in the window of the group that it does not have");
    u8 seen = untouched;
    if (tags_[line].compare_exchange_strong(seen, busy, std::memory_order_acq_rel)) {
        append(by, line, epoch);
        by.lines.push(line);
        tags_[line].store(touched, std::memory_order_release);
        return;
    }
    backoff pause;
    while (tags_[line].load(std::memory_order_acquire) == busy) pause.wait();
}

void first_touch::own_fresh(thread_record& by, const void* p, std::size_t n) noexcept {
    if (!keeps_log_) return;  // only lines that are stored to are to be captured
    const u64 end = line_of(static_cast<const std::byte*>(p) + n);
    for (u64 l = line_of(static_cast<const std::byte*>(p) + line_size - 1); l < end; ++l) {
        u8 seen = untouched;
        if (tags_[l].compare_exchange_strong(seen, touched, std::memory_order_acq_rel)) {
            by.lines.push(l);
        }
    }
}

void first_touch::append(thread_record& by, u64 line, u64 epoch) noexcept(!crashes_throw) {
    thread_log& mine = (*logs_)[by.index];
    if (!mine.attached.load(std::memory_order_relaxed)) [[unlikely]] {
        attach(mine, by.index);
    }
    const u64 lines = mine.lines.load(std::memory_order_relaxed) + 1;
    mine.lines.store(lines, std::memory_order_relaxed);
    if (!keeps_log_) return;
    if (!mine.writer.try_append_line(line * line_size, epoch)) [[unlikely]] {
        append_slowly(mine, line, epoch);
    }
    HF_PERSIST_POINT("section U0: a line's undo entry is durable before the line is stored to");
    if (lines % told_lines != 0) return;
    // Told now and then: a little lag does not matter to should_cut().
    const u64 before =
        epoch_bytes_.fetch_add(told_lines * 2 * line_size, std::memory_order_relaxed);
    const bool is_short = !mine.writer.has_room(least_room_);
    if (is_short) is_short_.store(true, std::memory_order_relaxed);
    if ((before > 2 * limit_ || is_short) && gate_ != nullptr) [[unlikely]] {
        gate_->hold();
    }
}

/// The first entry of an epoch, or of a segment.
void first_touch::append_slowly(thread_log& mine, u64 line, u64 epoch) noexcept(!crashes_throw) {
    const int kept = errno;  // the program has no call here that might change it
    const log_object image{line * line_size, line_size};
    const auto done = mine.writer.append({&image, 1}, epoch);
    if (!done) fatal(("the undo log of sections is full: " + done.error().to_string()).c_str());
    errno = kept;
}

void first_touch::attach(thread_log& mine, u32 index) {
    if (keeps_log_) mine.writer.attach(region_, static_cast<u16>(index + 1));
    u32 seen = logs_used_.load(std::memory_order_relaxed);
    while (seen <= index && !logs_used_.compare_exchange_weak(seen, index + 1)) {
    }
    mine.attached.store(true, std::memory_order_release);
}

u64 first_touch::lines() const noexcept {
    u64 n = 0;
    for (u32 i = 0; i < logs_used_.load(std::memory_order_acquire); ++i) {
        n += (*logs_)[i].lines.load(std::memory_order_relaxed);
    }
    return n;
}

void first_touch::write_back(const thread_table& threads) const noexcept {
    const u32 n = threads.used();
    for (u32 i = 0; i < n; ++i) {
        const auto lines = threads.at(i).lines.all();
        region_.med().flush_lines(region_.base(), lines.data(), lines.size());
    }
    region_.med().fence();
}

void first_touch::collect(const thread_table& threads, dirty_set& into) {
    const u32 n = threads.used();
    for (u32 i = 0; i < n; ++i) into.collect(threads.at(i).lines.all());
}

void first_touch::reset(const thread_table& threads) noexcept {
    const u32 n = threads.used();
    for (u32 i = 0; i < n; ++i) {
        for (const u64 l : threads.at(i).lines.all()) {
            tags_[l].store(untouched, std::memory_order_relaxed);
        }
        threads.at(i).lines.clear();
    }
    epoch_bytes_.store(0, std::memory_order_relaxed);
    is_short_.store(false, std::memory_order_relaxed);
}

}  // namespace hf::section
