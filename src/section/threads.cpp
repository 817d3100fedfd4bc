#include "section/threads.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

namespace hf::section {

thread_table::thread_table() {
    void* const p = ::mmap(nullptr, max_threads * sizeof(thread_record), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HF_CHECK(p != MAP_FAILED, "no memory for the table of threads of the section runtime");
    records_ = static_cast<thread_record*>(p);
    for (u32 i = 0; i < max_threads; ++i) ::new (static_cast<void*>(records_ + i)) thread_record;
    for (u32 i = 0; i < max_threads; ++i) records_[i].index = i;
}

thread_table::~thread_table() {
    for (u32 i = 0; i < max_threads; ++i) records_[i].~thread_record();
    ::munmap(static_cast<void*>(records_), max_threads * sizeof(thread_record));
}

thread_record& thread_table::claim() {
    const auto me = static_cast<pid_t>(::syscall(SYS_gettid));
    for (u32 i = 0; i < max_threads; ++i) {
        pid_t expected = 0;
        thread_record& r = records_[i];
        if (r.owner.load(std::memory_order_relaxed) != 0 ||
            !r.owner.compare_exchange_strong(expected, me, std::memory_order_acq_rel)) {
            continue;
        }
        // Counted before its flag is ever raised: quiescence.hpp.
        u32 seen = used_.load(std::memory_order_relaxed);
        while (seen < i + 1 && !used_.compare_exchange_weak(seen, i + 1)) {
        }
        return r;
    }
    fatal("more than 1000 threads are inside sections, or were and live on: end some of them");
}

void thread_table::release(thread_record& r) noexcept {
    HF_ASSERT(r.depth == 0 && r.held.empty(), "a record is given back by a thread that is inside");
    r.site.store(nullptr, std::memory_order_relaxed);
    r.abandoned.store(false, std::memory_order_relaxed);
    r.owner.store(0, std::memory_order_release);
}

void thread_table::forget_lines() noexcept {
    for (u32 i = 0; i < used(); ++i) records_[i].lines.clear();
}

}  // namespace hf::section
