// Slots when memory runs out. A program of its own: a sanitizer of threads has its own
// operators, which cannot be replaced.
#include "sync/thread_slots.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace {
thread_local bool has_memory = true;
}  // namespace

// Not inlined: g++ would take a pair of these for a pair of malloc and delete.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    if (!has_memory) throw std::bad_alloc();
    void* const p = std::malloc(bytes == 0 ? 1 : bytes);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace hf {
namespace {

TEST(slots_memory, a_slot_that_was_made_needs_no_more_memory) {
    std::vector<std::unique_ptr<thread_slots<u32>>> several;
    for (int i = 0; i < 9; ++i) {
        several.push_back(std::make_unique<thread_slots<u32>>(0, 4, [](u32 index) {
            auto made = std::make_unique<u32>(index);
            has_memory = false;
            return made;
        }));
    }
    std::thread([&] {
        for (const auto& n : several) {
            const u32* mine = nullptr;
            EXPECT_NO_THROW(mine = &n->mine());
            has_memory = true;
            EXPECT_EQ(&n->mine(), mine);
            EXPECT_EQ(n->used(), 1U);
        }
    }).join();
}

}  // namespace
}  // namespace hf
