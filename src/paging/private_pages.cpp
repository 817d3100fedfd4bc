#include "paging/private_pages.hpp"

#include "base/check.hpp"
#include "base/lock_order.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

namespace hf {

namespace {

// Pages that one boundary drops while below the budget: some microseconds each.
constexpr std::size_t in_one_go = 256;
constexpr std::size_t most_vectors = 512;

/// The lowest limit of the group at `path` and its ancestors.
u64 lowest_limit(const std::string& root, std::string path, const char* file) {
    u64 lowest = ~u64{0};
    for (;; path.erase(path.rfind('/'))) {
        std::ifstream in(root + path + "/" + file);
        u64 limit = 0;
        if (in >> limit) lowest = std::min(lowest, limit);
        if (path.find('/') == std::string::npos) return lowest;
    }
}

}  // namespace

u64 group_memory_limit(const std::string& groups, const std::string& root) {
    std::ifstream all(groups);
    u64 lowest = ~u64{0};
    for (std::string line; std::getline(all, line);) {
        const std::string path = line.substr(line.find(':', line.find(':') + 1) + 1);
        u64 limit = ~u64{0};
        if (line.starts_with("0::")) {
            limit = lowest_limit(root, path, "memory.max");
        } else if (line.find(":memory:") != std::string::npos) {
            limit = lowest_limit(root + "/memory", path, "memory.limit_in_bytes");
        }
        lowest = std::min(lowest, limit);
    }
    return lowest;
}

u64 default_memory_budget() {
    const u64 machine =
        static_cast<u64>(::sysconf(_SC_PHYS_PAGES)) * static_cast<u64>(::sysconf(_SC_PAGESIZE));
    return std::min(machine, group_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup")) / 2;
}

private_pages::private_pages(std::byte* base, u64 max_bytes, int fd, u64 budget)
    : base_(base),
      huge_(base, fd),
      pages_(max_bytes / page_bytes),
      budget_(budget != 0 ? budget : default_memory_budget()) {
    void* p = ::mmap(nullptr, pages_ * sizeof(u64), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HF_CHECK(p != MAP_FAILED, "no address space for the ages of pages (ulimit -v)");
    ages_ = static_cast<std::atomic<u64>*>(p);
}

private_pages::~private_pages() { ::munmap(ages_, pages_ * sizeof(u64)); }

void private_pages::give_up() noexcept {
    gave_up_ = true;
    since_.store(0, std::memory_order_release);
    count_.store(0, std::memory_order_relaxed);
}

void private_pages::begin_if_needed(u64 region_bytes, u64 epoch) noexcept {
    if (is_tracking() || gave_up_ || region_bytes <= comfortable()) return;
    if (!page_table_.open()) return give_up();
    since_.store(epoch, std::memory_order_release);
    count_.store(region_bytes / page_bytes);  // upper bound, until find_droppable() counts them
    // From here on read-ahead would only evict other pages.
    ::madvise(base_, pages_ * page_bytes, MADV_RANDOM);
}

void private_pages::captured(std::span<const u64> lines, u64 epoch) noexcept {
    u64 fresh = 0;
    for (const u64 line : lines) {
        std::atomic<u64>& age = ages_[line / (page_bytes / line_size)];
        if (age.load(std::memory_order_relaxed) == epoch) continue;
        if (age.exchange(epoch, std::memory_order_relaxed) == 0) ++fresh;
    }
    if (fresh != 0) count_.fetch_add(fresh, std::memory_order_relaxed);
}

bool private_pages::is_held(u64 first, u64 last) const noexcept {
    return std::any_of(holds_.begin(), holds_.end(), [first, last](const hold* h) {
        return h->first_ <= last && first <= h->last_;
    });
}

/// M1, M3.
bool private_pages::is_droppable(u64 page, u64 applied) const noexcept {
    if (page < header_bytes / page_bytes) return false;
    const u64 age = ages_[page].load(std::memory_order_relaxed);
    return std::max(age, since_.load(std::memory_order_relaxed)) <= applied;
}

void private_pages::find_droppable(u64 region_bytes, u64 applied_epoch) {
    if (!is_tracking()) return;
    std::vector<u64> found;
    u64 copies = 0;
    (void)page_table_.for_each_copy(base_, 0, region_bytes / page_bytes, [&](u64 page) {
        ++copies;
        if (huge_.contains(page * page_bytes)) return;
        if (is_droppable(page, applied_epoch)) found.push_back(page);
    });
    count_.store(copies, std::memory_order_relaxed);
    const ranked_guard lock(lock_rank::page_copies, mutex_);
    found_ = std::move(found);
    applied_ = applied_epoch;
}

void private_pages::drop() noexcept {
    const ranked_guard lock(lock_rank::page_copies, mutex_);
    drop_huge();
    if (!is_tracking()) return;
    const std::size_t most = is_over_budget() ? found_.size() : in_one_go;
    std::array<small_page_run, most_vectors> runs;
    std::size_t used = 0;
    for (std::size_t taken = 0; taken < most && !found_.empty(); ++taken) {
        const u64 page = found_.back();
        found_.pop_back();
        if (!is_droppable(page, applied_) || is_held(page, page)) continue;
        ages_[page].store(0, std::memory_order_relaxed);
        if (used != 0 && runs[used - 1].first == page + 1) {  // the pages come in descending order
            runs[used - 1] = {page, runs[used - 1].count + 1};
            continue;
        }
        if (used == runs.size()) drop({runs.data(), std::exchange(used, 0)});
        runs[used++] = {page, 1};
    }
    drop({runs.data(), used});
}

/// Gives back some steps of huge_memory: some milliseconds each, if all pages are kept.
void private_pages::drop_huge() noexcept {
    if (applied_ < since_.load(std::memory_order_relaxed)) return;  // M3: all would be kept
    for (int left = is_over_budget() ? 32 : 2; left != 0; --left) {
        if (huge_.empty() || !wants_room()) return;
        const u64 first = huge_.begin() / page_bytes;
        const u64 last = huge_.step_end() / page_bytes - 1;
        if (is_held(first, last)) return;
        const auto given_back = huge_.step_to_file([this](u64 page) {
            if (!is_droppable(page, applied_)) return true;
            ages_[page].store(0, std::memory_order_relaxed);
            return false;
        });
        if (!given_back) return give_up();
        count_dropped(*given_back);
    }
}

void private_pages::count_dropped(u64 pages) noexcept {
    dropped_.fetch_add(pages, std::memory_order_relaxed);
    u64 now = count_.load(std::memory_order_relaxed);
    while (
        !count_.compare_exchange_weak(now, now - std::min(now, pages), std::memory_order_relaxed)) {
    }
}

void private_pages::drop(std::span<const small_page_run> runs) noexcept {
    if (runs.empty()) return;
    u64 pages = 0;
    const bool done = drop_at_once(runs);
    for (const small_page_run& r : runs) {
        pages += r.count;
        if (!done &&
            ::madvise(base_ + r.first * page_bytes, r.count * page_bytes, MADV_DONTNEED) != 0) {
            return give_up();  // mlock(2)ed memory
        }
    }
    count_dropped(pages);
}

/// Drops all runs by one system call, if the kernel supports it (Linux 6.13).
bool private_pages::drop_at_once(std::span<const small_page_run> runs) const noexcept {
#if defined(SYS_process_madvise)
    constexpr int self = -10001;  // PIDFD_SELF_THREAD_GROUP: this process, no descriptor needed
    std::array<iovec, most_vectors> ranges;
    u64 bytes = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        ranges[i] = {base_ + runs[i].first * page_bytes, runs[i].count * page_bytes};
        bytes += ranges[i].iov_len;
    }
    const long n =
        ::syscall(SYS_process_madvise, self, ranges.data(), runs.size(), MADV_DONTNEED, 0);
    return static_cast<u64>(n) == bytes;  // -1: refused
#else
    (void)runs;
    return false;
#endif
}

private_pages::hold::hold(private_pages* pages, const void* p, u64 n) : pages_(pages) {
    if (pages_ == nullptr || n == 0) return;
    const u64 at = static_cast<u64>(static_cast<const std::byte*>(p) - pages_->base_);
    first_ = at / page_bytes;
    last_ = (at + n - 1) / page_bytes;
    const ranked_guard lock(lock_rank::page_copies, pages_->mutex_);
    pages_->holds_.push_back(this);
}

private_pages::hold::~hold() {
    if (pages_ == nullptr) return;
    const ranked_guard lock(lock_rank::page_copies, pages_->mutex_);
    std::erase(pages_->holds_, this);
}

}  // namespace hf
