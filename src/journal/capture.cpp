#include "journal/capture.hpp"

#include "base/check.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

namespace hf::journal {

namespace {
constexpr u64 granule = u64{4} << 20;
constexpr u64 kept = u64{64} << 20;
}  // namespace

capture::~capture() { release(); }

void capture::release() noexcept {
    if (data_ != nullptr) ::munmap(data_, room_);
    data_ = nullptr;
    room_ = 0;
}

void capture::begin(u64 epoch, std::vector<u64> lines) {
    epoch_ = epoch;
    lines_ = std::move(lines);
    sort();
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

/// By 11 bits at a time, the lowest first: the world waits for it.
void capture::sort() {
    constexpr std::size_t few = 1024;
    constexpr unsigned bits = 11;
    constexpr u64 mask = (u64{1} << bits) - 1;
    if (lines_.size() < few) return std::sort(lines_.begin(), lines_.end());
    const u64 used = std::accumulate(lines_.begin(), lines_.end(), u64{0}, std::bit_or<>());
    spare_.resize(lines_.size());
    for (unsigned shift = 0; used >> shift != 0; shift += bits) {
        std::array<std::size_t, mask + 1> places{};
        for (const u64 line : lines_) ++places[line >> shift & mask];
        std::exclusive_scan(places.begin(), places.end(), places.begin(), std::size_t{0});
        for (const u64 line : lines_) spare_[places[line >> shift & mask]++] = line;
        lines_.swap(spare_);
    }
}

void capture::copy(const std::byte* base, std::size_t from, std::size_t n) noexcept {
    // The lines lie anywhere: without asking ahead, each would cost a whole miss.
    constexpr std::size_t ahead = 16;
    const std::size_t end = from + n;
    for (std::size_t i = from; i < end; ++i) {
        if (i + ahead < end) __builtin_prefetch(base + lines_[i + ahead] * line_size);
        std::memcpy(data_ + i * line_size, base + lines_[i] * line_size, line_size);
    }
}

void capture::clear() {
    lines_.clear();
    if (room_ <= kept) return;
    release();
    lines_ = {};
    spare_ = {};
}

}  // namespace hf::journal
