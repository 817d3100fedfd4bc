// persist/medium.hpp: from a store to durable.
//
// Purpose. The only place that emits a cache-line write-back, a fence or a non-temporal store.
//  Their cost and meaning depend on the medium:
//
//   kind  instruction  flush(line)          fence()              survives
//   dax   clwb ...     write the line back  sfence (+ latency)   power loss
//   eadr  none         nothing              sfence (+ latency)   power loss (caches included)
//   eadr  clwb ...     write the line back  sfence (+ latency)   as above, at a higher cost
//   shm   none         nothing              compiler barrier     the process, not the power
//   shm   clwb ...     write the line back  sfence (+ latency)   the process; emulates NVM
//   any   none         into the dirty set   compiler barrier     as the medium, once journalled
//
// The last row is a journalled image (region_options::image), the only one on the medium `file`.
//
// Invariants.
//  I1 After persist(p, n), every byte of [p, p+n) as it was at the call survives the crashes that
//     the medium survives. With a journalled image the next checkpoint contains them
//     (dirty_set.hpp, journal/), and they are durable when that checkpoint is.
//  I2 A flush alone promises nothing before the next fence of the SAME thread.
//  I3 Two stores to one line reach the medium in program order (PCSO), flushed or not, provided
//     that the compiler keeps the order: use std::atomic release stores (ordered.hpp). A store of
//     more than 8 bytes may be torn.
//  I4 Only executed instructions are counted: without an instruction, flushes are neither made
//     nor counted.
// Concurrency. A value type without state of its own; counters are per thread (counters.hpp).
// Emulated latency. fence() spins for fence_latency_ns after the sfence, as if it waited for the
//  medium's write. A medium with latency always fences, even shm without flushes.
// Literature. Paper 000 section 2 (PCSO); Coburn et al., "NV-Heaps", ASPLOS 2011, section 4.1
//  (latency presets); Intel SDM vol. 2 on CLWB, CLFLUSHOPT and SFENCE.
#pragma once

#include <holdfast/options.hpp>

#include "base/bits.hpp"
#include "persist/counters.hpp"
#include "persist/dirty_set.hpp"
#include "persist/trace.hpp"

#include <emmintrin.h>

#include <cstring>
#include <optional>
#include <string_view>

#ifndef __x86_64__
#error "Holdfast knows only x86-64's cache-line write-back instructions so far"
#endif

namespace hf {

enum class flush_instruction : u8 { none, clflush, clflushopt, clwb };

[[nodiscard]] std::string_view to_string(flush_instruction i) noexcept;

/// The cheapest instruction of this processor, by cpuid: clwb (keeps the line cached),
/// clflushopt, clflush.
[[nodiscard]] flush_instruction best_flush_instruction() noexcept;
/// True if this processor has it. Executing a missing one is an illegal instruction.
[[nodiscard]] bool has_flush_instruction(flush_instruction i) noexcept;

/// Nanoseconds to add after a fence to emulate "dram" (0), "pcm" (180) or "sttm" (60):
/// the write times of NV-Heaps, section 4.1 (215 ns PCM, 95 ns STTM), less its 35 ns of DRAM, which
/// the machine takes anyway.
[[nodiscard]] std::optional<u32> latency_preset(std::string_view name) noexcept;

class medium {
   public:
    /// shm without flushes.
    medium() noexcept = default;
    medium(medium_kind kind, flush_instruction instruction, u32 fence_latency_ns) noexcept;
    /// A journalled image on `kind`: flushed lines are added to `dirty`, which must outlive all
    /// copies of this.
    explicit medium(dirty_set& dirty, medium_kind kind = medium_kind::file) noexcept
        : kind_(kind), dirty_(&dirty) {}

    /// Writes back every line that [p, p+n) touches. n = 0 touches none.
    HF_TRACED_AT_CALLER void flush(const void* p, std::size_t n) const noexcept {
        if (instruction_ == flush_instruction::none || n == 0) return note(p, n);
        const auto first = align_down(reinterpret_cast<u64>(p), line_size);
        const auto last = align_down(reinterpret_cast<u64>(p) + n - 1, line_size);
        const u64 lines = (last - first) / line_size + 1;
        each_line(lines,
                  [first](u64 i) { return reinterpret_cast<const char*>(first + i * line_size); });
    }

    /// Writes back the line that holds the byte at p.
    void flush_line(const void* p) const noexcept {
        if (instruction_ == flush_instruction::none) return note(p, 1);
        each_line(1, [p](u64) { return static_cast<const char*>(p); });
    }

