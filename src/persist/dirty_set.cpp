#include "persist/dirty_set.hpp"

#include "base/check.hpp"
#include "base/lock_order.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

namespace hf {

namespace {

constexpr u64 word_bits = 64;

constexpr u64 words_for(u64 bits) { return (bits + word_bits - 1) / word_bits; }

/// Calls `visit` with the number of each bit that is set, and clears them.
template <class Visit>
void drain(u64& word, u64 first, Visit visit) {
    for (u64 left = word; left != 0; left &= left - 1) {
        visit(first + static_cast<u64>(std::countr_zero(left)));
    }
    word = 0;
}

}  // namespace

dirty_set::dirty_set(const std::byte* base, u64 max_bytes)
    : base_(base), pages_(words_for(max_bytes / line_size)) {
    void* p = ::mmap(nullptr, (pages_ + words_for(pages_)) * sizeof(u64), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HF_CHECK(p != MAP_FAILED, "no address space for the set of dirty lines (ulimit -v)");
    bits_ = static_cast<u64*>(p);
    page_bits_ = bits_ + pages_;
}

dirty_set::~dirty_set() { ::munmap(bits_, (pages_ + words_for(pages_)) * sizeof(u64)); }

/// Adds a line; returns the number of lines by which the set has grown: 0 or 1.
u64 dirty_set::add(u64 line) noexcept {
    const u64 page = line / word_bits;
    u64& word = bits_[page];
    const u64 bit = u64{1} << (line % word_bits);
    if ((word & bit) != 0) return 0;
    if (word == 0) {
        page_bits_[page / word_bits] |= u64{1} << (page % word_bits);
        end_page_ = std::max(end_page_, page + 1);
    }
    word |= bit;
    return 1;
}

void dirty_set::note(const void* p, std::size_t n) {
    if (n == 0) return;
    const u64 at = static_cast<u64>(static_cast<const std::byte*>(p) - base_);
    const u64 last = (at + n - 1) / line_size;
    HF_CHECK(last / word_bits < pages_, "a flush outside of the region");
    {
        const ranked_guard lock(lock_rank::dirty_lines, mutex_);
        u64 added = 0;
        for (u64 line = at / line_size; line <= last; ++line) added += add(line);
        size_.store(size() + added, std::memory_order_relaxed);
    }
    slow_down();
}

void dirty_set::collect(std::span<const u64> line_numbers) {
    // The bits are scattered: without prefetching, each would cost a full cache miss.
    constexpr std::size_t ahead = 16;
    const ranked_guard lock(lock_rank::dirty_lines, mutex_);
    u64 added = 0;
    for (std::size_t i = 0; i < line_numbers.size(); ++i) {
        if (i + ahead < line_numbers.size()) {
            __builtin_prefetch(&bits_[line_numbers[i + ahead] / word_bits], 1);
        }
        added += add(line_numbers[i]);
    }
    size_.store(size() + added, std::memory_order_relaxed);
}

void dirty_set::note_lines(std::span<const u64> line_numbers) {
    collect(line_numbers);
    slow_down();
}

// The sleep grows with the excess over the limit.
void dirty_set::slow_down() const {
    const u64 limit = limit_.load(std::memory_order_relaxed);
    const u64 excess = size() / std::max<u64>(limit, 1);
    if (excess < 2) [[likely]] {
        return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min<u64>(excess, 20)));
}

void dirty_set::take(std::vector<u64>& lines) {
    const ranked_guard lock(lock_rank::dirty_lines, mutex_);
    lines.resize(size());
    u64* next = lines.data();
    for (u64 w = 0; w < words_for(end_page_); ++w) {
        drain(page_bits_[w], w * word_bits, [&](u64 page) {
            drain(bits_[page], page * word_bits, [&](u64 line) { *next++ = line; });
        });
    }
    HF_CHECK(next == lines.data() + lines.size(), "dirty lines were miscounted");
    size_.store(0, std::memory_order_relaxed);
}

}  // namespace hf
