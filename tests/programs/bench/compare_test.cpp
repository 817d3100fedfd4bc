// A comparison from end to end, with every peer that was built; how fast does not matter here.
#include "bench/bench_command.hpp"
#include "bench/compare/entrant.hpp"
#include "bench/compare/peer_library.hpp"
#include "bench/run.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace hf::bench {
namespace {

/// Files of this process that a comparison has left behind.
std::size_t left_in(const std::filesystem::path& directory) {
    const std::string mine = "holdfast-compare-" + std::to_string(::getpid()) + "-";
    std::size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        if (entry.path().filename().string().starts_with(mine)) ++n;
    }
    return n;
}

class compare : public ::testing::Test {
   protected:
    [[nodiscard]] options small(std::vector<std::string> peers) const {
        options o;
        o.what = measurement_kind::compare;
        compare_options& c = o.compare;
        c.peers = std::move(peers);
        c.records = 3'000;
        c.threads = 2;
        c.clients = 4;
        c.operations = 500;
        c.repetitions = 2;
        c.window = std::chrono::milliseconds(2);
        c.directory = directory.path();
        c.force_medium = true;  // the journal lies in tmpfs
        return o;
    }

    /// Runs it and checks what every comparison must report.
    nlohmann::json run(const options& o) {
        std::ostringstream out;
        nlohmann::json json;
        const auto done = run_compare(o, out, json);
        EXPECT_TRUE(done.has_value()) << done.error().to_string();
        text = out.str();
        EXPECT_EQ(left_in(directory.path()), 0U);
        EXPECT_EQ(left_in("/dev/shm"), 0U);
        const std::size_t stores = 2 + o.compare.peers.size();
        EXPECT_EQ(json["load"].size(), stores);
        EXPECT_EQ(json["results"].size(),
                  stores * o.compare.workloads.size() * o.compare.acks.size());
        for (const auto& r : json["results"]) check_result(r, o.compare);
        const bool watched = text.find("durability is not measured") == std::string::npos;
        EXPECT_EQ(json["durability"].size(), watched ? json["results"].size() : 0);
        for (const auto& d : json["durability"]) check_durability(d);
        return json;
    }

    static void check_result(const nlohmann::json& r, const compare_options& o) {
        ASSERT_EQ(r["repetitions"].size(), o.repetitions);
        EXPECT_EQ(r["running in"].size(), 1U) << "and no more that is not counted";
        const unsigned clients = r["ack"] == "behind" ? o.threads : o.clients;
        EXPECT_EQ(r["latency ns"]["operations"], o.operations * clients * o.repetitions);
        for (const auto& s : r["repetitions"]) {
            EXPECT_EQ(s["gets"].get<u64>() + s["puts"].get<u64>(), o.operations * clients);
            EXPECT_GT(s["puts"], 0);
            EXPECT_GT(s["ops/s"], 0);
            EXPECT_GT(s["memory bytes"], 0) << r["store"];
            if (r["store"] == ours) {
                EXPECT_LE(s["memory bytes"], memory_for(o)) << "more than the peers may have";
            }
        }
        EXPECT_GT(r["ratio"], 0);
    }

    /// A write that is not durable at once reaches the disk after its acknowledgement, a durable
    /// one before.
    static void check_durability(const nlohmann::json& d) {
        const u64 probes = d["probes"];
        EXPECT_GT(probes, 0U);
        EXPECT_EQ(d["acknowledged at ns"].size(), probes);
        if (d["store"] == "holdfast/shm") {
            EXPECT_EQ(d["landed"], 0) << "tmpfs is never synced";
            return;
        }
        EXPECT_EQ(d["landed"], probes) << d["store"];
        if (d["ack"] == "durable") {
            EXPECT_EQ(d["early"], 0) << d["store"];
        } else {
            EXPECT_GT(d["early"], 0) << d["store"];
            EXPECT_GT(d["to land ns"]["max"], 0) << d["store"];
        }
    }

    test::scratch_directory directory;
    std::string text;
};

TEST_F(compare, measures_holdfast_on_its_media) {
    const auto json = run(small({}));
    const auto& first = json["results"][0];
    EXPECT_EQ(first["store"], "holdfast/file");
    EXPECT_EQ(first["ratio"], 1.0);
    // Half of the operations are puts, and the journal has them.
    EXPECT_GT(first["repetitions"][0]["counted"]["journal bytes"], 0);
    EXPECT_EQ(json["settings"]["behind"]["holdfast/file"]["medium"], "file");
    EXPECT_EQ(json["settings"]["behind"]["holdfast/shm"]["medium"], "shm");
    EXPECT_NE(text.find("holdfast/shm"), std::string::npos);
    EXPECT_FALSE(json["targets"].empty());
}

