// The paper's structures on the traced heap: what their transactions access, and that a recorded
// trace is simulated as the run itself was.
#include "bench/shadow/machine_set.hpp"
#include "bench/shadow/structure.hpp"
#include "sim/trace.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace hf::bench {
namespace {

constexpr u64 bytes = 200'000;

/// Counts accesses and checks that they are in the heap and in a transaction.
class counting_sink final : public sim::sink {
   public:
    explicit counting_sink(u64 pages) : end_(pages * 4096) {}
    bool load(unsigned, u64 at, unsigned n) override { return ++loads, check(at, n); }
    bool store(unsigned, u64 at, unsigned n) override { return ++stores, check(at, n); }
    void begin(unsigned) override { is_running = true; }
    void commit(unsigned) override {
        is_running = false;
        ++commits;
    }
    void abort(unsigned) override { ADD_FAILURE() << "nothing aborts"; }
    u64 loads = 0;
    u64 stores = 0;
    u64 commits = 0;
    bool is_running = false;

   private:
    bool check(u64 at, unsigned n) const {
        EXPECT_TRUE(is_running && at + n <= end_) << at;
        return true;
    }
    u64 end_;
};

TEST(traced_swaps, load_and_store_two_words_each) {
    const auto array = make_structure(shadow_work::sps, bytes, 512, 1);
    counting_sink all(array->pages());
    array->trace_to(&all, 0);
    array->transaction({3, 5, 7, 900});
    EXPECT_EQ(all.loads, 4U);
    EXPECT_EQ(all.stores, 4U);
    EXPECT_EQ(all.commits, 1U);
}

class a_traced_map : public ::testing::TestWithParam<shadow_work> {};

TEST_P(a_traced_map, undoes_a_toggle_by_the_next_one) {
    const auto map = make_structure(GetParam(), bytes, 512, 1);
    counting_sink first(map->pages());
    counting_sink third(map->pages());
    for (counting_sink* s : {&first, static_cast<counting_sink*>(nullptr), &third}) {
        map->trace_to(s, 0);
        map->transaction({11});
    }
    EXPECT_EQ(first.commits, 1U);
    EXPECT_GE(first.stores, 1U);
    EXPECT_GE(first.loads, 1U);
    EXPECT_EQ(third.commits, 1U);
}

TEST_P(a_traced_map, makes_the_same_accesses_again) {
    std::array<std::string, 2> traces;
    for (std::string& trace : traces) {
        const auto map = make_structure(GetParam(), bytes, 384, 5);
        std::ostringstream out;
        sim::trace_writer writer(out, "memory", 1, map->pages());
        map->trace_to(&writer, 0);
        for (u64 k = 0; k < 200; ++k) map->transaction({k * 37 % map->keys()});
        ASSERT_TRUE(writer.finish());
        trace = out.str();
    }
    EXPECT_EQ(traces[0], traces[1]);
}

INSTANTIATE_TEST_SUITE_P(each, a_traced_map,
                         ::testing::Values(shadow_work::hash_table, shadow_work::red_black,
                                           shadow_work::b_tree));

TEST(make_structure, refuses_nodes_of_another_size) {
    EXPECT_THROW(static_cast<void>(make_structure(shadow_work::b_tree, bytes, 100, 1)),
                 std::invalid_argument);
}

TEST(machine_set, count_a_replayed_trace_as_the_run_itself) {
    const auto map = make_structure(shadow_work::hash_table, bytes, 512, 1);
    const std::vector<std::string> machines{"osp", "lazy-1k"};
    machine_set live(machines, map->pages());
    std::ostringstream out;
    sim::trace_writer writer(out, "memory", 1, map->pages());
    sim::fan_out both({&live.all(), &writer});
    map->trace_to(&both, 0);
    for (u64 k = 0; k < 500; ++k) map->transaction({k * 101 % map->keys(), k});
    ASSERT_TRUE(writer.finish());
    machine_set replayed(machines, map->pages());
    std::istringstream in(out.str());
    const auto done = sim::replay_trace(in, "memory", replayed.all());
    ASSERT_TRUE(done) << done.error().to_string();
    nlohmann::json rows[2] = {nlohmann::json::array(), nlohmann::json::array()};
    live.tell(nlohmann::json::object(), rows[0]);
    replayed.tell(nlohmann::json::object(), rows[1]);
    EXPECT_EQ(rows[0], rows[1]);
    EXPECT_EQ(rows[0].size(), machines.size() + shadow_logs().size());
    EXPECT_EQ(rows[0][0]["machine"], "osp");
    EXPECT_EQ(rows[0][0]["transactions"], 500);
}

TEST(shadow_machines, have_different_names_and_the_baseline_is_first) {
    for (const named_machine& m : shadow_machines()) EXPECT_EQ(find_machine(m.name), &m);
    EXPECT_EQ(find_machine("no such machine"), nullptr);
    EXPECT_EQ(shadow_logs().front().name, "undo-line-1");
}

}  // namespace
}  // namespace hf::bench
