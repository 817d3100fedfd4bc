#include "section/huge_growth.hpp"

#include "base/thread_name.hpp"
#include "region/huge_pages.hpp"
#include "section/inside_runtime.hpp"

#include <algorithm>

namespace hf::section {
namespace {

constexpr u64 huge_page = u64{2} << 20;
/// A request cannot be cancelled, and a thread that stores to one of its pages waits: 8 MiB take
/// some two milliseconds.
constexpr u64 step_bytes = 4 * huge_page;

}  // namespace

void huge_growth::start(const region& file) {
    if (file.med().kind() != medium_kind::shm || file.med().is_atomic()) return;
    calls_.store(0, std::memory_order_relaxed);
    thread_ = std::thread([this, &file] {
        belong_to_runtime();
        name_this_thread("hf-pages");
        run(file);
    });
}

void huge_growth::stop() {
    calls_.fetch_or(stopped, std::memory_order_release);
    calls_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void huge_growth::run(const region& file) {
    u64 joined = 0;
    for (;;) {
        // Before the size is read: a call that comes later ends the wait.
        const u32 seen = calls_.load(std::memory_order_acquire);
        if ((seen & stopped) != 0) return;
        const u64 end = align_down(file.size(), huge_page);
        if (joined == end) {
            calls_.wait(seen, std::memory_order_acquire);
            continue;
        }
        const u64 step = std::min(step_bytes, end - joined);
        hf::detail::ask_for_huge_pages(file.base() + joined, step);
        joined += step;
    }
}

}  // namespace hf::section
