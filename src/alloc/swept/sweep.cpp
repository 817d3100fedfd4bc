#include "alloc/swept_heap.hpp"
#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/lock_order.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <condition_variable>
#include <thread>

namespace hf {

using swept::run;

// ---------------------------------------------------------------------------------------- marking

void tracer::visit(u64 offset, u32 kind) {
    if (offset == 0) return;
    auto* r = const_cast<run*>(heap_.run_of(offset));
    if (r == nullptr || !r->begins_at(offset)) {
        if (!heap_.has_gone(offset)) wrong_ = offset;
        return;
    }
    if (!r->old.load(std::memory_order_relaxed)) return;
    if (!r->mark(r->number_of(offset))) return;
    ++reached_;
    if (kind == traced::leaf) return;
    // It is read soon, at a random address: its siblings are visited meanwhile.
    const auto* node = heap_.store().at<std::byte>(offset);
    __builtin_prefetch(node);
    __builtin_prefetch(node + line_size);
    found_.push_back({of_, offset, kind});
}

void tracer::has_read(const void* p, std::size_t n) {
    if (heap_.is_after_a_kill()) heap_.region_.med().flush(p, n);
}

/// Several threads that process one stack of items.
class trace_work {
   public:
    explicit trace_work(swept_heap& h, unsigned threads) : heap_(h), threads_(threads) {}

    void begin(std::span<traced* const> structures) {
        tracer t(heap_);
        for (traced* s : structures) {
            t.of_ = s;
            s->trace_roots(t);
        }
        take(t);
    }
    /// Moves shaded items to the stack; false: there were none.
    bool add_shaded() {
        const ranked_guard guard(lock_rank::swept_old_pages, heap_.old_mutex_);
        items_.insert(items_.end(), heap_.shaded_.begin(), heap_.shaded_.end());
        reached_ += std::exchange(heap_.shaded_count_, 0);
        return !std::exchange(heap_.shaded_, {}).empty();
    }
    void run_all() {
        std::vector<std::thread> others;
        for (unsigned i = 1; i < threads_; ++i) others.emplace_back([this] { run_one(); });
        run_one();
        for (std::thread& t : others) t.join();
    }
    [[nodiscard]] u64 reached() const noexcept { return reached_; }
    [[nodiscard]] u64 wrong() const noexcept { return wrong_; }

   private:
    static constexpr std::size_t own_at_most = 512;

    void take(tracer& t) {
        reached_ += std::exchange(t.reached_, 0);
        if (t.wrong_ != 0) wrong_ = t.wrong_;
        items_.insert(items_.end(), t.found_.begin(), t.found_.end());
        t.found_.clear();
    }
    void run_one() {
        tracer t(heap_);
        trace_all(t);
        if (heap_.is_after_a_kill()) heap_.region_.med().fence();  // S3: of this thread's flushes
    }
    void make_sure(tracer& t, const trace_item& i) {
        const run* r = heap_.run_of(i.offset);
        if (r != nullptr)
            t.has_read(heap_.region_.at<const std::byte>(i.offset),
                       r->is_extent() ? r->pages * page_size : r->block);
    }
    void trace_all(tracer& t) {
        std::unique_lock lock(mutex_);
        while (wait_for_items(lock)) {
            const std::size_t n = std::min<std::size_t>((items_.size() - 1) / threads_ + 1, 64);
            t.found_.assign(items_.end() - static_cast<std::ptrdiff_t>(n), items_.end());
            items_.resize(items_.size() - n);
            ++busy_;
            lock.unlock();
            while (!t.found_.empty() && t.found_.size() < own_at_most) {
                const trace_item next = t.found_.back();
                t.found_.pop_back();
                t.of_ = next.of;
                make_sure(t, next);
                next.of->trace(next.offset, next.kind, t);
            }
            lock.lock();
            --busy_;
            take(t);
            changed_.notify_all();
        }
    }
    /// False: all items are processed.
    bool wait_for_items(std::unique_lock<std::mutex>& lock) {
        while (items_.empty() && busy_ != 0) changed_.wait(lock);
        return !items_.empty();
    }

