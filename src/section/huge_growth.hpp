// section/huge_growth.hpp: huge pages for what a group in memory grows by.
//
// Purpose. A new region on tmpfs gets pages of 2 MiB (region/huge_pages.hpp), but growth gets small
// ones: the growing thread is inside a section and holds the heap's lock. A program with random
// accesses to hundreds of MiB then pays for a walk through the page tables at nearly each of them,
// which its original, whose malloc has huge pages, does not. A thread of the runtime joins the
// small pages some milliseconds after the growth, while the program goes on. A file that was made
// with small pages is joined likewise after it has been opened.
//
// Why it is safe. Contents, addresses and the file do not change; a store of the program to a page
// that is just being joined waits for the kernel. A crash leaves small or huge pages.
//
// Without the call (Linux before 6.1), without free huge pages, and on persistent memory, which has
// its pages from the file system, nothing happens.
#pragma once

#include "region/region.hpp"

#include <atomic>
#include <thread>

namespace hf::section {

class huge_growth {
   public:
    huge_growth() = default;
    huge_growth(const huge_growth&) = delete;
    huge_growth& operator=(const huge_growth&) = delete;
    ~huge_growth() { stop(); }

    /// `file` is mapped until stop(). Does nothing unless its stores go straight to tmpfs.
    void start(const region& file);
    /// Waits for the step that is being made.
    void stop();
    /// The region has grown. Any thread, with locks held.
    void wake() noexcept {
        calls_.fetch_add(one_call, std::memory_order_release);
        calls_.notify_one();
    }

   private:
    void run(const region& file);

    /// Calls so far, and the bit `stopped`. Both are in the word that the thread waits on, so that
    /// neither growth nor stop() can fall between its look and its wait.
    static constexpr u32 stopped = 1;
    static constexpr u32 one_call = 2;
    std::atomic<u32> calls_{0};
    std::thread thread_;
};

}  // namespace hf::section
