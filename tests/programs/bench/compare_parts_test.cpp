// The parts of `bench compare` that judge: values, ledger, targets. A judge that never
// accuses would make every run look right.
#include "bench/compare/entrant.hpp"
#include "bench/compare/io_count.hpp"
#include "bench/compare/ledger.hpp"
#include "bench/compare/peer_library.hpp"
#include "bench/compare/round.hpp"
#include "bench/compare/targets.hpp"
#include "bench/compare/values.hpp"

#include <gtest/gtest.h>

namespace hf::bench {
namespace {

TEST(values, tell_their_record_and_their_write) {
    for (const u32 size : {16U, 17U, 24U, 100U, 103U, 4096U}) {
        value_maker maker(size);
        const std::string value(maker.make(7, 1234));
        EXPECT_EQ(value.size(), size);
        EXPECT_TRUE(belongs_to(value, 7, size));
        EXPECT_FALSE(belongs_to(value, 8, size));
        EXPECT_FALSE(belongs_to(value, 7, size + 1));
        EXPECT_EQ(stamp_of(value, 7, size), 1234U);
    }
}

TEST(values, give_away_any_changed_byte) {
    constexpr u32 size = 100;
    value_maker maker(size);
    const std::string value(maker.make(7, 1234));
    for (std::size_t i = 0; i < size; ++i) {
        std::string damaged = value;
        damaged[i] = static_cast<char>(damaged[i] ^ 1);
        const auto stamp = stamp_of(damaged, 7, size);
        EXPECT_TRUE(!stamp || *stamp != 1234) << i;
    }
}

class ledger_judges : public ::testing::Test {
   protected:
    static constexpr unsigned clients = 3;
    ledger notes{100, clients};
    u64 put(unsigned client, u64 begin, u64 end) {
        const u64 stamp = notes.next_stamp(client);
        notes.note(client, 5, stamp, begin, end);
        return stamp;
    }
    bool right(u64 stamp) { return !notes.objection(5, stamp); }
};

TEST_F(ledger_judges, what_was_never_put_is_wrong) {
    EXPECT_FALSE(right(0));
    EXPECT_FALSE(right(notes.next_stamp(0)));
    put(0, 10, 20);
    EXPECT_FALSE(right(notes.next_stamp(0)));
}

TEST_F(ledger_judges, an_older_put_is_wrong) {
    const u64 first = put(0, 10, 20);
    EXPECT_TRUE(right(first));
    const u64 second = put(0, 20, 30);
    EXPECT_FALSE(right(first));
    EXPECT_TRUE(right(second));
}

TEST_F(ledger_judges, of_puts_at_the_same_time_each_may_be_the_last) {
    const u64 one = put(0, 10, 20);
    const u64 other = put(1, 15, 25);
    EXPECT_TRUE(right(one));
    EXPECT_TRUE(right(other));
}

TEST_F(ledger_judges, a_put_that_ended_before_anothers_began_is_wrong) {
    const u64 one = put(0, 10, 20);
    const u64 other = put(2, 21, 25);
    EXPECT_FALSE(right(one));
    EXPECT_TRUE(right(other));
}

TEST(ledger, watches_thousands_of_many_records_and_all_of_few) {
    const ledger few(100, 1);
    EXPECT_EQ(few.watched(), 100U);
    const ledger many(10'000'000, 1);
    EXPECT_LE(many.watched(), ledger::most_watched);
    EXPECT_GT(many.watched(), ledger::most_watched / 4);
    for (u64 i = 0; i < many.watched(); ++i) {
        ASSERT_TRUE(many.watches(many.record_at(i)));
        ASSERT_LT(many.record_at(i), 10'000'000U);
    }
    EXPECT_FALSE(many.watches(many.record_at(1) + 1));
}

// ------------------------------------------------------------------- a store that answers wrongly

enum class fault : u8 { none, forgets, swaps, tears, stale };

/// One value for each key, and one way to go wrong.
class liar final : public contender, public connection {
   public:
    explicit liar(fault f) : fault_(f) {}

