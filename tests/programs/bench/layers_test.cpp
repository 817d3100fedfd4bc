// The workloads of the NV-heaps paper do the same on every layer.
#include "bench/bench_command.hpp"
#include "bench/heap/rival_library.hpp"
#include "bench/layers/workload.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <set>
#include <thread>

namespace hf::bench {
namespace {

constexpr u64 seed = 7;

class layers_bench : public test::on_tmpfs, public testing::WithParamInterface<work_kind> {
   protected:
    [[nodiscard]] work_options options(layer_kind layer) const {
        work_options o;
        o.layer = layer;
        o.work = GetParam();
        o.directory = dir / layer_names()[static_cast<std::size_t>(layer)];
        o.elements = o.work == work_kind::cache || o.work == work_kind::ssca ? 64 : 200;
        o.bytes = u64{64} << 20;
        o.swaps = 4;
        o.seed = seed;
        std::filesystem::create_directories(o.directory);
        return o;
    }
};

constexpr layer_kind all_layers[] = {layer_kind::base, layer_kind::safe, layer_kind::tx,
                                     layer_kind::c_tx, layer_kind::nodur};

TEST_P(layers_bench, answers_are_the_same_on_each) {
    std::vector<u64> first;
    for (const layer_kind layer : all_layers) {
        const auto work = open_workload(options(layer));
        work->make();
        xoshiro256ss random(seed);
        const zipfian skewed(400);
        std::vector<u64> answers;
        for (int i = 0; i < 3'000; ++i) {
            answers.push_back(work->step(random, i % 2 == 0 ? &skewed : nullptr));
        }
        answers.push_back(work->digest());
        EXPECT_EQ(work->complaints(), "");
        if (first.empty()) first = answers;
        EXPECT_TRUE(answers == first)
            << layer_names()[static_cast<std::size_t>(layer)] << ", seed " << seed;
    }
}

TEST_P(layers_bench, threads_leave_a_sound_heap) {
    const auto work = open_workload(options(layer_kind::c_tx));
    work->make();
    std::vector<std::thread> all;
    for (u64 t = 0; t < 3; ++t) {
        all.emplace_back([&work, t] {
            xoshiro256ss random(seed + t);
            for (int i = 0; i < 500; ++i) (void)work->step(random, nullptr);
        });
    }
    for (std::thread& t : all) t.join();
    EXPECT_EQ(work->complaints(), "");
}

INSTANTIATE_TEST_SUITE_P(works, layers_bench,
                         testing::Values(work_kind::sps, work_kind::six_degrees, work_kind::b_tree,
                                         work_kind::hash_table, work_kind::red_black,
                                         work_kind::ssca, work_kind::cache),
                         [](const auto& which) {
                             return work_names()[static_cast<std::size_t>(which.param)];
                         });

// The structures are sets: a step says whether the key is there now, and so does a model.
class key_structures : public layers_bench {};
TEST_P(key_structures, are_sets) {
    const work_options o = options(layer_kind::base);
    const auto work = open_workload(o);
    work->make();
    xoshiro256ss made(o.seed);
    std::set<u64> model;
    for (u64 k = 0; k < 2 * o.elements; ++k) {
        if (made.below(2) == 0) model.insert(k);
    }
    xoshiro256ss random(seed);
    xoshiro256ss same(seed);
    for (int i = 0; i < 5'000; ++i) {
        const u64 key = draw(same, nullptr, 2 * o.elements);
        const bool is_there = work->step(random, nullptr) == 1;
        ASSERT_EQ(is_there, model.insert(key).second) << "step " << i << ", seed " << seed;
        if (!is_there) model.erase(key);
    }
    u64 sum = 0;
    for (const u64 k : model) sum += splitmix64(k)();
    EXPECT_EQ(work->digest(), sum);
}
INSTANTIATE_TEST_SUITE_P(works, key_structures,
                         testing::Values(work_kind::b_tree, work_kind::hash_table,
                                         work_kind::red_black));

TEST(layers_operations, are_timed_on_each) {
    for (const layer_kind layer : all_layers) {
        const test::scratch_directory here;
        work_options o;
        o.layer = layer;
        o.directory = here.path();
        o.bytes = u64{64} << 20;
        std::map<std::string, unsigned> rows;
        for (const operation_time& t : time_operations(o, 200, 1)) {
            EXPECT_GT(t.ns, 0) << t.operation;
            ++rows[t.operation];
        }
        EXPECT_EQ(rows.size(), layer == layer_kind::base ? 6U : 7U);
    }
}

class layers_command : public test::on_tmpfs {
   protected:
    [[nodiscard]] bool is_there(const std::string& peer) const {
        object_options o{dir / peer, 100, u64{64} << 20, ""};
        std::filesystem::create_directories(o.directory);
        auto opened = open_rival(peer, o);
        const bool found = opened.has_value();
        if (found) opened->reset();
        std::filesystem::remove_all(o.directory);
        return found;
    }
};

TEST_F(layers_command, measures_every_part) {
    const std::string report = (dir / "layers.json").string();
    std::vector<std::string> arguments{"layers",
                                       "--elements",
                                       "200",
                                       "--items",
                                       "50",
                                       "--vertices",
                                       "60",
                                       "--graph",
                                       "32",
                                       "--threads",
                                       "2",
                                       "--round",
                                       "1",
                                       "--repetitions",
                                       "2",
                                       "--operations",
                                       "200",
                                       "--dir",
                                       dir.path().string(),
                                       "--disk",
                                       dir.path().string(),
                                       "--json",
                                       report};
    std::string peers;
    for (const std::string& p : object_rival_names()) {
        if (is_there(p)) peers += (peers.empty() ? "" : ",") + p;
    }
    if (!peers.empty()) arguments.insert(arguments.end(), {"--peers", peers});
    ASSERT_EQ(bench_command(arguments), 0);
    std::ifstream in(report);
    const auto json = nlohmann::json::parse(in);
    std::map<std::string, unsigned> rows;
    for (const auto& r : json["rates"]) {
        ++rows[r["part"]];
        ASSERT_EQ(r["operations per second"].size(), 2U);
        for (const double rate : r["operations per second"]) EXPECT_GT(rate, 0) << r;
    }
    EXPECT_EQ(rows["sizes"], 5 * 2 * 2U);
    EXPECT_EQ(rows["works"], 6 * 5 * 2U);
    EXPECT_EQ(rows["safety"], 6 * (4 + 1U));
    EXPECT_GE(rows["systems"], 3 * 4U);
    EXPECT_GE(rows["cache"], 5U);
    EXPECT_EQ(json["table"].size(), 10 * 13 - 2U) << "base has no weak pointers";
    EXPECT_EQ(dir.names(), std::vector<std::string>{"layers.json"});
}

TEST_F(layers_command, refuses_what_makes_no_sense) {
    EXPECT_EQ(bench_command({"layers", "--peers", "clay-tablets"}), 2);
    EXPECT_EQ(bench_command({"layers", "--parts", "everything"}), 2);
    EXPECT_EQ(bench_command({"layers", "--vertices", "0"}), 2);
}

}  // namespace
}  // namespace hf::bench
