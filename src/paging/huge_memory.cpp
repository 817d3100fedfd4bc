#include "paging/huge_memory.hpp"

#include "base/check.hpp"
#include "paging/page_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace hf {

namespace {

// Each step creates a separate mapping, of which a process may have 65,530.
constexpr u64 most_steps = 8192;

}  // namespace

bool huge_memory::map_zeros(u64 from, u64 to) noexcept {
    if (!empty() && from != end()) return false;
    void* p = ::mmap(base_ + from, to - from, PROT_READ | PROT_WRITE,
                     MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    // fails on a kernel without huge pages, which is harmless
    ::madvise(p, to - from, MADV_HUGEPAGE);
    if (empty()) begin_.store(from, std::memory_order_release);
    end_.store(to, std::memory_order_release);
    step_bytes_ = align_up(std::max(huge_page_bytes, (to - begin()) / most_steps), huge_page_bytes);
    return true;
}

u64 huge_memory::step_end() const noexcept {
    return std::min(align_down(begin(), huge_page_bytes) + step_bytes_, end());
}

std::optional<u64> huge_memory::step_to_file(const std::function<bool(u64 page)>& keep) {
    const u64 from = begin();
    const u64 bytes = step_end() - from;
    void* aside = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file_,
                         static_cast<off_t>(from));
    if (aside == MAP_FAILED) return std::nullopt;
    u64 given_back = 0;
    for (u64 at = 0; at < bytes; at += small_page) {
        if (keep((from + at) / small_page)) {
            std::memcpy(static_cast<std::byte*>(aside) + at, base_ + from + at, small_page);
        } else {
            ++given_back;
        }
    }
    ::madvise(aside, bytes, MADV_RANDOM);  // not earlier: a page that stays would be read once more
    const void* moved = ::mremap(aside, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, base_ + from);
    HF_CHECK(moved != MAP_FAILED, "no mapping to give memory back (vm.max_map_count)");
    begin_.store(from + bytes, std::memory_order_release);
    return given_back;
}

}  // namespace hf
