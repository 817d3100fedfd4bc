#include "persist/medium.hpp"

#include "base/check.hpp"
#include "base/clock.hpp"
#include "persist/stream_copy.hpp"

#include <cpuid.h>
#include <x86intrin.h>

namespace hf {
namespace {

bool cpuid_bit(unsigned leaf, unsigned number_of_register, unsigned bit) noexcept {
    unsigned r[4] = {};
    if (__get_cpuid_count(leaf, 0, &r[0], &r[1], &r[2], &r[3]) == 0) return false;
    return ((r[number_of_register] >> bit) & 1U) != 0;
}

constexpr unsigned ebx = 1;
constexpr unsigned edx = 3;

struct instant {
    u64 ns;
    u64 cycles;
};

// Reads both clocks at the same time; retries if the two reads were too far apart.
instant read_clocks() noexcept {
    constexpr u64 close_enough = 10'000;
    instant best{};
    u64 narrowest = ~u64{0};
    for (int attempt = 0; attempt < 1000 && narrowest > close_enough; ++attempt) {
        const u64 before = __rdtsc();
        const u64 ns = now_ns();
        const u64 after = __rdtsc();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = {ns, before};
        }
    }
    return best;
}

// Time-stamp-counter cycles in 1,024 ns; 0 if the counter has no constant rate.
u64 cycles_per_1024_ns() noexcept {
    static const u64 measured = []() -> u64 {
        if (!cpuid_bit(0x80000007U, edx, 8)) return 0;
        constexpr u64 span_ns = 4'000'000;
        const instant start = read_clocks();
        instant end = start;
        while (end.ns - start.ns < span_ns) end = read_clocks();
        return (end.cycles - start.cycles) * 1024 / (end.ns - start.ns) + 1;
    }();
    return measured;
}

}  // namespace

std::string_view to_string(flush_instruction i) noexcept {
    switch (i) {
        case flush_instruction::none:
            return "none";
        case flush_instruction::clflush:
            return "clflush";
        case flush_instruction::clflushopt:
            return "clflushopt";
        case flush_instruction::clwb:
            return "clwb";
    }
    return "unknown";
}

bool has_flush_instruction(flush_instruction i) noexcept {
    switch (i) {
        case flush_instruction::none:
            return true;
        case flush_instruction::clflush:
            return cpuid_bit(1, edx, 19);
        case flush_instruction::clflushopt:
            return cpuid_bit(7, ebx, 23);
        case flush_instruction::clwb:
            return cpuid_bit(7, ebx, 24);
    }
    return false;
}

flush_instruction best_flush_instruction() noexcept {
    static const flush_instruction best = [] {
        for (const auto i :
             {flush_instruction::clwb, flush_instruction::clflushopt, flush_instruction::clflush}) {
            if (has_flush_instruction(i)) return i;
        }
        return flush_instruction::none;
    }();
    return best;
}

std::optional<u32> latency_preset(std::string_view name) noexcept {
    constexpr u32 dram_write_ns = 35;
    if (name == "dram") return 0;
    if (name == "pcm") return 215 - dram_write_ns;
    if (name == "sttm") return 95 - dram_write_ns;
    return std::nullopt;
}

medium::medium(medium_kind kind, flush_instruction instruction, u32 fence_latency_ns) noexcept
    : kind_(kind),
      instruction_(instruction),
      fences_(kind != medium_kind::shm || instruction != flush_instruction::none ||
              fence_latency_ns != 0),
      fence_latency_ns_(fence_latency_ns) {
    HF_CHECK(has_flush_instruction(instruction), "this processor lacks the flush instruction");
    if (fence_latency_ns != 0) {
        fence_cycles_ = (fence_latency_ns * cycles_per_1024_ns() + 1023) / 1024;
    }
}

void medium::wait() const noexcept {
    // rdtsc may execute while sfence still waits for its lines, so that the emulated latency would
    // overlap with the real one. A locked instruction waits for both.
    asm volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc");
    if (fence_cycles_ != 0) {
        const u64 start = __rdtsc();
        while (__rdtsc() - start < fence_cycles_) _mm_pause();
        return;
    }
    const u64 start = now_ns();
    while (now_ns() - start < fence_latency_ns_) _mm_pause();
}

void medium::stream(void* dst, const void* src, std::size_t n) const noexcept {
    if (instruction_ == flush_instruction::none) {
        if (n != 0) std::memcpy(dst, src, n);
        note(dst, n);
        return;
    }
#ifdef HF_TRACE_SINK
    if (trace::sink != nullptr) return trace::sink->stream(dst, src, n);
#endif
    auto* to = static_cast<std::byte*>(dst);
    const auto* from = static_cast<const std::byte*>(src);
    const auto address = reinterpret_cast<u64>(to);
    const std::size_t head = std::size_t{align_up(address, 16) - address};
    if (n < head + 16) {
        if (n != 0) std::memcpy(to, from, n);
        flush(to, n);
        return;
    }
    const std::size_t body = (n - head) & ~std::size_t{15};
    const std::size_t tail = n - head - body;
    if (head != 0) std::memcpy(to, from, head);
    if (tail != 0) std::memcpy(to + head + body, from + head + body, tail);
    flush(to, head);
    flush(to + head + body, tail);
    stream_copy(to + head, from + head, body);
    detail::count(detail::counters_of_thread().streamed_bytes, body);
}

void medium::stream_line(void* line, const void* src) const noexcept {
    if (instruction_ == flush_instruction::none) return stream(line, src, line_size);
#ifdef HF_TRACE_SINK
    if (trace::sink != nullptr) return trace::sink->stream(line, src, line_size);
#endif
    stream_copy(static_cast<std::byte*>(line), static_cast<const std::byte*>(src), line_size);
    detail::count(detail::counters_of_thread().streamed_bytes, line_size);
}

}  // namespace hf
