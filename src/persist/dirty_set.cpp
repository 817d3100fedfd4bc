#include "persist/dirty_set.hpp"

#include "base/check.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <chrono>
#include <thread>

namespace hf {

dirty_set::dirty_set(const std::byte* base, u64 max_bytes)
    : base_(base), words_((max_bytes / line_size + 63) / 64) {
    void* p = ::mmap(nullptr, words_ * sizeof(u64), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HF_CHECK(p != MAP_FAILED, "no address space for the set of dirty lines (ulimit -v)");
    bits_ = static_cast<u64*>(p);
}

dirty_set::~dirty_set() { ::munmap(bits_, words_ * sizeof(u64)); }

void dirty_set::add(u64 line) {
    u64& word = bits_[line / 64];
    const u64 bit = u64{1} << (line % 64);
    if ((word & bit) != 0) return;
    word |= bit;
    lines_.push_back(line);
}

void dirty_set::note(const void* p, std::size_t n) {
    if (n == 0) return;
    const u64 at = static_cast<u64>(static_cast<const std::byte*>(p) - base_);
    const u64 last = (at + n - 1) / line_size;
    HF_CHECK(last / 64 < words_, "a flush outside of the region");
    {
        const std::lock_guard lock(mutex_);
        for (u64 line = at / line_size; line <= last; ++line) add(line);
        size_.store(lines_.size(), std::memory_order_relaxed);
    }
    slow_down();
}

void dirty_set::collect(std::span<const u64> line_numbers) {
    const std::lock_guard lock(mutex_);
    for (const u64 line : line_numbers) add(line);
    size_.store(lines_.size(), std::memory_order_relaxed);
}

void dirty_set::note_lines(std::span<const u64> line_numbers) {
    collect(line_numbers);
    slow_down();
}

// The further over the limit, the longer.
void dirty_set::slow_down() const {
    const u64 limit = limit_.load(std::memory_order_relaxed);
    const u64 excess = size() / std::max<u64>(limit, 1);
    if (excess < 2) [[likely]]
        return;
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min<u64>(excess, 20)));
}

std::vector<u64> dirty_set::take() {
    const std::lock_guard lock(mutex_);
    std::vector<u64> taken;
    taken.reserve(lines_.capacity());
    taken.swap(lines_);
    for (const u64 line : taken) bits_[line / 64] &= ~(u64{1} << (line % 64));
    size_.store(0, std::memory_order_relaxed);
    return taken;
}

}  // namespace hf