TEST_F(compare, loads_for_durable_puts_alone_as_well) {
    options o = small({});
    o.compare.acks = {acknowledge::durable};
    o.compare.workloads = {workload::a};
    const auto json = run(o);
    EXPECT_EQ(json["results"][0]["ack"], "durable");
}

TEST_F(compare, measures_every_peer_that_was_built) {
    std::vector<std::string> built;
    for (const std::string& name : peer_names()) {
        if (auto found = peer_library::load(name)) {
            built.push_back(name);
        } else {
            EXPECT_EQ(found.error().code, errc::not_found) << found.error().to_string();
            EXPECT_NE(found.error().next.find("-dev"), std::string::npos);
        }
    }
    if (built.empty()) GTEST_SKIP() << "no peer was built";
    options o = small(built);
    o.compare.workloads = {workload::a};
    const auto json = run(o);
    for (const std::string& name : built) {
        EXPECT_NE(text.find(name), std::string::npos);
        EXPECT_TRUE(json["settings"]["durable"].contains(name));
    }
}

/// With the options as they are typed, on the disk that this was built on.
TEST_F(compare, exits_with_1_if_a_target_is_not_met) {
    const auto place = std::filesystem::current_path();
    const auto file = directory.path() / "results.json";
    const int code =
        bench_command({"compare", "--peers", "none", "--records", "1000", "--operations", "1000",
                       "--repetitions", "1", "--ack", "behind", "--workloads", "A", "--check",
                       "--dir", place.string(), "--json", file.string()});
    if (code == static_cast<int>(errc::medium)) GTEST_SKIP() << place << " is on no disk";
    const auto json = nlohmann::json::parse(std::ifstream(file));
    ASSERT_EQ(json["targets"].size(), 2U);
    bool met = true;
    for (const auto& t : json["targets"]) {
        const bool reached =
            t["at least"] ? t["measured"] >= t["wanted"] : t["measured"] < t["wanted"];
        EXPECT_EQ(t["met"], reached);
        met = met && reached;
    }
    EXPECT_EQ(code, met ? 0 : 1);
    EXPECT_EQ(left_in(place), 0U);
}

TEST_F(compare, has_no_target_met_where_there_is_none) {
    const auto place = std::filesystem::current_path();
    const int code = bench_command({"compare", "--peers", "none", "--records", "1000",
                                    "--operations", "100", "--repetitions", "1", "--ack", "behind",
                                    "--workloads", "C", "--check", "--dir", place.string()});
    if (code == static_cast<int>(errc::medium)) GTEST_SKIP() << place << " is on no disk";
    EXPECT_EQ(code, 1);
}

TEST_F(compare, stops_at_a_missing_peer_before_anything_is_measured) {
    std::ostringstream out;
    nlohmann::json json;
    const auto done = run_compare(small({"clay-tablets"}), out, json);
    ASSERT_FALSE(done.has_value());
    EXPECT_TRUE(out.str().empty());
    EXPECT_EQ(left_in(directory.path()), 0U);
}

TEST_F(compare, refuses_a_directory_that_gives_another_medium) {
    options o = small({});
    o.compare.force_medium = false;
    o.compare.directory = "/dev/shm";
    std::ostringstream out;
    nlohmann::json json;
    const auto done = run_compare(o, out, json);
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, errc::medium);
    EXPECT_NE(done.error().next.find("--dir"), std::string::npos);
}

TEST_F(compare, refuses_a_directory_that_is_not_there) {
    options o = small({});
    o.compare.directory /= "nowhere";
    std::ostringstream out;
    nlohmann::json json;
    const auto done = run_compare(o, out, json);
    ASSERT_FALSE(done.has_value());
    EXPECT_NE(done.error().to_string().find("nowhere"), std::string::npos);
}

TEST_F(compare, refuses_what_does_not_fit_into_memory) {
    options o = small({});
    o.compare.records = most_records;
    std::ostringstream out;
    nlohmann::json json;
    const auto done = run_compare(o, out, json);
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, errc::no_space);
}

}  // namespace
}  // namespace hf::bench
