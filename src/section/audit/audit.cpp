#include "section/audit/audit.hpp"

#include "section/audit/ranges.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace hf::section_audit {
namespace {

constexpr std::size_t max_ranges = 64;
constexpr std::size_t block_bytes = 256;  // compared at once

audited_range ranges[max_ranges];
std::atomic<std::size_t> range_count{0};
std::atomic<std::size_t> announcements{0};
std::mutex bookkeeping;
hf_audit_mode mode = HF_AUDIT_COMPARE;

/// This thread's announcement outside of all sections (A2), and its latest hook.
thread_local const unsigned char* last_begin = nullptr;
thread_local std::size_t last_size = 0;
thread_local const void* last_pc = nullptr;

unsigned char* private_pages(std::size_t n) {
    void* const at = ::mmap(nullptr, n, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        std::perror("holdfast: the audit of sections: no memory for its shadow");
        std::abort();
    }
    return static_cast<unsigned char*>(at);
}

/// Makes the bytes as they are the truth.
void accept(const audited_range& range, const unsigned char* p, std::size_t n) {
    const std::size_t at = static_cast<std::size_t>(p - range.begin);
    std::memcpy(range.shadow + at, p, n);
    std::memset(range.announced + at, 0, n);
}

/// [p, p + n) without what lies outside of the range.
std::size_t clipped(const audited_range& range, const unsigned char* p, std::size_t n) {
    return std::min(n, static_cast<std::size_t>(range.begin + range.size - p));
}

}  // namespace

const audited_range* range_of(const void* p) {
    const std::size_t count = range_count.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
        if (ranges[i].holds(p)) return &ranges[i];
    }
    return nullptr;
}

void check_bytes(const audited_range& range, const unsigned char* p, std::size_t n, const void* pc,
                 bool is_exact) {
    const std::size_t begin = static_cast<std::size_t>(p - range.begin);
    bool follows = false;  // bytes side by side are one finding
    for (std::size_t i = begin; i < begin + n; ++i) {
        if (i % block_bytes == 0 && i + block_bytes <= begin + n &&
            std::memcmp(range.begin + i, range.shadow + i, block_bytes) == 0) {
            i += block_bytes - 1;
            follows = false;
            continue;
        }
        const bool is_missed = range.begin[i] != range.shadow[i] && range.announced[i] == 0;
        if (is_missed) {
            if (!follows) add_finding(range.begin + i, pc, last_pc, is_exact);
            range.shadow[i] = range.begin[i];
        }
        follows = is_missed;
    }
}

}  // namespace hf::section_audit

using namespace hf::section_audit;

extern "C" {

void hf_audit_start(enum hf_audit_mode wanted) {
    mode = wanted;
    if (mode == HF_AUDIT_EXACT) install_handlers();
}

void hf_audit_map(void* base, size_t n) {
    const std::lock_guard lock(bookkeeping);
    const std::size_t index = range_count.load(std::memory_order_relaxed);
    if (index == max_ranges) {
        std::fputs("holdfast: the audit of sections: more than 64 ranges\n", stderr);
        std::abort();
    }
    audited_range& range = ranges[index];
    range = {static_cast<unsigned char*>(base), n, private_pages(n), private_pages(n)};
    std::memcpy(range.shadow, base, n);
    range_count.store(index + 1, std::memory_order_release);
    if (mode == HF_AUDIT_EXACT) protect(range);
}

void hf_audit_announced(const void* p, size_t n, const void* pc) {
    const audited_range* const range = range_of(p);
    const auto* const begin = static_cast<const unsigned char*>(p);
    if (range != nullptr) {
        announcements.fetch_add(1, std::memory_order_relaxed);
        const std::lock_guard lock(bookkeeping);
        const std::size_t size = clipped(*range, begin, n);
        check_bytes(*range, begin, size, pc, false);
        std::memset(range->announced + (begin - range->begin), 1, size);
    }
    last_begin = begin;
    last_size = n;
    last_pc = pc;
}

void hf_audit_stored(void) { hf_audit_accept(last_begin, last_size); }

void hf_audit_accept(const void* p, size_t n) {
    const audited_range* const range = range_of(p);
    if (range == nullptr) return;
    const std::lock_guard lock(bookkeeping);
    const auto* const begin = static_cast<const unsigned char*>(p);
    accept(*range, begin, clipped(*range, begin, n));
}

size_t hf_audit_cut(void) {
    const std::lock_guard lock(bookkeeping);
    const std::size_t count = range_count.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
        check_bytes(ranges[i], ranges[i].begin, ranges[i].size, nullptr, false);
        accept(ranges[i], ranges[i].begin, ranges[i].size);
    }
    return hf_audit_report(-1);
}

size_t hf_audit_announcements(void) { return announcements.load(std::memory_order_relaxed); }

void hf_audit_end(void) {
    const std::lock_guard lock(bookkeeping);
    const std::size_t count = range_count.exchange(0, std::memory_order_acq_rel);
    for (std::size_t i = 0; i < count; ++i) {
        if (mode == HF_AUDIT_EXACT) unprotect(ranges[i]);
        ::munmap(ranges[i].shadow, ranges[i].size);
        ::munmap(ranges[i].announced, ranges[i].size);
    }
}

}  // extern "C"
