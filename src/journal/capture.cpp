#include "journal/capture.hpp"

#include "base/check.hpp"
#include "persist/stream_copy.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace hf::journal {

namespace {
constexpr u64 granule = u64{4} << 20;
constexpr u64 kept = u64{192} << 20;
}  // namespace

capture::~capture() { release(); }

void capture::release() noexcept {
    if (data_ != nullptr) ::munmap(data_, room_);
    data_ = nullptr;
    room_ = 0;
}

void capture::begin(u64 epoch, dirty_set& set) {
    epoch_ = epoch;
    set.take(lines_);
    const u64 needed = lines_.size() * line_size;
    if (needed <= room_) return;
    release();
    const u64 room = align_up(needed + needed / 4, granule);
    void* p = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HF_CHECK(p != MAP_FAILED, "no memory for the lines of an epoch");
    ::madvise(p, room, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(p);
    room_ = room;
}

void capture::copy(const std::byte* base, std::size_t from, std::size_t n) noexcept {
    // The lines are scattered: without prefetching, each would cost a full cache miss.
    constexpr std::size_t ahead = 32;
    const std::size_t end = from + n;
    for (std::size_t i = from; i < end; ++i) {
        __builtin_prefetch(base + lines_[std::min(i + ahead, end - 1)] * line_size, 0, 0);
        stream_copy(data_ + i * line_size, base + lines_[i] * line_size, line_size);
    }
    stream_fence();
}

void capture::clear() {
    lines_.clear();
    if (room_ <= kept) return;
    release();
    lines_ = {};
}

}  // namespace hf::journal
