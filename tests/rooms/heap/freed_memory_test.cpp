// Memory that one thread frees is memory for every thread, whether the first one ends or idles.
#include "heap_of_nodes.hpp"

#include <atomic>
#include <optional>
#include <thread>

namespace hf::test {
namespace {

struct block {
    static constexpr std::string_view nv_name = "block";
    nv::bytes<1000> bytes;
    nv::ptr<block> next;
};

class freed_memory : public on_tmpfs, public ::testing::WithParamInterface<nv::engine> {
   protected:
    freed_memory() {
        nv::heap_options o = small_heap();
        o.region.max_size = u64{4} << 20;
        o.engine = GetParam();
        heap.emplace(open_heap(file, o));
        first.emplace(must(heap->root<block>("first")));
    }
    /// Makes objects until the heap is full.
    unsigned fill() {
        for (unsigned made = 0;; ++made) {
            const auto done = heap->atomic([&](nv::tx<>& tx) {
                const auto made_now = tx.make<block>();
                made_now->next.set(tx, first->get());
                first->set(tx, made_now);
            });
            if (done) continue;
            EXPECT_EQ(done.error().code, errc::no_space) << done.error().to_string();
            return made;
        }
    }
    void free_all() {
        must(heap->atomic([&](nv::tx<>& tx) { first->set(tx, nullptr); }));
    }
    std::optional<nv::heap<>> heap;
    std::optional<nv::root<block>> first;
};

TEST_P(freed_memory, of_a_thread_that_has_ended_is_there_for_another) {
    unsigned before = 0;
    std::thread([&] {
        before = fill();
        free_all();
    }).join();
    ASSERT_GT(before, 1'000U);
    EXPECT_GE(fill(), before * 85 / 100);
    (void)sound(*heap);
}

TEST_P(freed_memory, of_a_thread_that_idles_is_there_for_another) {
    std::atomic<unsigned> before{0};
    std::atomic<bool> ends{false};
    std::thread idle([&] {
        const unsigned made = fill();
        free_all();
        before = made;
        before.notify_one();
        ends.wait(false);
    });
    before.wait(0);
    EXPECT_GE(fill(), before * 85 / 100);
    ends = true;
    ends.notify_one();
    idle.join();
    (void)sound(*heap);
}

TEST_P(freed_memory, of_a_full_heap_ends_with_an_error_where_nothing_is_freed) {
    const unsigned made = fill();
    EXPECT_EQ(fill(), 0U);
    free_all();
    EXPECT_GE(fill(), made * 85 / 100) << "the thread that freed it";
}

INSTANTIATE_TEST_SUITE_P(engines, freed_memory,
                         ::testing::Values(nv::engine::redo, nv::engine::undo), [](const auto& p) {
                             return p.param == nv::engine::redo ? "redo" : "undo";
                         });

}  // namespace
}  // namespace hf::test
