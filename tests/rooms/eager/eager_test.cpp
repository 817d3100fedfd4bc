#include "alloc/swept/audit_view.hpp"
#include "epoch/capture.hpp"
#include "list_fixture.hpp"

#include <array>
#include <cstring>
#include <set>

namespace hf::test {
namespace {

class eager_regions : public on_tmpfs {};

TEST(node_lock, tells_a_dead_holder_from_a_living_one) {
    node_lock l;
    l.fill(node_lock::fresh(8, false, 3));
    EXPECT_FALSE(l.lock(3));
    EXPECT_TRUE(l.is_held(3));
    EXPECT_EQ(l.try_lock(3), node_lock::attempt::failed);
    EXPECT_FALSE(l.is_held(4));  // a lock of another session has no owner
    EXPECT_EQ(l.try_lock(4), node_lock::attempt::taken_over);
    l.unlock();
    EXPECT_EQ(l.try_lock(5), node_lock::attempt::taken);
    EXPECT_NE(l.load() & 8, 0U);
    l.unlock();
}

TEST(node_lock, keeps_flags_and_versions_apart) {
    node_lock l;
    l.fill(node_lock::fresh(node_lock::flags, false, 1));
    EXPECT_FALSE(l.lock(1));
    const u64 before = l.load();
    for (int i = 0; i < 1000; ++i) l.count_version();
    EXPECT_NE(node_lock::version_of(before), node_lock::version_of(l.load()));
    EXPECT_EQ(l.load() & node_lock::flags, node_lock::flags);
    l.set_flags(2, false);
    EXPECT_EQ(l.load() & node_lock::flags, node_lock::flags & ~u64{2});
    EXPECT_TRUE(l.is_held(1));
}

TEST(persist_batch, flushes_a_line_once_and_fences_once) {
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    const medium m(medium_kind::shm, best_flush_instruction(), 0);
    alignas(line_size) std::array<char, 200 * line_size> bytes{};
    const auto spent = [&](const auto& work) {
        const persist_counters before = thread_persist_counters();
        work();
        const persist_counters after = thread_persist_counters();
        return std::pair(after.flushes - before.flushes, after.fences - before.fences);
    };
    persist_batch b(m);
    using pair = std::pair<u64, u64>;
    EXPECT_EQ(spent([&] { b.fence(); }), pair(0, 0));
    EXPECT_EQ(spent([&] {
                  b.add(&bytes[0], 1);
                  b.add(&bytes[63], 2);
                  b.add(&bytes[64]);
                  b.fence();
              }),
              pair(2, 1));
    EXPECT_FALSE(b.has_pending());
    EXPECT_EQ(spent([&] {
                  b.add(bytes.data(), bytes.size());
                  b.order();
              }),
              pair(200, 1));
    EXPECT_EQ(spent([&] {
                  for (std::size_t i = 0; i < 100; ++i) b.add(&bytes[i * line_size]);
                  b.fence();
              }),
              pair(100, 1));
    EXPECT_EQ(spent([&] {
                  b.add(bytes.data());
                  b.forget();
                  b.fence();
              }),
              pair(0, 0));
}

TEST_F(eager_regions, are_swept_though_what_is_dead_refers_to_what_has_gone) {
    eager_file f(file);
    f.stack->push(1);
    f.kill();
    f.open(sweeping::by_hand);
    const u64 old = f.stack->top().first.load();
    f.stack->push(2, 200'000);  // an extent of its own
    const u64 gone = f.stack->top().first.load();
    f.stack->pop();
    f.space->grace().reclaim_all();
    // As an unlinked node has it whose neighbour was unlinked later, and freed before the trace.
    published& link = f.space->file().at<eager_stack::node>(old)->next;
    link.store(gone);
    EXPECT_TRUE(f.space->sweep().has_value());
    link.store(0);
}

TEST_F(eager_regions, find_what_returned_and_take_over_a_dead_lock) {
    eager_file f(file);
    for (u64 i = 0; i < 100; ++i) EXPECT_FALSE(f.stack->push(i));
    f.stack->pop();
    static_cast<void>(f.stack->top().lock.lock(f.space->generation()));  // and dies
    const u32 before = f.space->generation();
    f.kill();
    f.open();
    EXPECT_EQ(f.space->generation(), before + 1);
    EXPECT_EQ(f.stack->values().size(), 99U);
    EXPECT_TRUE(f.stack->push(7));
    EXPECT_FALSE(f.stack->push(8));
}

// Until then a reader flushes the words that it finds (eager/space.hpp).
TEST_F(eager_regions, know_that_they_are_behind_a_kill_until_they_are_swept) {
    eager_file f(file);
    EXPECT_FALSE(f.space->is_after_a_kill());
    for (int kill = 0; kill < 2; ++kill) {
        f.kill();
        f.open(sweeping::by_hand);
        EXPECT_TRUE(f.space->is_after_a_kill());
    }
    static_cast<void>(must(f.space->sweep()));
    EXPECT_FALSE(f.space->is_after_a_kill());
    must(f.space->close());
    f.kill();
    f.open(sweeping::by_hand);
    EXPECT_FALSE(f.space->is_after_a_kill()) << "it was closed in order";
    f.kill();
    f.open(sweeping::by_hand);
    EXPECT_TRUE(f.space->is_after_a_kill()) << "this time it was not";
}

// N1 of epoch_manager.hpp: tickets of the first session may name them.
TEST_F(eager_regions, a_session_without_epochs_skips_those_that_a_crash_has_taken) {
    std::unique_ptr<eager_stack> stack;
    const auto open = [&](image_kind image) {
        eager_options o;
        o.region.kind = discipline::eager;
        o.region.initial_size = u64{1} << 20;
        o.region.medium = medium_kind::shm;
        o.region.image = image;
        o.epoch = no_clock;
        return must(eager_space::open(file, o, {}, [&](eager_space& s) -> result<void> {
            stack = must(eager_stack::open(s));
            return {};
        }));
    };
    auto space = open(image_kind::journalled);
    stack->push(1);
    const u64 running = space->current_epoch();
    space.reset();  // killed
    space = open(image_kind::shared);
    must(space->close());
    space.reset();
    space = open(image_kind::journalled);
    EXPECT_GT(space->current_epoch(), running + capture::most_under_way());
}

TEST_F(eager_regions, reuse_after_a_crash_what_nothing_reaches) {
    eager_file f(file);
    for (u64 i = 0; i < 20'000; ++i) f.stack->push(i, 100);
    for (u64 i = 0; i < 19'000; ++i) f.stack->pop();
    const u64 size = f.space->file().size();
    for (int crash = 0; crash < 3; ++crash) {
        f.kill();
        f.open(sweeping::by_hand);
        EXPECT_TRUE(f.space->heap().is_tracing());
        const auto found = must(f.space->sweep(2));
        EXPECT_FALSE(f.space->heap().is_tracing());
        EXPECT_EQ(found.reached, 1001U);  // and the head
        for (u64 i = 0; i < 18'000; ++i) f.stack->push(i, 100);
        for (u64 i = 0; i < 18'000; ++i) f.stack->pop();
    }
    EXPECT_EQ(f.space->file().size(), size);
    EXPECT_EQ(f.stack->values().size(), 1000U);
}

// Whole slabs and extents of which nothing is reached become pages again, for any size.
TEST_F(eager_regions, give_back_to_all_sizes_the_pages_of_which_nothing_is_reached) {
    eager_file f(file, medium_kind::shm, u64{8} << 20);
    const auto fill_up = [&](u64 bytes) {
        u64 sum = 0;
        while (f.space->heap().allocate(f.space->my_lane().blocks(), bytes)) sum += bytes;
        return sum;
    };
    const u64 in_blocks = fill_up(1'000);
    for (const u64 bytes : {3 * layout::page_size, u64{5'000}, 2 * layout::page_size, u64{100}}) {
        f.kill();
        f.open();
        EXPECT_GE(fill_up(bytes), in_blocks / 10 * 8) << bytes;
    }
}

TEST_F(eager_regions, tell_how_many_pages_extents_have) {
    eager_file f(file);
    f.stack->push(1);
    f.stack->push(2, 200'000);
    f.stack->push(3, 70'000);
    audit_report report;
    swept::view books(f.space->file());
    heap_audit audit(f.space->file(), books, report);
    audit.read_runs();
    EXPECT_EQ(report.heap.extent_pages_handed_out, 4U + 2U);
}

TEST_F(eager_regions, read_without_a_fence_and_fence_under_a_held_lock) {
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    eager_file f(file);
    f.stack->push(1);
    const auto fences = [&] {
        const u64 before = thread_persist_counters().fences;
        static_cast<void>(f.stack->values());
        return thread_persist_counters().fences - before;
    };
    EXPECT_EQ(fences(), 0U);
    static_cast<void>(f.stack->top().lock.lock(f.space->generation()));
    EXPECT_EQ(fences(), 1U);
    f.stack->top().lock.unlock();
    EXPECT_EQ(fences(), 0U);
}

// Readers follow what they read before they know that it is sound.
TEST_F(eager_regions, can_be_read_and_stored_to_behind_their_end) {
    eager_file f(file);
    region& r = f.space->file();
    const u64 end = r.size();
    for (const u64 at : {end, end + layout::page_size + 24, window_size - 8}) {
        auto* const word = reinterpret_cast<std::atomic<u64>*>(r.base() + at);
        EXPECT_EQ(word->load(), 0U) << at;
        word->store(7);
    }
    EXPECT_EQ(r.size(), end);
    EXPECT_EQ(std::filesystem::file_size(file), end);
    // It still grows, and has nothing of that.
    const u64 large = must(f.space->heap().allocate(f.space->my_lane().blocks(), end));
    EXPECT_GT(r.size(), end);
    EXPECT_GE(large, end);
    EXPECT_EQ(r.at<std::atomic<u64>>(end + layout::page_size + 24)->load(), 0U);
}

TEST_F(eager_regions, give_extents_back_and_keep_them_apart_from_blocks) {
    eager_file f(file);
    auto& heap = f.space->heap();
    auto& cache = f.space->my_lane().blocks();
    std::set<u64> seen;
    for (u64 bytes : {u64{1}, u64{33}, u64{4096}, u64{65'536}, u64{65'537}, u64{300'000}}) {
        const u64 at = must(heap.allocate(cache, bytes));
        EXPECT_EQ(at % (bytes <= 32 ? 32 : 64), 0U);
        seen.insert(at);
        heap.free(cache, at);
    }
    const u64 large = must(heap.allocate(cache, 300'000));
    EXPECT_TRUE(seen.contains(large)) << "pages that were freed are used again";
}

/// Blocks of one size until a region of 1 MiB is full; then all of them are freed.
u64 fill_and_free(swept_heap& heap, swept_heap::cache& cache, u64 bytes) {
    std::vector<u64> all;
    for (;;) {
        const auto block = heap.allocate(cache, bytes);
        if (!block) {
            EXPECT_EQ(block.error().code, errc::no_space);
            break;
        }
        all.push_back(*block);
    }
    for (const u64 offset : all) heap.free(cache, offset);
    return all.size();
}

TEST_F(eager_regions, slabs_that_have_run_empty_serve_other_sizes_and_extents) {
    eager_file f(file, medium_kind::shm, u64{1} << 20);
    auto& heap = f.space->heap();
    auto& cache = f.space->my_lane().blocks();
    const u64 small = fill_and_free(heap, cache, 1024);
    ASSERT_GT(small, 500U);
    const u64 large = fill_and_free(heap, cache, 4096);
    EXPECT_GE(large * 4, small * 85 / 100);
    EXPECT_GE(fill_and_free(heap, cache, u64{128} << 10), small / 128 * 85 / 100);
    EXPECT_GE(fill_and_free(heap, cache, 1024), small * 95 / 100);
}

TEST_F(eager_regions, a_slab_with_a_block_in_use_stays) {
    eager_file f(file, medium_kind::shm, u64{1} << 20);
    auto& heap = f.space->heap();
    auto& cache = f.space->my_lane().blocks();
    const u64 used = must(heap.allocate(cache, 2048));
    fill_and_free(heap, cache, 1024);
    fill_and_free(heap, cache, 4096);
    ASSERT_NE(heap.run_of(used), nullptr);
    EXPECT_EQ(heap.run_of(used)->block, 2048U);
    heap.free(cache, used);
}

TEST_F(eager_regions, take_no_more_memory_for_slabs_that_come_and_go) {
    eager_file f(file, medium_kind::shm, u64{1} << 20);
    auto& heap = f.space->heap();
    auto& cache = f.space->my_lane().blocks();
    const auto come_and_go = [&](unsigned times) {
        for (unsigned i = 0; i < times; ++i) {
            fill_and_free(heap, cache, 1024);
            fill_and_free(heap, cache, 4096);
        }
    };
    come_and_go(4);
    const std::size_t known = heap.runs();
    come_and_go(10);
    EXPECT_EQ(heap.runs(), known);
}

// Readers may still read the object of an extent that was freed: so it is kept, and reused by the
// next extent at that place.
TEST_F(eager_regions, take_no_more_memory_for_extents_that_come_and_go) {
    eager_file f(file);
    auto& heap = f.space->heap();
    auto& mine = f.space->my_lane().blocks();
    const auto come_and_go = [&](unsigned times) {
        for (unsigned i = 0; i < times; ++i) {
            const u64 one = must(heap.allocate(mine, 100'000 + i % 3 * 100'000));
            const u64 two = must(heap.allocate(mine, 100'000 + i % 2 * 200'000));
            ASSERT_TRUE(heap.run_of(one)->begins_at(one));
            heap.free(mine, one);
            heap.free(mine, two);
        }
    };
    come_and_go(20);
    const std::size_t known = heap.runs();
    come_and_go(200);
    EXPECT_EQ(heap.runs(), known);
}

TEST_F(eager_regions, refuse_to_be_swept_without_all_their_structures) {
    {
        eager_file f(file);
    }
    eager_options o;
    o.region.kind = discipline::eager;
    const auto opened =
        eager_space::open(file, o, {}, [](eager_space&) -> result<void> { return {}; });
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::incompatible);
}

TEST_F(eager_regions, refuse_a_damaged_page_word_and_a_reference_to_no_block) {
    u64 word = 0;
    u64 reference = 0;
    {
        eager_file f(file);
        f.stack->push(0);  // so what lies within its block, read as a node, leads nowhere
        const segment heap = f.space->file().segments().front();
        word = heap.offset + sizeof(swept::segment_header) + 8 * swept::own_pages(heap.pages);
        reference = f.space->file().offset_of(&f.stack->top().first);
        must(f.space->close());
    }
    const auto code = [&] {
        eager_options o;
        o.region.kind = discipline::eager;
        std::unique_ptr<eager_stack> stack;
        auto opened = eager_space::open(file, o, {}, [&](eager_space& s) -> result<void> {
            stack = must(eager_stack::open(s));
            return {};
        });
        return opened ? std::nullopt : std::optional(opened.error().code);
    };
    const auto bytes = read_file(file);
    const u64 wrong = u64{1} << 40 | u64{200} << 32 | 1;
    patch(file, word, &wrong, sizeof wrong);
    EXPECT_EQ(code(), errc::corrupt);
    write_file(file, bytes);
    u64 first = 0;
    std::memcpy(&first, bytes.data() + reference, sizeof first);
    // Outside of the heap; the header; within a block.
    for (const u64 nowhere : {u64{12345}, u64{64}, first + 8}) {
        patch(file, reference, &nowhere, sizeof nowhere);
        EXPECT_EQ(code(), errc::corrupt) << nowhere;
    }
    {
        // Beside operations, the thread that waits for it is notified.
        eager_file f(file, sweeping::in_background);
        EXPECT_EQ(f.space->wait_for_sweep().error().code, errc::corrupt);
        EXPECT_EQ(f.space->close().error().code, errc::corrupt);
    }
    write_file(file, bytes);
    EXPECT_EQ(code(), std::nullopt);
}

}  // namespace
}  // namespace hf::test
