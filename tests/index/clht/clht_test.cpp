#include "clht_fixture.hpp"

#include <map>
#include <set>

namespace hf::test {
namespace {

class clht_of_integers : public on_tmpfs {};
class clht_of_bytes : public on_tmpfs {};

static_assert(eager_index<clht<eager_discipline, integer_keys>> &&
              eager_index<clht<eager_transient_discipline, byte_keys>>);

TEST_F(clht_of_integers, finds_what_was_inserted_and_nothing_else) {
    integer_clht t(file);
    EXPECT_TRUE(t.insert(7, 70));
    EXPECT_FALSE(t.insert(7, 71));
    EXPECT_EQ(t.get(7), 70);
    EXPECT_EQ(t.get(8), std::nullopt);
    EXPECT_FALSE(t.update(8, 80));
    EXPECT_TRUE(t.update(7, 72));
    EXPECT_EQ(t.get(7), 72);
    EXPECT_TRUE(t.upsert(8, 80));
    EXPECT_FALSE(t.upsert(8, 81));
    EXPECT_EQ(t.get(8), 81);
    EXPECT_TRUE(t.remove(7));
    EXPECT_FALSE(t.remove(7));
    EXPECT_EQ(t.get(7), std::nullopt);
    EXPECT_EQ(t.audit(), "");
}

TEST_F(clht_of_integers, has_the_keys_zero_and_one_and_the_largest) {
    integer_clht t(file);
    for (u64 k : {u64{0}, u64{1}, ~u64{0}}) EXPECT_TRUE(t.insert(k, k + 5));
    t.open_again();
    for (u64 k : {u64{0}, u64{1}, ~u64{0}}) EXPECT_EQ(t.get(k), k + 5);
    EXPECT_TRUE(t.remove(0));
    EXPECT_EQ(t.get(0), std::nullopt);
    EXPECT_EQ(t.get(1), 6);
}

TEST_F(clht_of_integers, grows_bucket_by_bucket_and_loses_nothing) {
    integer_clht t(file);
    constexpr u64 keys = 5000;
    for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(t.insert(k * 7, k));
    EXPECT_GE(t.table->level(), 10U);
    for (u64 k = 0; k < keys; ++k) ASSERT_EQ(t.get(k * 7), k);
    EXPECT_EQ(t.audit(), "");
    std::map<u64, u64> seen;
    t.table->for_each(*t.space, [&](u64 k, u64 v) { EXPECT_TRUE(seen.emplace(k, v).second); });
    EXPECT_EQ(seen.size(), keys);
    for (const auto& [k, v] : seen) EXPECT_EQ(k, v * 7);
}

TEST_F(clht_of_integers, an_insert_without_growth_is_one_flush_and_one_fence) {
    integer_clht t(file);
    static_cast<void>(t.insert(1, 1));
    const auto count = [&](const auto& work) {
        const persist_counters before = thread_persist_counters();
        work();
        const persist_counters after = thread_persist_counters();
        return std::pair(after.flushes - before.flushes, after.fences - before.fences);
    };
    using pair = std::pair<u64, u64>;
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    EXPECT_EQ(count([&] { t.insert(2, 2); }), pair(1, 1));
    EXPECT_EQ(count([&] { t.update(2, 3); }), pair(1, 1));
    EXPECT_EQ(count([&] { t.remove(2); }), pair(1, 1));
    EXPECT_EQ(count([&] { t.get(1); }), pair(0, 0));
    EXPECT_EQ(count([&] { t.insert(1, 3); }), pair(0, 0));
}

TEST_F(clht_of_bytes, an_insert_without_growth_is_two_flushes_and_two_fences) {
    byte_clht t(file);
    static_cast<void>(t.insert("a", "1"));
    const persist_counters before = thread_persist_counters();
    static_cast<void>(t.insert("b", "2"));
    const persist_counters after = thread_persist_counters();
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    EXPECT_EQ(after.flushes - before.flushes, 2U);
    EXPECT_EQ(after.fences - before.fences, 2U);
}

TEST_F(clht_of_bytes, has_keys_of_any_bytes_and_lengths) {
    byte_clht t(file);
    const std::string long_key(most_key_bytes, 'k');
    const std::string zeros(5, '\0');
    std::map<std::string, std::string> all{
        {"", "empty"}, {zeros, "zeros"}, {zeros + '\0', "more zeros"}, {long_key, "long"}};
    all["value"] = std::string(200'000, 'v');
    for (const auto& [k, v] : all) ASSERT_TRUE(t.insert(k, v));
    t.open_again(false);
    for (const auto& [k, v] : all) EXPECT_EQ(t.get(k), v);
    EXPECT_EQ(t.audit(), "");
    typename byte_clht::operation op(*t.space);
    const auto refused = t.table->insert(op, long_key + "k", "");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::too_large);
}

TEST_F(clht_of_bytes, gives_back_what_is_replaced_or_removed) {
    byte_clht t(file);
    for (int round = 0; round < 50; ++round) {
        for (int k = 0; k < 100; ++k) {
            t.upsert("key" + std::to_string(k), std::string(1000, static_cast<char>('a' + k % 26)));
        }
    }
    EXPECT_EQ(t.audit(), "");
    EXPECT_LT(t.space->file().size(), u64{2} << 20);
    for (int k = 0; k < 100; ++k) EXPECT_TRUE(t.remove("key" + std::to_string(k)));
    EXPECT_EQ(t.audit(), "");
}

TEST_F(clht_of_bytes, tells_the_old_value_once) {
    byte_clht t(file);
    typename byte_clht::operation op(*t.space);
    std::string old;
    const auto keep = [&](std::string_view v) { old += v; };
    EXPECT_TRUE(must(t.table->upsert(op, "k", "1", keep)));
    EXPECT_EQ(old, "");
    EXPECT_FALSE(must(t.table->upsert(op, "k", "2", keep)));
    EXPECT_EQ(old, "1");
    EXPECT_TRUE(must(t.table->update(op, "k", "3", keep)));
    EXPECT_EQ(old, "12");
    EXPECT_TRUE(t.table->remove(op, "k", keep));
    EXPECT_EQ(old, "123");
}

TEST_F(clht_of_bytes, refuses_a_table_of_other_keys) {
    {
        integer_clht t(file);
    }
    eager_options o;
    o.region.kind = discipline::eager;
    const layout::room_format rooms[] = {byte_clht::index::format};
    std::unique_ptr<byte_clht::index> table;
    auto opened = eager_space::open(file, o, rooms, [&](eager_space& s) -> result<void> {
        auto made = byte_clht::index::open(s, "table");
        if (!made) return tl::unexpected(made.error());
        table = std::move(*made);
        return {};
    });
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::incompatible);
}

TEST_F(clht_of_integers, runs_as_the_yardstick_without_a_flush) {
    clht_store<eager_transient_discipline, integer_keys, small_clht_shape> t(file);
    const persist_counters before = thread_persist_counters();
    for (u64 k = 0; k < 100; ++k) ASSERT_TRUE(t.insert(k, k));
    for (u64 k = 0; k < 100; ++k) ASSERT_EQ(t.get(k), k);
    const persist_counters after = thread_persist_counters();
    EXPECT_LE(after.fences - before.fences, 40U);  // runs of pages, which the heap makes
    EXPECT_EQ(t.audit(), "");
}

TEST_F(clht_of_bytes, in_a_full_region_reads_and_removes_go_on) {
    eager_options o;
    o.region.kind = discipline::eager;
    o.region.initial_size = u64{1} << 20;
    o.region.max_size = u64{2} << 20;
    std::unique_ptr<byte_clht::index> table;
    auto space = must(eager_space::open(file, o, {}, [&](eager_space& s) -> result<void> {
        table = must(byte_clht::index::open(s, "table"));
        return {};
    }));
    std::set<std::string> there;
    for (int k = 0;; ++k) {
        typename byte_clht::operation op(*space);
        const std::string name = std::to_string(k);
        const auto done = table->insert(op, name, std::string(3000, 'v'));
        if (!done) {
            EXPECT_EQ(done.error().code, errc::no_space);
            break;
        }
        there.insert(name);
    }
    ASSERT_GT(there.size(), 100U);
    std::set<std::string> seen;
    table->for_each(*space, [&](std::string_view k, std::string_view) { seen.emplace(k); });
    EXPECT_EQ(seen, there);
    for (const std::string& k : there) {
        typename byte_clht::operation op(*space);
        EXPECT_TRUE(table->remove(op, k));
    }
    space->grace().reclaim_all();
    typename byte_clht::operation op(*space);
    EXPECT_TRUE(must(table->insert(op, "again", std::string(3000, 'v'))));
}

}  // namespace
}  // namespace hf::test