    swept_heap& heap_;
    const unsigned threads_;
    std::mutex mutex_;
    std::condition_variable changed_;
    unsigned busy_ = 0;
    std::vector<trace_item> items_;
    u64 reached_ = 0;
    u64 wrong_ = 0;
};

bool swept_heap::has_gone(u64 offset) {
    const ranked_guard guard(lock_rank::swept_old_pages, old_mutex_);
    return gone_.contains(offset / page_size);
}

void swept_heap::shade_old(const traced& of, u64 offset, u32 kind) {
    auto* r = const_cast<run*>(run_of(offset));
    if (r == nullptr || !r->old.load(std::memory_order_acquire)) return;
    if (!r->begins_at(offset)) return;  // a damaged word: the trace reports it
    const ranked_guard guard(lock_rank::swept_old_pages, old_mutex_);
    if (!is_tracing() || !r->mark(r->number_of(offset))) return;
    ++shaded_count_;
    if (kind != traced::leaf) shaded_.push_back({&of, offset, kind});
}

void swept_heap::make_marks() {
    u64 words = 0;
    for (const auto& r : runs_) words += r->mark_words();
    marks_ = std::make_unique<std::atomic<u64>[]>(words);
    words = 0;
    for (const auto& r : runs_) {
        r->marks = &marks_[words];
        words += r->mark_words();
    }
    tracing_.store(words != 0, std::memory_order_release);
}

// --------------------------------------------------------------------------------------- sweeping

result<swept_heap::sweep_figures> swept_heap::collect(std::span<traced* const> structures,
                                                      const operations& others, unsigned threads) {
    if (!is_tracing()) return sweep_figures{};
    const u64 begun = now_ns();
    trace_work work(*this, std::max(1U, threads));
    work.begin(structures);
    do {
        work.run_all();
        // A block unlinked before the trace reached it has been shaded when its operation ends.
        others.wait_for_all();
    } while (work.add_shaded());
    if (work.wrong() != 0) {
        return failure(
            corrupt_heap(region_, work.wrong(), "an index refers to no block of the heap"));
    }
    HF_PERSIST_POINT("swept S3: what was traced is durable before anything is freed");
    const u64 traced_at = now_ns();
    sweep_figures found = sweep(others);
    found.reached = work.reached();
    found.trace_ns = traced_at - begun;
    found.free_ns = now_ns() - traced_at;
    return found;
}

/// Frees unreachable memory; W3 ends here.
swept_heap::sweep_figures swept_heap::sweep(const operations& others) {
    sweep_figures found;
    std::vector<run*> empty;
    {
        const ranked_guard guard(lock_rank::swept_old_pages, old_mutex_);
        for (u64 offset : waiting_) {
            run* r = by_page_[offset / page_size].load(std::memory_order_relaxed);
            r->unmark(r->number_of(offset));
        }
        waiting_.clear();
        gone_.clear();
        empty = sort_out_old(found);
    }
    if (empty.empty()) return found;
    // The stores must belong to an epoch, like all others. A thread within an epoch may wait for
    // old_mutex_, so its holder must not wait for an epoch's end; and long work is done before.
    others.run_as_one([&] {
        clear_words(empty);
        const ranked_guard pages_guard(lock_rank::heap_pages, mutex_);
        for (run* r : empty) {
            remove_run(*r);
            pages_.insert(r->offset, r->pages);
        }
    });
    return found;
}

/// Makes free blocks of partly used runs allocatable. Returns the other runs, which have no
/// reachable blocks.
std::vector<run*> swept_heap::sort_out_old(sweep_figures& found) {
    std::vector<run*> all;
    {
        const ranked_guard pages_guard(lock_rank::heap_pages, mutex_);
        for (const auto& r : runs_) {
            if (r->old.load(std::memory_order_relaxed)) all.push_back(r.get());
        }
    }
    std::vector<run*> empty;
    std::vector<std::vector<u64>> free(block_classes);
    for (run* r : all) {
        u32 live = 0;
        for (u32 w = 0; w < r->mark_words(); ++w) {
            live += static_cast<u32>(std::popcount(r->marks[w].load(std::memory_order_relaxed)));
        }
        found.freed += r->blocks - live;
        if (live == 0) {
            empty.push_back(r);
        } else if (live != r->blocks) {
            for (u32 i = 0; i < r->blocks; ++i) {
                if (!r->is_marked(i)) free[r->size_class].push_back(r->block_at(i));
            }
        }
    }
    tracing_.store(false, std::memory_order_release);
    for (run* r : all) r->old.store(false, std::memory_order_release);
    for (u32 i = 0; i < block_classes; ++i) {
        if (!free[i].empty()) put_into_lists(i, free[i]);
    }
    return empty;
}

void swept_heap::clear_words(std::span<run* const> of) {
    for (const run* r : of) {
        auto* w = region_.at<swept::word>(r->descriptor);
        w->store(0, std::memory_order_release);
        region_.med().flush_line(w);
    }
    region_.med().fence();
    HF_PERSIST_POINT("swept S2: freed runs' words are durably 0 before their pages are used");
}

/// False: the block is not old any more.
bool swept_heap::free_later(const run& r, u64 offset) {
    const ranked_guard guard(lock_rank::swept_old_pages, old_mutex_);
    if (!r.old.load(std::memory_order_relaxed)) return false;
    waiting_.push_back(offset);
    return true;
}

}  // namespace hf