    result<bool> get(std::string_view key, std::string& value) override {
        const auto at = kept_.find(std::string(key));
        if (at == kept_.end()) return false;
        value = at->second;
        if (fault_ == fault::swaps) value[0] = static_cast<char>(value[0] ^ 1);
        if (fault_ == fault::tears) value.back() = static_cast<char>(value.back() ^ 1);
        return true;
    }
    result<void> put(std::string_view key, std::string_view value) override {
        const auto known = kept_.find(std::string(key));
        if (fault_ == fault::stale && known != kept_.end()) return {};
        if (fault_ != fault::forgets || ++puts_ % 10 != 0) kept_[std::string(key)] = value;
        return {};
    }
    result<std::unique_ptr<connection>> connect() override {
        return std::make_unique<handle>(*this);
    }
    result<void> begin() override { return {}; }
    result<void> make_durable() override { return {}; }
    result<void> rest() override { return {}; }
    result<void> settle() override { return {}; }
    result<void> close() override { return {}; }
    facts settings() const override { return {}; }
    counts counters() const override { return {}; }
    std::uint64_t memory() const override { return 0; }

   private:
    struct handle final : connection {
        explicit handle(liar& l) : of(l) {}
        result<bool> get(std::string_view key, std::string& value) override {
            return of.get(key, value);
        }
        result<void> put(std::string_view key, std::string_view value) override {
            return of.put(key, value);
        }
        liar& of;
    };

    fault fault_;
    unsigned puts_ = 0;
    std::map<std::string, std::string> kept_;
};

/// Loads, runs a round, verifies: the first error of the three.
result<void> try_out(fault f) {
    liar store(f);
    ledger notes(1000, 1);
    round_plan plan;
    plan.value_size = 100;
    plan.operations = 3000;
    if (auto done = load_records(store, notes, 1000, plan); !done) {
        return tl::unexpected(done.error());
    }
    const auto steps = make_streams({workload::a, distribution::uniform, 1000, 3000, 1}, 1);
    plan.steps = &steps.front();
    auto done = run_round(store, notes, plan);
    if (!done) return tl::unexpected(done.error());
    EXPECT_EQ(done->operations(), 3000U);
    EXPECT_GT(done->gets, 1000U);
    EXPECT_GT(done->puts, 1000U);
    return verify(store, notes, 100);
}

TEST(round, believes_a_store_that_is_right) {
    const auto done = try_out(fault::none);
    EXPECT_TRUE(done.has_value()) << done.error().to_string();
}

TEST(round, notices_a_store_that_answers_wrongly) {
    for (const fault f : {fault::forgets, fault::swaps, fault::tears, fault::stale}) {
        const auto done = try_out(f);
        ASSERT_FALSE(done.has_value()) << static_cast<int>(f);
        EXPECT_EQ(done.error().code, errc::violation);
    }
}

// ------------------------------------------------------------------------------------ the targets

sample at_speed(u64 operations, u64 ns) {
    sample s;
    s.round.seconds = 1;
    s.round.gets = operations;
    s.round.get_ns.add(ns);
    return s;
}

comparison_results results_of(acknowledge ack, u64 mine, u64 theirs, u64 ns) {
    comparison_results r;
    r.entrants = {std::string(ours), "rocksdb"};
    r.cells.push_back(
        {workload::a, distribution::zipfian, ack, {{at_speed(mine, ns)}, {}}, {}, {}});
    r.cells[0].of_entrant[1].push_back(at_speed(theirs, ns));
    return r;
}

TEST(targets, are_met_or_not) {
    const auto good = targets_of(results_of(acknowledge::behind, 1000, 100, 999'000));
    ASSERT_EQ(good.size(), 2U);
    EXPECT_TRUE(good[0].met() && good[1].met());
    const auto bad = targets_of(results_of(acknowledge::behind, 999, 100, 1'100'000));
    ASSERT_EQ(bad.size(), 2U);
    EXPECT_FALSE(bad[0].met() || bad[1].met());
    EXPECT_TRUE(targets_of(results_of(acknowledge::durable, 101, 100, 1)).at(0).met());
    EXPECT_FALSE(targets_of(results_of(acknowledge::durable, 99, 100, 1)).at(0).met());
}

TEST(targets, say_nothing_about_other_workloads) {
    auto r = results_of(acknowledge::behind, 1, 1, 1);
    r.cells[0].work = workload::b;
    EXPECT_TRUE(targets_of(r).empty());
}

TEST(peer_library, refuses_what_it_does_not_know) {
    const auto none = peer_library::load("clay-tablets");
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error().code, errc::usage);
}

}  // namespace
}  // namespace hf::bench
