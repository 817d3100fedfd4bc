// Transactions in a journalled image, on a disk and on tmpfs: durable with the end of their epoch.
#include "region_of_words.hpp"

#include <string>
#include <thread>

namespace hf::test {
namespace {

class journalled_transactions : public on_tmpfs, public ::testing::WithParamInterface<medium_kind> {
   protected:
    [[nodiscard]] std::unique_ptr<region_of_words> open(
        std::chrono::microseconds epoch = std::chrono::milliseconds(2)) {
        region_of_words::how h;
        h.medium = GetParam();
        h.image = image_kind::journalled;
        h.flush = flush_policy::automatic;
        h.epoch = epoch;
        return std::make_unique<region_of_words>(file, h);
    }
};

TEST_P(journalled_transactions, a_transaction_that_returned_is_there_after_a_kill) {
    auto r = open();
    for (u64 i = 1; i < 20; ++i) {
        must(r->all().atomic([&](transaction& t) {
            t.store(r->word(3), i);
            t.store(reinterpret_cast<u64*>(t.allocate(1'000)), i);
        }));
        if (i % 5 != 0) continue;
        crash(r);
        r = open();
        ASSERT_EQ(r->now(3), i);
    }
}

TEST_P(journalled_transactions, memory_that_was_allocated_has_what_was_stored_there_after_a_kill) {
    constexpr u64 words = 20'000;
    auto r = open(no_clock);
    must(r->all().atomic([&](transaction& t) {
        auto* const p = reinterpret_cast<u64*>(t.allocate(8 * words));
        for (u64 i = 0; i < words; ++i) t.store(p + i, i + 1);
        t.store(r->word(3), r->up->file().offset_of(p));
    }));
    crash(r);
    r = open(no_clock);
    const u64* const found = r->up->file().at<u64>(r->now(3));
    for (u64 i = 0; i < words; ++i) ASSERT_EQ(found[i], i + 1);
}

TEST_P(journalled_transactions, what_is_freed_waits_for_its_own_epoch) {
    auto r = open(no_clock);
    std::byte* blocks[2];
    for (std::byte*& b : blocks) {
        must(r->all().atomic([&](transaction& t) { b = t.allocate(5'000); }));
    }
    ticket first = 0;
    ticket second = 0;
    must(r->all().later([&](transaction& t) { t.release(blocks[0], 5'000); }, first));
    r->up->epochs().end_epoch();
    must(r->all().later([&](transaction& t) { t.release(blocks[1], 5'000); }, second));
    ASSERT_LT(first, second);
    must(r->all().wait_durable(first));
    ticket when = 0;
    for (int i = 0; i < 3 && !r->all().durable(second); ++i) {
        must(
            r->all().later([&](transaction& t) { EXPECT_NE(t.allocate(5'000), blocks[1]); }, when));
    }
}

TEST_P(journalled_transactions, it_waits_without_a_clock_too) {
    auto r = open(no_clock);
    must(r->all().atomic([&](transaction& t) { t.store(r->word(3), 7); }));
    crash(r);
    EXPECT_EQ(open(no_clock)->now(3), 7U);
}

TEST_P(journalled_transactions, later_does_not_wait_and_its_ticket_tells) {
    auto r = open(no_clock);
    ticket when = 0;
    must(r->all().later([&](transaction& t) { t.store(r->word(3), 7); }, when));
    EXPECT_FALSE(r->all().durable(when));
    EXPECT_EQ(r->now(3), 7U);
    must(r->all().wait_durable(when));
    EXPECT_TRUE(r->all().durable(when));
    crash(r);
    EXPECT_EQ(open()->now(3), 7U);
}

TEST_P(journalled_transactions, a_clock_makes_them_durable_by_itself) {
    auto r = open();
    ticket when = 0;
    must(r->all().later([&](transaction& t) { t.store(r->word(3), 7); }, when));
    while (!r->all().durable(when)) std::this_thread::yield();
    crash(r);
    EXPECT_EQ(open()->now(3), 7U);
}

TEST_P(journalled_transactions, a_clock_ends_an_epoch_that_has_stores_to_words_and_nothing_else) {
    auto r = open();
    must(r->up->epochs().wait_durable(r->up->epochs().current_epoch()));
    ticket when = 0;
    must(r->all().later([&](transaction& t) { t.store(r->word(3), 7); }, when));
    while (!r->all().durable(when)) std::this_thread::yield();
    EXPECT_EQ(r->now(3), 7U);
}

// The journal has what an epoch has changed: a record beside it would be written for nothing.
TEST_P(journalled_transactions, a_commit_lays_no_record) {
    for (const engine_kind kind : all_engines()) {
        region_of_words::how h;
        h.engine = kind;
        h.medium = GetParam();
        h.image = image_kind::journalled;
        h.flush = flush_policy::automatic;
        auto path = file;
        path += std::to_string(static_cast<int>(kind));
        const region_of_words r(path, h);
        must(r.all().atomic([&](transaction& t) {
            t.store(r.word(3), 7);
            t.store(reinterpret_cast<u64*>(t.allocate(1'000)), 7);
        }));
        EXPECT_EQ(r.all().numbers().records, 0U);
    }
}

TEST_P(journalled_transactions, what_did_not_become_durable_is_gone_whole) {
    auto r = open(no_clock);
    must(r->all().atomic([&](transaction& t) { t.store(r->word(3), 1); }));
    ticket when = 0;
    must(r->all().later(
        [&](transaction& t) {
            t.store(r->word(3), 2);
            t.store(r->word(500), 2);
        },
        when));
    crash(r);
    r = open(no_clock);
    EXPECT_EQ(r->now(3), 1U);
    EXPECT_EQ(r->now(500), 0U);
}

TEST_P(journalled_transactions, on_memory_a_ticket_is_due_at_once) {
    region_of_words r(file);
    const u64 epoch = r.up->epochs().current_epoch();
    ticket when = 0;
    must(r.all().later([&](transaction& t) { t.store(r.word(3), 7); }, when));
    EXPECT_TRUE(r.all().durable(when));
    must(r.all().wait_durable(when));
    EXPECT_EQ(r.up->epochs().current_epoch(), epoch) << "and need not wait for its epoch's end";
}

INSTANTIATE_TEST_SUITE_P(on, journalled_transactions,
                         ::testing::Values(medium_kind::file, medium_kind::shm),
                         [](const auto& p) { return std::string(to_string(p.param)); });

}  // namespace
}  // namespace hf::test
