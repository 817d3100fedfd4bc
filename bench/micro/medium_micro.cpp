// The cost of a write-back and of a fence on this machine, in DRAM.
#include "base/check.hpp"
#include "base/random.hpp"
#include "persist/medium.hpp"

#include <benchmark/benchmark.h>

#include <sys/mman.h>

#include <vector>

namespace hf::bench {

namespace {

medium flushing() { return {medium_kind::shm, best_flush_instruction(), 0}; }

/// Memory much larger than the L2 cache, with its lines in random order.
struct lines {
    static constexpr u64 bytes = u64{64} << 20;
    std::byte* base;
    std::vector<u64> order;

    lines() {
        void* p =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        HF_CHECK(p != MAP_FAILED, "no memory");
        ::madvise(p, bytes, MADV_HUGEPAGE);
        base = static_cast<std::byte*>(p);
        order.resize(bytes / line_size);
        for (u64 i = 0; i < order.size(); ++i) order[i] = i;
        xoshiro256ss random(1);
        for (u64 i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
        dirty(0, order.size());
    }
    ~lines() { ::munmap(base, bytes); }
    lines(const lines&) = delete;
    lines& operator=(const lines&) = delete;

    void dirty(u64 first, u64 count) const {
        for (u64 i = first; i < first + count; ++i) {
            auto& word = *reinterpret_cast<volatile u64*>(base + order[i] * line_size);
            word = word + 1;
        }
    }
};

void fence_alone(benchmark::State& state) {
    const medium m = flushing();
    for ([[maybe_unused]] auto _ : state) m.fence();
}
BENCHMARK(fence_alone);

/// Dirties a batch of lines, writes them back, and fences; reports the time of a line. The argument
/// is the batch's size.
void write_back_dirty(benchmark::State& state) {
    const medium m = flushing();
    const lines memory;
    const auto batch = static_cast<u64>(state.range(0));
    u64 at = 0;
    for ([[maybe_unused]] auto _ : state) {
        if (at + batch > memory.order.size()) at = 0;
        memory.dirty(at, batch);
        m.flush_lines(memory.base, memory.order.data() + at, batch);
        m.fence();
        at += batch;
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(write_back_dirty)->Arg(1)->Arg(16)->Arg(512)->Arg(16384);

/// The baseline for write_back_dirty: without the write-back.
void dirty_only(benchmark::State& state) {
    const lines memory;
    const auto batch = static_cast<u64>(state.range(0));
    u64 at = 0;
    for ([[maybe_unused]] auto _ : state) {
        if (at + batch > memory.order.size()) at = 0;
        memory.dirty(at, batch);
        at += batch;
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(dirty_only)->Arg(512);

/// Lines in address order, each recorded `times` times in a row, as by two small blocks in one
/// line.
void write_back_in_order(benchmark::State& state) {
    const medium m = flushing();
    const lines memory;
    const auto times = static_cast<u64>(state.range(0));
    constexpr u64 batch = 512;
    std::vector<u64> named(batch);
    u64 at = 0;
    for ([[maybe_unused]] auto _ : state) {
        if (at + batch > memory.order.size()) at = 0;
        for (u64 i = 0; i < batch; ++i) {
            named[i] = at + i / times;
            auto& word = *reinterpret_cast<volatile u64*>(memory.base + named[i] * line_size);
            word = word + 1;
        }
        m.flush_lines(memory.base, named.data(), batch);
        m.fence();
        at += batch / times;
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
}
BENCHMARK(write_back_in_order)->Arg(1)->Arg(2)->Arg(4);

/// Loads from 512 KiB that were dirtied before. Shows whether the write-back (1), compared with
/// none (0), evicts lines.
void load_after_write_back(benchmark::State& state) {
    const medium m = flushing();
    const lines memory;
    constexpr u64 count = 8192;
    for ([[maybe_unused]] auto _ : state) {
        state.PauseTiming();
        memory.dirty(0, count);
        if (state.range(0) != 0) m.flush_lines(memory.base, memory.order.data(), count);
        m.fence();
        state.ResumeTiming();
        u64 sum = 0;
        for (u64 i = 0; i < count; ++i) {
            // Each address depends on the previous value, so that misses do not overlap.
            sum = *reinterpret_cast<volatile u64*>(memory.base + memory.order[i] * line_size +
                                                   (sum >> 63));
            asm volatile("" : "+r"(sum));
        }
        benchmark::DoNotOptimize(sum);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}
BENCHMARK(load_after_write_back)->Arg(0)->Arg(1);

/// Writes back clean lines.
void write_back_clean(benchmark::State& state) {
    const medium m = flushing();
    const lines memory;
    const auto batch = static_cast<u64>(state.range(0));
    m.flush_lines(memory.base, memory.order.data(), memory.order.size());
    m.fence();
    u64 at = 0;
    for ([[maybe_unused]] auto _ : state) {
        if (at + batch > memory.order.size()) at = 0;
        m.flush_lines(memory.base, memory.order.data() + at, batch);
        m.fence();
        at += batch;
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(write_back_clean)->Arg(1)->Arg(512)->Arg(16384);

/// A line in the L1 cache that is repeatedly dirtied and written back.
void write_back_hot(benchmark::State& state) {
    const medium m = flushing();
    alignas(64) static volatile u64 word[8];
    for ([[maybe_unused]] auto _ : state) {
        word[0] = word[0] + 1;
        m.flush_line(const_cast<const u64*>(&word[0]));
        m.fence();
    }
}
BENCHMARK(write_back_hot);

/// Non-temporal stores of a node's size (320 bytes), as by the external log.
void stream_node(benchmark::State& state) {
    const medium m = flushing();
    const lines memory;
    alignas(64) std::byte node[320] = {};
    u64 at = 0;
    for ([[maybe_unused]] auto _ : state) {
        if (at + sizeof(node) > lines::bytes) at = 0;
        m.stream(memory.base + at, node, sizeof(node));
        m.fence();
        at += sizeof(node);
    }
}
BENCHMARK(stream_node);

}  // namespace

}  // namespace hf::bench
