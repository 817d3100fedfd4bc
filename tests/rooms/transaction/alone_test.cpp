// Regions of one thread: transactions without owners, and stores without transactions
// (detail::isolation).
#include "region_of_words.hpp"

#include <array>
#include <thread>

namespace hf::test {
namespace {

class of_one_thread : public on_tmpfs {
   protected:
    [[nodiscard]] std::unique_ptr<region_of_words> open(detail::isolation kept,
                                                        engine_kind engine = engine_kind::redo) {
        region_of_words::how h;
        h.kept = kept;
        h.engine = engine;
        return std::make_unique<region_of_words>(file, h);
    }
};

constexpr auto alone = detail::isolation::alone;
constexpr auto in_place = detail::isolation::in_place;

TEST_F(of_one_thread, alone_a_transaction_reads_its_own_copies_and_what_lies_beside) {
    const auto r = open(alone);
    must(r->all().atomic([&](transaction& t) {
        t.store(r->word(0), 1);
        t.store(r->word(1), 2);
    }));
    must(r->all().atomic([&](transaction& t) {  // other words in what will be the copies
        for (u64 i = 512; i < 640; ++i) t.store(r->word(i), ~u64{0});
    }));
    must(r->all().atomic([&](transaction& t) {
        EXPECT_EQ(t.load_alone(r->word(0)), 1U);
        t.store(reinterpret_cast<u8*>(r->word(0)) + 1, u8{3});
        EXPECT_EQ(t.load_alone(r->word(0)), 0x301U);
        EXPECT_EQ(t.load(r->word(0)), 0x301U);
        EXPECT_EQ(t.load_alone(reinterpret_cast<const u8*>(r->word(0)) + 1), 3U);
        EXPECT_EQ(t.load_alone(r->word(1)), 2U) << "another word of a line that has a copy";
        EXPECT_EQ(t.load(r->word(9)), 0U) << "a line that has none";
        EXPECT_EQ(r->now(0), 1U) << "nothing is in place yet";
    }));
    EXPECT_EQ(r->now(0), 0x301U);
    must(r->all().atomic([&](transaction& t) { EXPECT_EQ(t.load_alone(r->word(0)), 0x301U); }));
}

TEST_F(of_one_thread, alone_what_has_aborted_leaves_no_trace) {
    for (const engine_kind engine : all_engines()) {
        const auto r = open(alone, engine);
        const auto done = r->all().atomic([&](transaction& t) {
            t.store(r->word(3), 5);
            transaction::abort();
        });
        ASSERT_FALSE(done);
        EXPECT_EQ(r->now(3), 0U);
        must(r->all().atomic([&](transaction& t) { EXPECT_EQ(t.load(r->word(3)), 0U); }));
    }
}

TEST_F(of_one_thread, alone_what_has_committed_survives_a_kill) {
    auto r = open(alone);
    must(r->all().atomic([&](transaction& t) { t.store(r->word(3), 5); }));
    crash(r);
    r = open(detail::isolation::threads);
    EXPECT_EQ(r->now(3), 5U);
}

TEST_F(of_one_thread, another_thread_is_refused) {
    for (const detail::isolation kept : {alone, in_place}) {
        const auto r = open(kept);
        must(r->all().atomic([&](transaction& t) { t.store(r->word(1), 1); }));
        result<void> there;
        std::thread([&] {
            there = r->all().atomic([&](transaction& t) { t.store(r->word(0), 1); });
        }).join();
        ASSERT_FALSE(there);
        EXPECT_EQ(there.error().code, errc::usage);
        EXPECT_EQ(r->now(0), 0U);
        must(r->all().atomic([&](transaction& t) { t.store(r->word(1), 1); }));
    }
}

TEST_F(of_one_thread, in_place_stores_are_there_at_once_and_cost_no_fence) {
    const auto r = open(in_place);
    const u64 before = thread_persist_counters().fences;
    must(r->all().atomic([&](transaction& t) {
        t.store(r->word(0), 7);
        EXPECT_EQ(r->now(0), 7U);
        t.store(reinterpret_cast<u8*>(r->word(0)) + 7, u8{1});
        EXPECT_EQ(t.load(r->word(0)), u64{1} << 56 | 7);
    }));
    EXPECT_EQ(thread_persist_counters().fences, before);
}

TEST_F(of_one_thread, whole_lines_have_copies_alone_and_none_in_place) {
    for (const detail::isolation kept : {alone, in_place}) {
        std::filesystem::remove(file);
        const auto r = open(kept);
        const std::array<u64, 16> lines{5, 5, 5, 5, 5, 5, 5, 5, 6};
        must(r->all().atomic([&](transaction& t) {
            t.store_bytes(r->word(0), lines.data(), sizeof lines);
            EXPECT_EQ(t.load(r->word(8)), 6U);
            EXPECT_EQ(r->now(8), kept == in_place ? 6U : 0U);
        }));
        EXPECT_EQ(r->now(7), 5U);
    }
}

TEST_F(of_one_thread, in_place_memory_is_taken_without_a_record) {
    const auto r = open(in_place);
    must(r->all().atomic(
        [&](transaction& t) { t.store(reinterpret_cast<u64*>(t.allocate(48)), 7); }));
    EXPECT_EQ(r->all().numbers().records, 0U);
}

TEST_F(of_one_thread, in_place_each_line_is_written_back_with_the_epoch) {
    const auto r = open(in_place);
    constexpr u64 lines = 50;
    const auto flushed_by_epoch = [&] {
        const u64 before = total_persist_counters().flushes;
        r->up->epochs().end_epoch();
        must(r->up->epochs().wait_durable(r->up->epochs().current_epoch() - 1));
        return total_persist_counters().flushes - before;
    };
    (void)flushed_by_epoch();
    const u64 nothing = flushed_by_epoch();
    must(r->all().atomic([&](transaction& t) {
        for (u64 i = 0; i < lines; ++i) t.store(r->word(8 * i), i);
    }));
    EXPECT_GE(flushed_by_epoch(), nothing + lines);
}

TEST_F(of_one_thread, in_place_a_clock_ends_an_epoch_that_has_nothing_but_stores) {
    region_of_words::how h;
    h.kept = in_place;
    h.medium = medium_kind::file;
    h.flush = flush_policy::automatic;
    h.epoch = std::chrono::milliseconds(2);
    auto r = std::make_unique<region_of_words>(file, h);
    must(r->up->epochs().wait_durable(r->up->epochs().current_epoch()));
    ticket when = 0;
    must(r->all().later([&](transaction& t) { t.store(r->word(3), 7); }, when));
    while (!r->all().durable(when)) std::this_thread::yield();
    crash(r);
    EXPECT_EQ(region_of_words(file, h).now(3), 7U);
}

// Stores in the home location cannot be undone: the function is not retried.
TEST_F(of_one_thread, in_place_a_full_heap_is_an_error_even_where_memory_will_come_back) {
    region_of_words::how h;
    h.kept = in_place;
    const auto r = std::make_unique<region_of_words>(file, h);
    constexpr u64 bytes = u64{256} << 10;
    const auto take = [&] {
        unsigned runs = 0;
        auto got = r->all().atomic([&](transaction& t) {
            ++runs;
            return t.allocate(bytes);
        });
        EXPECT_EQ(runs, 1U);
        return got;
    };
    std::vector<std::byte*> all;
    for (auto p = take(); p; p = take()) all.push_back(*p);
    ASSERT_FALSE(all.empty());
    must(r->all().atomic([&](transaction& t) { t.release(all.back(), bytes); }));
    const auto full = take();
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, errc::no_space);
    EXPECT_TRUE(take()) << "behind the epoch's end, which the next one has waited for";
}

}  // namespace
}  // namespace hf::test
