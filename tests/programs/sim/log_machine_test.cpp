// Undo and redo logs: lines, fences and markers of each way to write them, by hand.
#include "sim/log_machine.hpp"

#include <gtest/gtest.h>

namespace hf::sim {
namespace {

using g = log_config::granularity;
using p = log_config::packing;

/// One transaction: two stores to one line, one to the next, one to another page.
counters after_one(const log_config& l) {
    log_machine m({}, 16, {l});
    m.begin(0);
    m.store(0, 0, 8);
    m.store(0, 8, 8);
    m.store(0, 64, 8);
    m.store(0, 4096, 8);
    m.commit(0);
    return m.numbers(0);
}

struct expected {
    log_config how;
    u64 log;
    u64 marker;
    u64 fences;
};

TEST(log_machine, counts_each_way_to_write_a_log) {
    const expected all[] = {
        {{false, g::line, p::aligned, 16, 1}, 3 * 2, 1, 3 + 1 + 1},
        {{false, g::line, p::aligned, 0, 1}, 3, 1, 5},
        {{false, g::line, p::aligned, 0, 0}, 3, 0, 4},
        {{false, g::line, p::aligned, 0, 2}, 3, 2, 6},
        // 80 bytes each: lines 0-1, 1-2, 2-3.
        {{false, g::line, p::packed, 16, 1}, 6, 1, 5},
        {{false, g::line, p::batched, 16, 1}, 4, 1, 3},
        {{false, g::store, p::aligned, 16, 1}, 4, 1, 6},
        // 24 bytes each: 0, 0, 0-1, 1.
        {{false, g::store, p::packed, 16, 1}, 5, 1, 6},
        {{false, g::store, p::batched, 16, 1}, 2, 1, 3},
        {{true, g::line, p::batched, 16, 1}, 4, 1, 2},
        {{true, g::store, p::batched, 16, 0}, 2, 0, 1},
    };
    for (const expected& e : all) {
        const counters n = after_one(e.how);
        const std::size_t i = static_cast<std::size_t>(&e - all);
        EXPECT_EQ(n.flushed(source::data), 3U) << i;
        EXPECT_EQ(n.flushed(source::log), e.log) << i;
        EXPECT_EQ(n.flushed(source::marker), e.marker) << i;
        EXPECT_EQ(n.fences, e.fences) << i;
        EXPECT_EQ(n.paper_flushes(), 3 + e.log + e.marker) << i;
    }
}

TEST(log_machine, a_transaction_that_reads_flushes_nothing) {
    log_machine m({}, 16, {log_config{}});
    m.begin(0);
    m.load(0, 60, 8);
    m.commit(0);
    EXPECT_EQ(m.numbers(0).all_flushes(), 0U);
    EXPECT_EQ(m.numbers(0).loads, 2U) << "it crossed a line";
    EXPECT_EQ(m.numbers(0).transactions, 1U);
}

TEST(log_machine, writes_each_updated_line_once_a_transaction) {
    log_machine m({}, 16, {{false, g::line, p::aligned, 0, 0}});
    for (int turn = 0; turn < 2; ++turn) {
        m.begin(0);
        for (u64 page = 0; page < 3; ++page) m.store(0, page * 4096, 8);
        m.commit(0);
    }
    const wear_summary w = m.wear_of_lines();
    EXPECT_EQ(w.lines, 3U + 6U) << "of data, and of the log";
    EXPECT_EQ(w.writes, 2 * 3U + 6U);
    EXPECT_EQ(w.worst, 2U);
}

TEST(log_machine, an_undo_log_restores_what_a_redo_log_forgets) {
    log_machine m({}, 16, {log_config{}, {true, g::line, p::batched, 16, 1}});
    m.begin(0);
    m.store(0, 0, 8);
    m.store(0, 64, 8);
    m.abort(0);
    EXPECT_EQ(m.numbers(0).flushed(source::data), 2U);
    EXPECT_EQ(m.numbers(1).all_flushes(), 0U);
    EXPECT_EQ(m.numbers(0).rolled_back_lines, 2U);
    m.begin(0);
    m.store(0, 0, 8);
    m.commit(0);
    EXPECT_EQ(m.numbers(0).flushed(source::data), 3U) << "its lines are first touched again";
}

TEST(log_machine, waits_longer_on_slower_media_and_not_for_redos_data) {
    log_machine m({}, 16,
                  {{false, g::line, p::batched, 16, 1}, {true, g::line, p::batched, 16, 1}});
    m.begin(0);
    for (u64 i = 0; i < 20; ++i) m.store(0, i * 64, 8);
    m.commit(0);
    const counters undo = m.numbers(0);
    const counters redo = m.numbers(1);
    EXPECT_LT(undo.ns[dram], undo.ns[sttm]);
    EXPECT_LT(undo.ns[sttm], undo.ns[pcm]);
    EXPECT_LT(redo.ns[pcm], undo.ns[pcm]);
    // 25 lines of log in four turns of eight, one marker; data: 20 lines in three.
    const latencies takes;
    EXPECT_DOUBLE_EQ(undo.fence_ns[pcm], 3 * takes.fence + (4 + 3 + 1) * 215.0);
    EXPECT_DOUBLE_EQ(redo.fence_ns[pcm], 2 * takes.fence + (4 + 1) * 215.0);
    EXPECT_DOUBLE_EQ(redo.background_ns[pcm], 20 * 215.0);
}

TEST(log_machine, stores_outside_of_transactions_are_not_logged) {
    log_machine m({}, 16, {log_config{}});
    m.store(0, 0, 8);
    m.begin(0);
    m.store(0, volatile_memory, 8);
    m.commit(0);
    EXPECT_EQ(m.numbers(0).all_flushes(), 0U);
    EXPECT_EQ(m.numbers(0).unprotected_stores, 1U);
}

}  // namespace
}  // namespace hf::sim
