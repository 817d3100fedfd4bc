// A small heap has fewer sets of lists than there are threads: they share them.
#include "owned_heap.hpp"

#include <latch>
#include <mutex>
#include <thread>

namespace hf {
namespace {

class shared_sets : public test::owned_heap {
   protected:
    shared_sets() {
        max_size_ = u64{16} << 20;
        initial_size_ = first_size(max_size_, max_size_);
    }

    static constexpr unsigned threads = 24;

    /// In `threads` threads at once.
    template <class Work>
    static void in_threads(Work work) {
        std::latch all(threads);
        std::vector<std::thread> running;
        for (unsigned t = 0; t < threads; ++t) {
            running.emplace_back([&, t] {
                all.arrive_and_wait();
                work(t);
            });
        }
        for (std::thread& one : running) one.join();
    }
};

TEST_F(shared_sets, are_used_by_many_threads_at_once) {
    open();
    ASSERT_LT(heap_->set_count(), threads);
    std::mutex mutex;
    in_threads([&](unsigned t) {
        xoshiro256ss r(t);
        std::vector<owned> held;
        for (unsigned i = 0; i < 600; ++i) {
            if (held.empty() || r.below(100) < 60) {
                if (held.size() > 50) continue;
                const u64 payload = r.below(100) == 0 ? 66'000 : 100 + 200 * r.below(3);
                held.push_back({heap_on_tmpfs::allocate(payload), payload});
            } else {
                const std::size_t which = r.below(held.size());
                heap_on_tmpfs::release(held[which].offset, held[which].payload);
                held[which] = held.back();
                held.pop_back();
            }
            if (r.below(50) == 0) up_.epochs().end_epoch();
        }
        const std::lock_guard guard(mutex);
        mine_.insert(mine_.end(), held.begin(), held.end());
    });
    expect_ok();
    up_.epochs().end_epoch();
    open();
    expect_ok();
}

TEST_F(shared_sets, of_threads_that_have_ended_are_taken_over) {
    open();
    const auto fill = [&] {
        for (;;) {
            operation op(up_.checkpoint());
            op.my_lane().mark_written();
            const auto made = heap_->allocate(op, 1000);
            if (!made) return;
            mine_.push_back({*made, 1000});
        }
    };
    fill();
    const std::size_t all = mine_.size();
    std::thread([&] {
        for (unsigned i = 0; i < 100; ++i) release(i);
    }).join();
    up_.epochs().end_epoch();
    fill();
    EXPECT_EQ(mine_.size(), all);
    expect_ok();
}

// More threads than there are pages for logs.
TEST_F(shared_sets, and_a_shared_log_undo_what_all_threads_did) {
    open();
    std::array<u64, threads> objects{};
    for (unsigned t = 0; t < threads; ++t) {
        objects[t] = allocate(48);
        *up_.file().at<u64>(objects[t]) = t;
    }
    up_.epochs().end_epoch();
    std::latch logged(threads);  // so that each has a lane of its own
    in_threads([&](unsigned t) {
        operation op(up_.checkpoint());
        op.my_lane().mark_written();
        const log_object object{objects[t], sizeof(u64)};
        test::must(op.log(std::span(&object, 1)));
        *up_.file().at<u64>(objects[t]) = 1000;
        op.my_lane().note_sticky(up_.file().at<u64>(objects[t]), sizeof(u64));
        logged.arrive_and_wait();
    });
    u64 pages = 0;
    for (const segment& s : up_.file().segments()) {
        pages += s.kind == segment_kind::log ? s.pages : 0;
    }
    EXPECT_EQ(pages, kept_from_heap(up_.file().max_pages()));
    open();  // a crash
    for (unsigned t = 0; t < threads; ++t) EXPECT_EQ(*up_.file().at<u64>(objects[t]), t);
}

}  // namespace
}  // namespace hf
