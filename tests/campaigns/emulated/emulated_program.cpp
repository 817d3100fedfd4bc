// A program with plain loads and stores, which knows of no simulator: emulated_test.cpp has it run
// by an emulator with the tracing plugin.
#include "emulated_work.hpp"

#include <sys/mman.h>

extern "C" {
[[gnu::noinline]] void transaction_begins() { asm volatile("" ::: "memory"); }
[[gnu::noinline]] void transaction_commits() { asm volatile("" ::: "memory"); }
}

namespace {

struct plain_words {
    hf::u64* words;
    [[nodiscard]] hf::u64 load(hf::u64 i) const { return words[i]; }
    void store(hf::u64 i, hf::u64 value) const { words[i] = value; }
};

}  // namespace

int main() {
    using namespace hf::sim::test;
    void* const p = ::mmap(nullptr, emulated_heap_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 1;
    plain_words memory{static_cast<hf::u64*>(p)};
    emulated_work<plain_words> work(memory);
    for (hf::u64 i = 0; i < emulated_transactions; ++i) {
        transaction_begins();
        work.transaction();
        transaction_commits();
    }
    return 0;
}
