// The committed heap: exactly what was committed is owned, whatever else was going on when the
// process ended.
#include "base/random.hpp"
#include "committed_on_tmpfs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>

namespace hf {
namespace {

using committed::word_change;
using test::committed_test;
using test::must;

u64 any_size(xoshiro256ss& r) {
    const u64 dice = r.below(100);
    if (dice == 0) return largest_block + 1 + r.below(500'000);
    return dice < 15 ? 1 + r.below(largest_block) : 1 + r.below(300);
}

TEST_F(committed_test, an_opened_heap_fills_the_slabs_that_it_finds) {
    open();
    const u64 page = allocate(64) / page_size;
    free(allocate(64), 64);
    open();
    for (u32 i = 1; i < slab_blocks(class_of_block(64)); ++i) {
        ASSERT_EQ(allocate(64) / page_size, page) << i;
    }
    EXPECT_NE(allocate(64) / page_size, page);
}

/// A heap beside a model of it: batches run beside each other, some are committed, some cancelled,
/// some not ended when the process is; a log keeps what is committed and not settled.
class committed_model_test : public committed_test {
   protected:
    struct old_word {
        u64 offset;
        u64 value;
    };
    struct transaction {
        std::unique_ptr<heap_batch> batch;
        blocks taken;
        blocks freed;
        blocks given_up;
        std::vector<word_change> log = {};
        std::vector<old_word> before = {};  ///< its words, before they were changed
    };

    void reserve(transaction& t) {
        const u64 size = any_size(r_);
        const u64 offset = must(t.batch->reserve(size));
        ASSERT_TRUE(is_apart(offset, size)) << offset << " is in use";
        const u64 room = size > largest_block ? page_size : block_size(class_of_block(size));
        ASSERT_EQ(offset % (room % line_size == 0 ? line_size : 16), 0U);
        in_use_[offset] = size;
        t.taken[offset] = size;
    }
    bool is_apart(u64 offset, u64 size) const {
        const auto after = in_use_.lower_bound(offset);
        if (after != in_use_.end() && offset + size > after->first) return false;
        return after == in_use_.begin() ||
               std::prev(after)->first + std::prev(after)->second <= offset;
    }
    void release(transaction& t, blocks& from, blocks& to) {
        if (from.empty()) return;
        auto it = from.lower_bound(r_.below(region_->size()));
        if (it == from.end()) it = from.begin();
        t.batch->release(it->first, it->second);
        to.insert(*it);
        from.erase(it);
    }
    void commit(transaction t) {
        const auto changes = t.batch->changes();
        t.log.assign(changes.begin(), changes.end());
        for (const word_change& c : changes) {
            t.before.push_back({c.offset, region_->at<committed::word>(c.offset)->load()});
        }
        t.batch->apply();
        owned_.insert(t.taken.begin(), t.taken.end());
        committed_.push_back(std::move(t));
    }
    void settle_first() {
        transaction& t = committed_.front();
        t.batch->settle();
        for (const blocks* gone : {&t.freed, &t.given_up}) {
            for (const auto& [offset, size] : *gone) in_use_.erase(offset);
        }
        committed_.erase(committed_.begin());
    }
    void cancel(transaction t) {
        if (r_.below(2) == 0) static_cast<void>(t.batch->changes());
        t.batch->cancel();
        for (const blocks* gone : {&t.taken, &t.given_up}) {
            for (const auto& [offset, size] : *gone) in_use_.erase(offset);
        }
        owned_.insert(t.freed.begin(), t.freed.end());
    }
    void step() {
        if (running_.size() < 4 && r_.below(3) == 0) {
            running_.push_back({std::make_unique<heap_batch>(*heap_, r_.below(3)), {}, {}, {}});
        }
        if (running_.empty()) return;
        const auto i = static_cast<std::ptrdiff_t>(r_.below(running_.size()));
        transaction& t = running_[static_cast<std::size_t>(i)];
        const u64 dice = r_.below(40);
        if (dice < 18) return reserve(t);
        if (dice < 32) return release(t, owned_, t.freed);
        if (dice < 35) return release(t, t.taken, t.given_up);
        transaction ended = std::move(t);
        running_.erase(running_.begin() + i);
        dice < 38 ? commit(std::move(ended)) : cancel(std::move(ended));
        while (committed_.size() > 3) settle_first();
    }
    /// The process ends. Words that were changed by batches which have not settled may hold an
    /// earlier value; the log repairs them.
    void crash() {
        std::map<u64, std::vector<u64>> may_hold;
        for (const transaction& t : committed_) {
            for (const old_word& w : t.before) may_hold[w.offset].push_back(w.value);
        }
        for (const auto& [offset, values] : may_hold) {
            const u64 which = r_.below(values.size() + 1);
            if (which < values.size()) region_->at<committed::word>(offset)->store(values[which]);
        }
        for (transaction& t : running_) owned_.insert(t.freed.begin(), t.freed.end());
        running_.clear();
        std::vector<std::vector<word_change>> logs;
        for (transaction& t : committed_) logs.push_back(t.log);
        committed_.clear();
        heap_.reset();
        for (u64 attempts = 1 + r_.below(3); attempts > 0;
             --attempts) {  // all but the last cut short
            for (const auto& log : logs) {
                if (attempts > 1 && r_.below(3) == 0) break;
                must(committed::reapply(*region_, log));
            }
        }
        open();
        in_use_ = owned_;
    }

    xoshiro256ss r_{1};
    blocks owned_;   ///< committed, and not freed
    blocks in_use_;  ///< must not be handed out
    std::vector<transaction> running_;
    std::vector<transaction> committed_;  ///< not settled
};

TEST_F(committed_model_test, owns_exactly_what_was_committed_after_any_crash) {
    for (u64 seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        heap_.reset();
        region_.reset();
        std::filesystem::remove(file);
        r_ = xoshiro256ss(seed);
        owned_.clear();
        in_use_.clear();
        open();
        for (int life = 0; life < 8; ++life) {
            for (u64 steps = r_.below(1500); steps > 0; --steps) {
                step();
                if (HasFatalFailure()) return;
            }
            crash();
            expect_owned(owned_);
            if (HasFatalFailure()) return;
        }
    }
}

// ------------------------------------------------------------------------------------ single rules

TEST_F(committed_test, a_reservation_leaves_no_trace_until_it_is_committed) {
    open();
    const std::string before = medium();
    {
        heap_batch b(*heap_);
        for (u64 size : {1, 100, 5'000, 65'536, 70'000, 300'000}) {
            static_cast<void>(must(b.reserve(size)));
        }
        static_cast<void>(b.changes());
        EXPECT_TRUE(before == medium());
        b.cancel();
    }
    {
        heap_batch b(*heap_);
        static_cast<void>(must(b.reserve(1'000'000)));
        EXPECT_TRUE(before == medium());
    }
    open();
    expect_owned({});
}

TEST_F(committed_test, a_cancelled_reservation_is_handed_out_again) {
    open();
    u64 block = 0;
    u64 extent = 0;
    {
        heap_batch b(*heap_, 0);
        block = must(b.reserve(40'000));
        extent = must(b.reserve(10'000'000));
    }
    heap_batch b(*heap_, 0);
    EXPECT_EQ(must(b.reserve(10'000'000)), extent - 10 * page_size);  // the slab is pages again
    b.cancel();
    EXPECT_EQ(must(b.reserve(40'000)), block);
}

TEST_F(committed_test, what_is_freed_is_not_handed_out_before_it_settles) {
    open();
    const u64 block = allocate(100);
    const u64 extent = allocate(200'000);
    heap_batch freeing(*heap_, 0);
    freeing.release(block, 100);
    freeing.release(extent, 200'000);
    const auto is_reused = [&](u64 size, u64 offset) {
        heap_batch b(*heap_, 0);
        bool found = false;
        for (int i = 0; i < 600; ++i) {
            const auto got = b.reserve(size);
            found = found || (got && *got == offset);
        }
        return found;
    };
    EXPECT_FALSE(is_reused(100, block) || is_reused(200'000, extent));
    static_cast<void>(freeing.changes());
    EXPECT_FALSE(is_reused(100, block) || is_reused(200'000, extent));
    freeing.apply();
    EXPECT_FALSE(is_reused(100, block) || is_reused(200'000, extent));
    freeing.settle();
    EXPECT_TRUE(is_reused(100, block));
    EXPECT_TRUE(is_reused(200'000, extent));
    expect_owned({});
}

TEST_F(committed_test, an_extent_that_is_being_freed_stays_so_when_its_segment_is_indexed_late) {
    open();
    const u64 extent = allocate(200'000);
    open();
    heap_batch freeing(*heap_);
    freeing.release(extent, 200'000);
    static_cast<void>(freeing.changes());
    freeing.apply();
    heap_batch b(*heap_);
    EXPECT_NE(must(b.reserve(200'000)), extent);
}

TEST_F(committed_test, what_a_batch_takes_and_frees_itself_changes_no_word) {
    open();
    heap_batch b(*heap_);
    const u64 block = must(b.reserve(100));
    const u64 extent = must(b.reserve(100'000));
    b.release(block, 100);
    b.release(extent, 100'000);
    EXPECT_TRUE(b.changes().empty());
    b.apply();
    b.settle();
    expect_owned({});
}

TEST_F(committed_test, one_word_is_one_change) {
    open();
    heap_batch b(*heap_);
    for (int i = 0; i < 64; ++i) static_cast<void>(must(b.reserve(16)));
    const auto changes = b.changes();
    ASSERT_EQ(changes.size(), 2U);  // the slab's, and 64 bits
    EXPECT_EQ(changes[1].set, ~u64{0});
    b.cancel();
}

TEST_F(committed_test, a_slab_is_logged_until_a_batch_that_logged_it_has_settled) {
    open();
    heap_batch first(*heap_, 0);
    heap_batch second(*heap_, 0);
    heap_batch third(*heap_, 0);
    for (heap_batch* b : {&first, &second, &third}) static_cast<void>(must(b->reserve(100)));
    EXPECT_EQ(first.changes().size(), 2U);
    first.apply();
    EXPECT_EQ(second.changes().size(), 2U);
    first.settle();
    EXPECT_EQ(third.changes().size(), 1U);
    third.cancel();
    second.cancel();
}

TEST_F(committed_test, a_full_region_refuses_and_changes_nothing) {
    open(u64{16} << 20);
    heap_batch all(*heap_, 0);
    blocks owned;
    for (u64 size : {30'000, 70'000}) {
        for (;;) {
            const auto offset = all.reserve(size);
            if (!offset) {
                EXPECT_EQ(offset.error().code, errc::no_space);
                break;
            }
            owned[*offset] = size;
        }
    }
    EXPECT_GT(owned.size(), 450U);
    commit(all);
    const std::string before = medium();
    heap_batch more(*heap_, 1);
    for (u64 size : {30'000, 70'000, 20'000'000}) {
        const auto refused = more.reserve(size);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::no_space);
    }
    EXPECT_TRUE(before == medium());
    expect_owned(owned);
    const auto [offset, size] = *owned.begin();
    free(offset, size);
    EXPECT_EQ(must(more.reserve(size)), offset);
}

TEST_F(committed_test, another_shards_blocks_are_taken_before_a_full_region_refuses) {
    open(u64{16} << 20);
    std::vector<std::unique_ptr<heap_batch>> batches;
    for (u32 shard = 0; shard < 2; ++shard) {
        batches.push_back(std::make_unique<heap_batch>(*heap_, shard));
    }
    static_cast<void>(must(batches[0]->reserve(64)));
    while (batches[1]->reserve(70'000)) {
    }
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(batches[1]->reserve(64).has_value()) << i;
}

TEST_F(committed_test, grows_and_finds_all_of_it_again) {
    open();
    blocks owned;
    for (int i = 0; i < 40; ++i) owned[allocate(1'000'000)] = 1'000'000;
    for (int i = 0; i < 100; ++i) owned[allocate(3'000)] = 3'000;
    EXPECT_GT(region_->segments().size(), 1U);
    expect_owned(owned);
    open();
    expect_owned(owned);
    heap_batch b(*heap_);
    for (int i = 0; i < 200; ++i) {
        EXPECT_FALSE(owned.contains(must(b.reserve(3'000))));
        EXPECT_FALSE(owned.contains(must(b.reserve(100'000))));
    }
}

TEST_F(committed_test, opening_reads_no_page_of_a_segment) {
    open();
    const u64 block = allocate(100);
    // Damage that an index would stumble over.
    const segment s = region_->segments().front();
    auto& w = *region_->at<committed::word>(
        committed::descriptor_of({s.offset, s.pages}, committed::own_pages(s.pages) + 50));
    w.store(page_run{page_use::extent, 0, u64{1} << 30}.pack());
    open();
    heap_batch b(*heap_);
    const auto refused = b.reserve(100);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::corrupt);
    EXPECT_NE(block, 0U);
}

TEST_F(committed_test, a_log_that_names_a_foreign_word_is_refused_before_anything_changes) {
    open();
    heap_batch b(*heap_);
    static_cast<void>(must(b.reserve(100)));
    std::vector<word_change> log(b.changes().begin(), b.changes().end());
    const std::string before = medium();
    for (u64 wrong : {u64{64}, log[0].offset + 4, region_->size() - 8, region_->size() + 8}) {
        log.push_back({wrong, 0, 1});
        const auto refused = committed::reapply(*region_, log);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::corrupt);
        EXPECT_TRUE(before == medium());
        log.pop_back();
    }
    b.cancel();
}

TEST_F(committed_test, is_not_taken_for_a_heap_of_another_policy) {
    open();
    region_->at<committed::segment_header>(region_->segments().front().offset)->magic = 77;
    committed_heap other(*region_);
    const auto refused = other.open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::corrupt);
}

TEST_F(committed_test, the_audit_finds_what_nobody_owns_and_what_two_do) {
    open();
    const u64 block = allocate(100);
    const u64 extent = allocate(100'000);
    expect_violation({{block, 100}},
                     "an extent of 2 pages is handed out, but nothing refers to it");
    expect_violation({{extent, 100'000}}, "neither free nor referred to");
    expect_violation({{block + block_size(class_of_block(100)), 100}}, "free by its slab's bits");
    expect_violation({{block, 200}}, "no place for 200 bytes");
    audit_report report;
    committed::view books(*region_);
    heap_audit audit(*region_, books, report);
    audit.read_runs();
    audit.read_free();
    for (int i = 0; i < 2; ++i) audit.claim(*audit.locate(block, 0), "the block", 0);
    EXPECT_NE(report.to_string().find("owned by another reference"), std::string::npos);
}

TEST_F(committed_test, the_audit_finds_words_that_belong_to_nothing) {
    open();
    const u64 block = allocate(100);
    const u64 extent = allocate(200'000);
    const segment s = region_->segments().front();
    const heap_span span{s.offset, s.pages};
    const auto with = [&](u64 offset, u64 value, std::string_view text) {
        auto& w = *region_->at<committed::word>(offset);
        const u64 before = w.exchange(value);
        expect_violation({{block, 100}, {extent, 200'000}}, text);
        w.store(before);
    };
    const u64 page = span.page_of(extent);
    with(committed::descriptor_of(span, page + 1), page_run{page_use::extent, 0, 1}.pack(),
         "a run begins inside of another");
    with(committed::bits_of(span, page + 2), 1, "where there are none");
    with(committed::bits_of(span, span.page_of(block)) + 8 * 31, u64{1} << 63,
         "where there are none");
    with(committed::descriptor_of(span, s.pages - 1), page_run{page_use::system, 0, 1}.pack(),
         "where none belongs");
    with(committed::descriptor_of(span, page), page_run{page_use::slab, block_classes, 1}.pack(),
         "unknown size class");
    expect_owned({{block, 100}, {extent, 200'000}});
}

TEST(committed_death_test, a_block_is_not_freed_twice) {
    test::scratch_directory place;
    region_options o;
    o.initial_size = u64{16} << 20;
    auto file = must(region::create_volatile(o.initial_size, o));
    committed_heap heap(*file);
    must(heap.open());
    heap_batch b(heap);
    const u64 offset = must(b.reserve(100));
    static_cast<void>(b.changes());
    b.apply();
    b.settle();
    heap_batch one(heap);
    heap_batch two(heap);
    one.release(offset, 100);
    EXPECT_DEATH(two.release(offset, 100), "freed twice");
    EXPECT_DEATH(two.release(offset, 300), "no block of this size");
}

}  // namespace
}  // namespace hf
