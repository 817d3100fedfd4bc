// `holdfast bench heap`: a small run over all, what it prints, and what it refuses.
#include "bench/bench_command.hpp"
#include "bench/heap/rival_library.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

namespace hf::bench {
namespace {

class heap_bench : public test::on_tmpfs {
   protected:
    const std::filesystem::path report = dir / "heap.json";

    int run(const std::string& peers, const std::string& parts) const {
        const std::string here = file.parent_path().string();
        std::vector<std::string> arguments{
            "heap",         "--parts", parts, "--elements",    "2000", "--array",
            "2000",         "--round", "3",   "--repetitions", "2",    "--commits",
            "500",          "--dir",   here,  "--disk",        here,   "--json",
            report.string()};
        if (!peers.empty()) arguments.insert(arguments.end(), {"--peers", peers});
        return bench_command(arguments);
    }
    [[nodiscard]] nlohmann::json found() const {
        std::ifstream in(report);
        return nlohmann::json::parse(in);
    }
};

TEST_F(heap_bench, measures_every_part_of_its_own) {
    ASSERT_EQ(run("", "small,swaps,maps,zipfian,threads,chase,opening"), 0);
    const auto json = found();
    std::set<std::string> works;
    for (const auto& r : json["rates"]) {
        works.insert(r["work"]);
        ASSERT_EQ(r["mops"].size(), 2U);
        for (const double rate : r["mops"]) EXPECT_GT(rate, 0) << r;
        if (r["who"] == "nodur") {
            EXPECT_EQ(r["fences"], 0) << r;
        }
    }
    EXPECT_EQ(works.size(), 3 + 3 + 3 + 3 + 6U);
    for (const auto& r : json["rates"]) {
        if (r["work"] == "one field" && r["who"] == "holdfast") {
            EXPECT_NEAR(r["fences"], 1, 0.1);
        }
        if (r["work"] == "one field" && r["who"] == "holdfast-undo") {
            EXPECT_NEAR(r["fences"], 3, 0.1);
        }
        if (r["work"] == "one field" && r["who"] == "holdfast-shadow") {
            EXPECT_NEAR(r["fences"], 1.5, 0.1) << "one to the second slot, two to the home";
            EXPECT_NEAR(r["lines"], 2, 0.1) << "its own copy is written, and that of the count";
        }
        if (r["work"] == "read-only: one field") {
            EXPECT_LT(r["flushes"], 0.01) << r;
        }
    }
    for (const auto& o : json["opening"]) EXPECT_GE(o["records"], 500) << o;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}), 1)
        << "it has left more than its report";
}

// Each transaction's answer is compared with what must be there, a rival's too.
TEST_F(heap_bench, measures_its_rivals) {
    std::string peers;
    for (const std::string& name : object_rival_names()) {
        object_options o{dir / name, 100, u64{64} << 20, ""};
        std::filesystem::create_directories(o.directory);
        auto opened = open_rival(name, o);
        if (opened) opened->reset();
        std::filesystem::remove_all(o.directory);
        if (!opened) {
            ASSERT_EQ(opened.error().code, errc::not_found) << opened.error().to_string();
            continue;
        }
        peers += (peers.empty() ? "" : ",") + name;
    }
    if (peers.empty()) GTEST_SKIP() << "no rival is installed";
    ASSERT_EQ(run(peers, "small,swaps,maps"), 0);
    std::map<std::string, unsigned> rows;
    const auto json = found();
    for (const auto& r : json["rates"]) ++rows[r["who"]];
    if (rows.contains("libpmemobj")) {
        EXPECT_EQ(rows["libpmemobj"], 9U);
    }
    if (rows.contains("bdb")) {
        EXPECT_EQ(rows["bdb"], 5U);
    }
    if (rows.contains("lmdb")) {
        EXPECT_EQ(rows["lmdb"], 4U);
    }
}

TEST_F(heap_bench, refuses_what_makes_no_sense) {
    EXPECT_EQ(bench_command({"heap", "--peers", "clay-tablets"}), 2);
    EXPECT_EQ(bench_command({"heap", "--parts", "everything"}), 2);
    EXPECT_EQ(bench_command({"heap", "--engine", "steam"}), 2);
    EXPECT_EQ(bench_command({"heap", "--elements", "0"}), 2);
}

// The rivals' structures do what a set does: they are written here, not by the rivals.
TEST_F(heap_bench, rivals_structures_are_sets) {
    for (const std::string& name : object_rival_names()) {
        for (const object_work w : {object_work::tree, object_work::red_black, object_work::hash}) {
            object_options o{dir / name, 300, u64{64} << 20, ""};
            std::filesystem::remove_all(o.directory);
            std::filesystem::create_directories(o.directory);
            auto opened = open_rival(name, o);
            if (!opened || !(*opened)->does(w)) continue;
            (*opened)->prepare(w);
            std::set<u64> model;
            std::mt19937_64 random(5);
            for (int i = 0; i < 3'000; ++i) {
                const u64 k = random() % (i < 1500 ? 600 : 60);
                const bool is_there = (*opened)->toggle(k);
                ASSERT_EQ(is_there, model.insert(k).second) << name << ", step " << i;
                if (!is_there) model.erase(k);
            }
        }
    }
}

}  // namespace
}  // namespace hf::bench
