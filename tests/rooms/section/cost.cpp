// Measures an uncontended section with one store, and the lock alone. A program, no test.
//
//     section_cost FILE [flush]      a line a row: ns an operation, flushes, fences
//
// Times are of the thread's processor, the median of runs, so other programs disturb them little.
#include <holdfast/section.h>
#include <holdfast/section_hooks.h>

#include "base/bits.hpp"
#include "persist/counters.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

namespace {

constexpr int runs = 15;
constexpr unsigned long operations = 200'000;
constexpr unsigned long lines = 1UL << 15;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void store(unsigned long* p, unsigned long value) {
    if (hf_is_persistent(p)) {
        const int alone = hf_section_store(p, sizeof *p);
        *p = value;
        if (alone != 0) hf_section_stored();
    } else {
        *p = value;
    }
}

double processor_ns() {
    std::timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// `prepare` comes before each run and is not timed.
void row(const char* name, unsigned long n, const std::function<void()>& prepare,
         const std::function<void()>& work) {
    std::vector<double> times;
    hf::persist_counters before{};
    hf::persist_counters after{};
    for (int i = 0; i < runs; ++i) {
        prepare();
        before = hf::total_persist_counters();
        const double start = processor_ns();
        work();
        times.push_back((processor_ns() - start) / static_cast<double>(n));
        after = hf::total_persist_counters();
    }
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    std::printf("%-44s %7.1f ns   %.2f flushes   %.2f fences\n", name, times[runs / 2],
                static_cast<double>(after.flushes - before.flushes) / static_cast<double>(n),
                static_cast<double>(after.fences - before.fences) / static_cast<double>(n));
}

void locked_stores(unsigned long* p, unsigned long n, unsigned long stride) {
    for (unsigned long i = 0; i < n; ++i) {
        pthread_mutex_lock(&lock);
        store(p + i * stride, i);
        pthread_mutex_unlock(&lock);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return std::fprintf(stderr, "usage: section_cost FILE [flush]\n"), 2;
    static unsigned long transient[8];
    const auto nothing = [] {};
    row("lock, store, unlock: no group", operations, nothing,
        [] { locked_stores(transient, operations, 0); });
    hf_group_options o{};
    o.stores = HF_STORES_ANNOUNCED;
    o.by_hand = 1;
    o.patience_us = 100'000;
    o.flush = argc > 2 && std::strcmp(argv[2], "flush") == 0 ? 1 : 0;
    if (hf_group_open(argv[1], &o) != 0) return std::fprintf(stderr, "%s\n", hf_section_error()), 1;
    auto* const p =
        static_cast<unsigned long*>(hf_aligned(hf_region_open("cost"), 4096, lines * 64));
    row("the same to transient memory, group open", operations, nothing,
        [] { locked_stores(transient, operations, 0); });
    row(
        "a section with a store to a touched line", operations, [p] { store(p, 1); },
        [p] { locked_stores(p, operations, 0); });
    row(
        "a section with a first touch", lines, [] { hf_section_cut(); },
        [p] { locked_stores(p, lines, 8); });
    row(
        "a cut of that many lines, a line", lines, [p] { locked_stores(p, lines, 8); },
        [] { hf_section_cut(); });
    return hf_group_close();
}
