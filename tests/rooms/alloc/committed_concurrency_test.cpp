// The committed heap used by several threads: no two own the same byte, and nothing is lost.
#include "alloc/committed/audit_view.hpp"
#include "alloc/committed_heap.hpp"
#include "base/random.hpp"
#include "support/effort.hpp"
#include "support/must.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <mutex>
#include <thread>

namespace hf {
namespace {

using test::must;

struct owned {
    u64 offset;
    u64 size;
};

u64 any_size(xoshiro256ss& r) {
    const u64 dice = r.below(100);
    if (dice == 0) return largest_block + 1 + r.below(200'000);
    return dice < 20 ? 1 + r.below(20'000) : 1 + r.below(200);
}

/// Blocks that one thread allocates and another one frees.
class exchange {
   public:
    void give(owned o) {
        const std::lock_guard guard(mutex_);
        there_.push_back(o);
    }
    std::optional<owned> take(u64 any) {
        const std::lock_guard guard(mutex_);
        if (there_.empty()) return std::nullopt;
        std::swap(there_[any % there_.size()], there_.back());
        const owned o = there_.back();
        there_.pop_back();
        return o;
    }
    const std::vector<owned>& all() const { return there_; }

   private:
    std::mutex mutex_;
    std::vector<owned> there_;
};

void work(committed_heap& heap, exchange& shared, u64 number, int transactions) {
    xoshiro256ss r(number);
    std::byte* base = heap.store().base();
    const auto mark = [&](const owned& o) {
        std::memset(base + o.offset, static_cast<int>(o.size & 0xff), o.size);
    };
    for (int t = 0; t < transactions; ++t) {
        heap_batch b(heap, static_cast<u32>(number));
        std::vector<owned> taken;
        std::vector<owned> freed;
        for (u64 n = 1 + r.below(6); n > 0; --n) {
            if (r.below(100) < 53) {
                const u64 size = any_size(r);
                taken.push_back({must(b.reserve(size)), size});
                mark(taken.back());
            } else if (const auto o = shared.take(r())) {
                const auto* p = reinterpret_cast<const unsigned char*>(base + o->offset);
                ASSERT_EQ(p[0], o->size & 0xff);
                ASSERT_EQ(p[o->size - 1], o->size & 0xff);
                b.release(o->offset, o->size);
                freed.push_back(*o);
            }
        }
        if (r.below(5) == 0) {
            b.cancel();
            for (const owned& o : freed) shared.give(o);
            continue;
        }
        static_cast<void>(b.changes());
        b.apply();
        b.settle();
        for (const owned& o : taken) shared.give(o);
    }
}

TEST(committed_heap_concurrency, no_two_threads_own_the_same_and_nothing_is_lost) {
    constexpr u64 threads = 4;
    region_options o;
    o.max_size = u64{4} << 30;
    auto file = must(region::create_volatile(u64{16} << 20, o));
    committed_heap heap(*file);
    must(heap.open());
    exchange shared;
    std::vector<std::thread> all;
    for (u64 i = 1; i <= threads; ++i) {
        // Two of them share a shard.
        all.emplace_back([&, i] { work(heap, shared, i == threads ? 17 : i, 4000); });
    }
    for (std::thread& t : all) t.join();

    audit_report report;
    committed::view books(*file);
    heap_audit audit(*file, books, report);
    audit.read_runs();
    audit.read_free();
    for (const owned& each : shared.all()) {
        const auto p = audit.locate(each.offset, 0);
        ASSERT_TRUE(p && audit.fits(*p, each.size, 0));
        audit.claim(*p, "the block", 0);
    }
    audit.finish();
    EXPECT_TRUE(report.ok()) << report.to_string();
}

TEST(committed_heap_concurrency, a_heap_that_is_indexed_by_several_threads_loses_nothing) {
    for (u64 round = 1; round <= 10; ++round) {
        region_options o;
        o.max_size = u64{4} << 30;
        auto file = must(region::create_volatile(u64{16} << 20, o));
        exchange shared;
        for (u64 life = 0; life < 3; ++life) {
            committed_heap heap(*file);
            must(heap.open());
            std::vector<std::thread> all;
            for (u64 i = 1; i <= 3; ++i) {
                all.emplace_back([&, i] { work(heap, shared, 100 * round + 10 * life + i, 150); });
            }
            for (std::thread& t : all) t.join();
        }
        audit_report report;
        committed::view books(*file);
        heap_audit audit(*file, books, report);
        audit.read_runs();
        audit.read_free();
        for (const owned& each : shared.all()) audit.claim(*audit.locate(each.offset, 0), "it", 0);
        audit.finish();
        ASSERT_TRUE(report.ok()) << report.to_string();
    }
}

/// A thread that needs a slab while its segment is being indexed waits for it.
TEST(committed_heap_concurrency, a_slab_is_found_while_another_thread_makes_the_index) {
    region_options o;
    o.max_size = u64{1} << 30;
    auto file = must(region::create_volatile(u64{64} << 20, o));
    const segment s = file->segments().front();
    const heap_span span{s.offset, s.pages};
    for (u64 page = committed::own_pages(s.pages); page < s.pages; ++page) {
        *file->at<committed::word>(committed::descriptor_of(span, page)) =
            page_run{page_use::slab, 0, 1}.pack();
        *file->at<committed::word>(committed::bits_of(span, page)) = 1;
    }
    for (unsigned round = 0; round < test::scaled(60); ++round) {
        committed::page_space space(*file);
        must(space.open());
        std::atomic<bool> started{false};
        std::thread first([&] {
            started = true;
            static_cast<void>(must(space.index_next()));
        });
        while (!started) std::this_thread::yield();
        std::atomic<unsigned> waited{0};
        while (waited.fetch_add(1) < 100 * round) {
        }
        EXPECT_NE(space.slab_of(span.offset_of(s.pages - 1)), nullptr);
        first.join();
    }
}

}  // namespace
}  // namespace hf