    /// Writes back the lines base + 64 * line_numbers[i]. Counts once, with one branch on the
    /// instruction.
    void flush_lines(const std::byte* base, const u64* line_numbers, std::size_t n) const noexcept {
        if (instruction_ == flush_instruction::none) {
            if (dirty_ != nullptr) dirty_->note_lines({line_numbers, n});
            return;
        }
        each_line(n, [base, line_numbers](u64 i) {
            return reinterpret_cast<const char*>(base) + line_numbers[i] * line_size;
        });
    }

    /// Writes back the lines that begin at these addresses; counts once, as above.
    void flush_lines(const u64* addresses, std::size_t n) const noexcept {
        const auto at = [addresses](u64 i) { return reinterpret_cast<const char*>(addresses[i]); };
        if (instruction_ != flush_instruction::none) return each_line(n, at);
        for (std::size_t i = 0; i < n; ++i) note(at(i), line_size);
    }

    /// When this returns, everything that this thread flushed or streamed before is durable.
    HF_TRACED_AT_CALLER void fence() const noexcept {
        if (!fences_) {
            asm volatile("" ::: "memory");
            return;
        }
        fence_once();
        detail::count(detail::counters_of_thread().fences, 1);
        if (fence_latency_ns_ != 0) [[unlikely]] {
            wait();
        }
    }

    /// Everything that this thread flushed or streamed before becomes durable before its later
    /// stores. Free on eADR without flushes: a store is durable when executed, and x86 keeps the
    /// order of stores. Streaming stores are not ordered like that; they only occur with flushes.
    HF_TRACED_AT_CALLER void order() const noexcept {
        if (kind_ == medium_kind::eadr && instruction_ == flush_instruction::none) {
            asm volatile("" ::: "memory");
            return;
        }
        fence();
    }

    HF_TRACED_AT_CALLER void persist(const void* p, std::size_t n) const noexcept {
        flush(p, n);
        fence();
    }

    /// Copies with streaming stores where possible (whole, aligned words); the rest is copied and
    /// flushed. The caller must fence; before that no byte of it is guaranteed to be durable.
    void stream(void* dst, const void* src, std::size_t n) const noexcept;
    /// Streams one line; `line` is its begin.
    void stream_line(void* line, const void* src) const noexcept;

    /// True if flush() has an effect.
    [[nodiscard]] bool flushes() const noexcept {
        return instruction_ != flush_instruction::none || dirty_ != nullptr;
    }
    /// True if a crash restores memory as of a boundary, so that nothing has to be undone: epochs
    /// reach the medium completely or not at all.
    [[nodiscard]] bool is_atomic() const noexcept { return dirty_ != nullptr; }
    /// True if fence() has an effect.
    [[nodiscard]] bool fences() const noexcept { return fences_; }
    [[nodiscard]] medium_kind kind() const noexcept { return kind_; }
    [[nodiscard]] flush_instruction instruction() const noexcept { return instruction_; }
    [[nodiscard]] u32 fence_latency_ns() const noexcept { return fence_latency_ns_; }

   private:
    void note(const void* p, std::size_t n) const noexcept {
        if (dirty_ != nullptr) dirty_->note(p, n);
    }

    // The barrier at the begin keeps the caller's stores before the write-backs; none is needed
    // between these.
    template <class AddressOf>
    void each_line(u64 n, AddressOf address_of) const noexcept {
        asm volatile("" ::: "memory");
#ifdef HF_TRACE_SINK
        for (u64 i = 0; i < n && trace::sink != nullptr; ++i) trace::sink->flush(address_of(i));
#endif
#ifndef HF_TRACE
        switch (trace::is_watched() ? flush_instruction::none : instruction_) {
            case flush_instruction::none:
                break;
            case flush_instruction::clflush:
                for (u64 i = 0; i < n; ++i) asm volatile("clflush %0" ::"m"(*address_of(i)));
                break;
            case flush_instruction::clflushopt:
                for (u64 i = 0; i < n; ++i) asm volatile("clflushopt %0" ::"m"(*address_of(i)));
                break;
            case flush_instruction::clwb:
                for (u64 i = 0; i < n; ++i) asm volatile("clwb %0" ::"m"(*address_of(i)));
                break;
        }
#endif
        detail::count(detail::counters_of_thread().flushes, n);
    }

    HF_TRACED_AT_CALLER static void fence_once() noexcept {
#ifdef HF_TRACE_SINK
        if (trace::sink != nullptr) return trace::sink->fence();
#endif
#ifndef HF_TRACE
        asm volatile("sfence" ::: "memory");
#endif
    }

    void wait() const noexcept;

    medium_kind kind_ = medium_kind::shm;
    flush_instruction instruction_ = flush_instruction::none;
    bool fences_ = false;
    u32 fence_latency_ns_ = 0;
    u64 fence_cycles_ = 0;
    dirty_set* dirty_ = nullptr;
};

}  // namespace hf
