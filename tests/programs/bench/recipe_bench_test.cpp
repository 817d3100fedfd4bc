// `holdfast bench recipe`: what is drawn, a small run over all stores, and what it refuses.
#include <holdfast/eager.hpp>

#include "bench/bench_command.hpp"
#include "bench/recipe/store.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <set>

namespace hf::bench {
namespace {

recipe_shape shape_of(recipe_load w, recipe_keys k = recipe_keys::integer) {
    return {w, distribution::zipfian, k, 1000, 5000, 4000, 2};
}

TEST(recipe_work_of, inserts_what_nobody_else_does) {
    for (const recipe_load w : {recipe_load::load, recipe_load::a, recipe_load::b, recipe_load::d,
                                recipe_load::e, recipe_load::f, recipe_load::a_update}) {
        const auto all = make_recipe_work(shape_of(w), 1);
        ASSERT_EQ(all.size(), 2U);
        std::set<u64> inserted;
        u64 steps = 0;
        for (const recipe_work& one : all) {
            std::set<u64> own;
            for (const recipe_step& s : one.steps) {
                ++steps;
                if (s.what() == deed::insert) {
                    EXPECT_TRUE(inserted.insert(s.record()).second);
                    EXPECT_TRUE(s.record() >= 5000 && s.record() < 9000) << s.record();
                    own.insert(s.record());
                } else {
                    EXPECT_TRUE(s.record() < 1000 || own.contains(s.record())) << s.record();
                }
            }
        }
        EXPECT_EQ(steps, 4000U);
        EXPECT_EQ(inserts_of(all), inserted.size());
        const bool inserts = w != recipe_load::f && w != recipe_load::a_update;
        EXPECT_EQ(!inserted.empty(), inserts) << to_string(w);
    }
}

TEST(recipe_work_of, d_reads_the_latest) {
    u64 own = 0;
    u64 reads = 0;
    for (const recipe_work& one : make_recipe_work(shape_of(recipe_load::d), 1)) {
        for (const recipe_step& s : one.steps) {
            reads += s.what() == deed::get ? 1 : 0;
            own += s.what() == deed::get && s.record() >= 5000 ? 1 : 0;
        }
    }
    EXPECT_GT(2 * own, reads);
}

TEST(recipe_work_of, has_keys_of_24_bytes_beside_its_steps) {
    const auto all = make_recipe_work(shape_of(recipe_load::miss, recipe_keys::string), 1);
    std::set<std::string_view> loaded;
    const auto load = make_recipe_work(
        {recipe_load::load, distribution::uniform, recipe_keys::string, 1000, 0, 1000, 1}, 1);
    u64 scratch = 0;
    for (std::size_t i = 0; i < 1000; ++i) loaded.insert(load[0].bytes_of(i, scratch));
    ASSERT_EQ(loaded.size(), 1000U);
    EXPECT_EQ(loaded.begin()->size(), 24U);
    for (const recipe_work& one : all) {
        for (std::size_t i = 0; i < one.steps.size(); ++i) {
            EXPECT_FALSE(loaded.contains(one.bytes_of(i, scratch)));
        }
    }
}

class recipe_bench : public test::on_tmpfs {
   protected:
    const std::filesystem::path report = dir / "recipe.json";

    [[nodiscard]] int run(const std::string& stores) const {
        return bench_command({"recipe", "--stores", stores, "--records", "2000", "--repetitions",
                              "1", "--threads", "2", "--dir", file.parent_path().string(), "--json",
                              report.string()});
    }
    [[nodiscard]] nlohmann::json found() const {
        std::ifstream in(report);
        return nlohmann::json::parse(in);
    }
};

double per_operation(const nlohmann::json& row, const char* what) {
    const auto& r = row["repetitions"][0];
    return r[what].get<double>() / r["operations"].get<double>();
}

TEST_F(recipe_bench, measures_its_own_in_each_workload) {
    std::string stores = "map";
    for (const std::string& index : eager_index_names()) {
        stores += "," + index + "-eager," + index + "-transient";
    }
    ASSERT_EQ(run(stores), 0);
    std::map<std::string, unsigned> rows;
    const auto json = found();
    for (const auto& r : json["results"]) {
        const std::string store = r["store"];
        ++rows[store];
        if (store.ends_with("-transient")) {
            EXPECT_EQ(per_operation(r, "flushes"), 0) << r;
        }
        if (!store.ends_with("-eager")) continue;
        if (r["workload"] == "load") {
            EXPECT_GE(per_operation(r, "flushes"), 1) << r;
            EXPECT_GE(per_operation(r, "fences"), 1) << r;
        }
        if (r["workload"] == "C" || r["workload"] == "miss") {
            EXPECT_EQ(per_operation(r, "flushes"), 0) << r;
        }
        if (r["workload"] == "E") {
            EXPECT_GT(per_operation(r, "scanned"), 10) << r;
            EXPECT_EQ(r["distribution"], "zipfian") << r;
        }
    }
    // Two kinds of keys; load, D and E are measured once, the other seven uniform and zipfian.
    for (const auto& [store, n] : rows) {
        EXPECT_EQ(n, store.starts_with("clht") ? 32U : 34U) << store;
    }
    EXPECT_EQ(rows.size(), 11U);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}), 1)
        << "it has left more than its report";
}

// Every value that is read is compared with its key.
TEST_F(recipe_bench, measures_its_peers) {
    auto space = scratch_space::make(file.parent_path().string(), huge_pages::off);
    ASSERT_TRUE(space);
    std::string stores;
    for (const std::string& name : recipe_peer_names()) {
        auto opened = make_recipe_store(name, *space, {recipe_keys::integer, 100, 1, "peer"});
        if (!opened) {
            ASSERT_EQ(opened.error().code, errc::not_found) << opened.error().to_string();
            continue;
        }
        stores += (stores.empty() ? "" : ",") + name;
    }
    if (stores.empty()) GTEST_SKIP() << "no peer is installed";
    ASSERT_EQ(run(stores), 0);
    const auto all = found();
    for (const auto& r : all["results"]) EXPECT_GT(r["Mops/s"], 0) << r;
}

TEST_F(recipe_bench, refuses_what_makes_no_sense) {
    EXPECT_EQ(bench_command({"recipe", "--stores", "clay-tablets"}), 2);
    EXPECT_EQ(bench_command({"recipe", "--workloads", "Z"}), 2);
    EXPECT_EQ(bench_command({"recipe", "--keys", "roman"}), 2);
    EXPECT_EQ(bench_command({"recipe", "--records", "1"}), 2);
    EXPECT_EQ(bench_command({"recipe", "--threads", "0"}), 2);
}

}  // namespace
}  // namespace hf::bench
