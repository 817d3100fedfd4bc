// The measurements run from end to end and report what they did; how fast does not matter here.
#include "bench/run.hpp"

#include "bench/subject.hpp"
#include "bench/target.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

namespace hf::bench {
namespace {

options small() {
    options o;
    o.records = {2'000};
    o.operations = 4'000;
    o.threads = {2};
    o.repetitions = 3;
    o.epochs = {std::chrono::milliseconds(1)};
    o.huge = huge_pages::off;
    return o;
}

std::size_t files_left() {
    std::size_t n = 0;
    const std::string mine = "holdfast-bench-" + std::to_string(::getpid()) + "-";
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
        if (entry.path().filename().string().starts_with(mine)) ++n;
    }
    return n;
}

TEST(ycsb, measures_every_workload_of_every_discipline) {
    options o = small();
    o.workloads = {workload::a, workload::b, workload::c, workload::e, workload::load};
    o.disciplines = {"transient", "logged",   "incll",        "malloc",
                     "map",       "map-many", "map-trusting", "map-inlined"};
    std::ostringstream out;
    nlohmann::json json;
    const auto done = run_ycsb(o, out, json);
    ASSERT_TRUE(done.has_value()) << done.error().to_string();
    EXPECT_EQ(json["results"].size(), o.disciplines.size() * (4 * 2 + 1));
    for (const auto& r : json["results"]) {
        EXPECT_EQ(r["repetitions"].size(), o.repetitions);
        const bool load = r["workload"] == "load";
        for (const auto& m : r["repetitions"]) {
            EXPECT_EQ(m["operations"], load ? 2'000 : 8'000);
            EXPECT_EQ(m["missing"], 0);
            EXPECT_GT(m["latency ns"]["samples"], 0);
        }
        if (r["discipline"] == "transient") {
            EXPECT_EQ(r["ratio"], 1.0);
        }
        const auto& first = r["repetitions"][0];
        const bool durable = r["discipline"] != "transient" && r["discipline"] != "malloc";
        if (!durable) {
            EXPECT_EQ(first["flushes"], 0) << r["discipline"];
        }
        if (durable && r["workload"] == "A") {
            EXPECT_GT(first["flushes"], 0) << r["discipline"];
            EXPECT_EQ(first["flushed bytes"], 64 * first["flushes"].get<u64>());
        }
    }
    EXPECT_EQ(files_left(), 0U);
}

TEST(ycsb, measures_every_number_of_threads_with_every_latency) {
    options o = small();
    o.workloads = {workload::a};
    o.distributions = {distribution::uniform};
    o.disciplines = {"transient", "incll", "logged", "map"};
    o.threads = {1, 3};
    o.fence_latencies_ns = {0, 1000, 60};
    std::ostringstream out;
    nlohmann::json json;
    const auto done = run_ycsb(o, out, json);
    ASSERT_TRUE(done.has_value()) << done.error().to_string();
    ASSERT_EQ(json["results"].size(), 4U * 2 * 3);
    std::set<std::tuple<std::string, unsigned, u32>> met;
    for (const auto& r : json["results"]) {
        const unsigned threads = r["threads"];
        met.insert({r["discipline"], threads, r["fence latency ns"]});
        ASSERT_EQ(r["repetitions"].size(), o.repetitions);
        for (const auto& m : r["repetitions"]) {
            EXPECT_EQ(m["operations"], threads * o.operations);
            EXPECT_EQ(m["missing"], 0);
        }
    }
    EXPECT_EQ(met.size(), json["results"].size());
    EXPECT_EQ(json["environment"]["threads"], (std::vector<unsigned>{1, 3}));
    EXPECT_NE(out.str().find("incll, 3 threads, 1000 ns"), std::string::npos) << out.str();
    EXPECT_EQ(files_left(), 0U);
}

TEST(ycsb, waits_at_a_fence_as_long_as_it_is_told) {
    auto space = scratch_space::make(std::nullopt, huge_pages::off);
    ASSERT_TRUE(space.has_value());
    subject_options settings;
    settings.initial_size = u64{16} << 20;
    auto made = make_subject("logged", *space, settings);
    ASSERT_TRUE(made.has_value()) << made.error().to_string();
    const stream_shape all{workload::load, distribution::uniform, 2'000, 0, 1};
    ASSERT_TRUE((*made)->run(make_streams(all, 1), 64).has_value());
    const stream_shape puts{workload::a, distribution::uniform, 2'000, 4'000, 1};
    for (const u32 latency : {0U, 1000U, 0U}) {
        ASSERT_TRUE((*made)->emulate(latency).has_value());
        const auto measured = (*made)->run(make_streams(puts, 2), 64);
        ASSERT_TRUE(measured.has_value()) << measured.error().to_string();
        EXPECT_EQ(measured->missing, 0U);
        EXPECT_GT(measured->fences, 0U);
        // A fence may take longer than the given time, but never less.
        EXPECT_GE(measured->seconds,
                  0.9e-9 * static_cast<double>(latency) * static_cast<double>(measured->fences));
    }
}

TEST(ycsb, ends_if_a_record_is_not_there) {
    auto space = scratch_space::make(std::nullopt, huge_pages::off);
    ASSERT_TRUE(space.has_value());
    for (const std::string& name : subject_names()) {
        subject_options settings;
        settings.initial_size = u64{16} << 20;
        auto made = make_subject(name, *space, settings);
        if (!made && made.error().code == errc::not_found) continue;
        ASSERT_TRUE(made.has_value()) << made.error().to_string();
        const stream_shape all{workload::load, distribution::uniform, 2'000, 0, 2};
        ASSERT_TRUE((*made)->run(make_streams(all, 1), 64).has_value()) << name;
        for (const workload w : {workload::c, workload::e}) {
            if (w == workload::e && !(*made)->scans()) continue;
            const stream_shape there{w, distribution::uniform, 2'000, 4'000, 2};
            EXPECT_TRUE((*made)->run(make_streams(there, 2), 64).has_value()) << name;
            const stream_shape more{w, distribution::uniform, 2'010, 4'000, 2};
            const auto lost = (*made)->run(make_streams(more, 2), 64);
            ASSERT_FALSE(lost.has_value()) << name;
            EXPECT_EQ(lost.error().code, errc::violation) << name;
        }
    }
}

/// Of Abseil's, too, where it was built.
TEST(ycsb, measures_what_others_have_made) {
    options o = small();
    o.disciplines = {"transient", "absl-btree", "absl-hash"};
    for (const unsigned threads : {1U, 3U}) {
        for (const u32 size : {8U, 100U}) {
            o.threads = {threads};
            o.value_size = size;
            std::ostringstream out;
            nlohmann::json json;
            const auto done = run_ycsb(o, out, json);
            if (!done && done.error().code == errc::not_found) {
                GTEST_SKIP() << done.error().to_string();
            }
            ASSERT_TRUE(done.has_value()) << done.error().to_string();
            // The hash has no order, and no workload E.
            EXPECT_EQ(json["results"].size(), 3U * 4 * 2 - 2);
            for (const auto& r : json["results"]) {
                EXPECT_EQ(r["repetitions"].size(), o.repetitions);
                EXPECT_GT(r["ratio"], 0);
                EXPECT_TRUE(r["discipline"] != "absl-hash" || r["workload"] != "E");
            }
            // 2,000 records, and what is around them.
            for (const char* name : {"absl-btree", "absl-hash"}) {
                EXPECT_GT(json["trees"][name]["resident bytes"], 2'000 * (size + 8)) << name;
                EXPECT_LT(json["trees"][name]["resident bytes"], 2'000'000) << name;
            }
        }
    }
}

TEST(values_of_rounds, are_their_records_and_of_a_round_that_may_be) {
    const std::string key = "key of 1";
    const auto value = [&](u64 round, std::size_t size) {
        const u64 mark = mark_of(key, round);
        return std::string(reinterpret_cast<const char*>(&mark), std::min<std::size_t>(size, 8)) +
               std::string(size > 8 ? size - 8 : 0, 'v');
    };
    for (const std::size_t size : {1U, 5U, 8U, 100U}) {
        EXPECT_TRUE(belongs_to(key, value(3, size), {0, 3})) << size;
        EXPECT_TRUE(belongs_to(key, value(3, size), {3, 3})) << size;
        EXPECT_FALSE(belongs_to(key, value(2, size), {3, 3})) << "a lost put";
        EXPECT_FALSE(belongs_to(key, value(4, size), {0, 3})) << size;
    }
    EXPECT_TRUE(belongs_to(key, "", {3, 3}));
    EXPECT_FALSE(belongs_to("key of 2", value(3, 8), {0, 3}));
}

/// Each way of reading: `reads(target)` returns what one of them says.
template <class Target, class Reads>
void expect_foreign_values_noticed(Target target, Reads reads) {
    const std::string one = "key of 1";
    const std::string other = "key of 2";
    ASSERT_TRUE(target.put(one, one + " and more").has_value());
    ASSERT_TRUE(target.put(other, other).has_value());
    for (const auto& found : reads(target, one)) EXPECT_EQ(found, std::nullopt);
    ASSERT_TRUE(target.put(one, "key of").has_value());
    for (const auto& found : reads(target, one)) EXPECT_EQ(found, std::nullopt) << "a short value";
    ASSERT_TRUE(target.put(one, other).has_value());
    for (const auto& found : reads(target, one)) EXPECT_EQ(found, errc::violation);
}

template <class Read>
std::optional<errc> code_of(const Read& read) {
    return read ? std::nullopt : std::optional(read.error().code);
}

TEST(ycsb, notices_a_value_that_is_another_records) {
    auto space = scratch_space::make(std::nullopt, huge_pages::off);
    ASSERT_TRUE(space.has_value());
    std::string scratch;
    const auto reads = [&](auto& target, const std::string& key) {
        return std::vector{code_of(target.get(key, scratch)), code_of(target.scan(key))};
    };
    engine_options trees;
    auto machine = engine<incll_discipline>::open(space->file("tree"), trees);
    ASSERT_TRUE(machine.has_value());
    expect_foreign_values_noticed(tree_target<incll_discipline>(std::move(*machine)), reads);
    auto first = map::open(space->file("map"));
    ASSERT_TRUE(first.has_value());
    expect_foreign_values_noticed(map_target<map_use::plain>(std::move(*first)), reads);
    auto second = map::open(space->file("many"));
    ASSERT_TRUE(second.has_value());
    expect_foreign_values_noticed(map_target<map_use::many>(std::move(*second)),
                                  [](auto& target, const std::string& key) {
                                      const std::array<std::string_view, 2> keys{"key of 2", key};
                                      return std::vector{code_of(target.get_many(keys))};
                                  });
    for (const char* name : {"tree", "map", "many"}) space->remove(space->file(name));
    EXPECT_EQ(files_left(), 0U);
}

TEST(ycsb, refuses_what_does_not_fit_into_memory) {
    options o = small();
    o.records = {most_records};
    std::ostringstream out;
    nlohmann::json json;
    const auto done = run_ycsb(o, out, json);
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, errc::no_space);
}

TEST(pause, meets_boundaries) {
    options o = small();
    o.disciplines = {"incll"};
    o.operations = 50'000;
    std::ostringstream out;
    nlohmann::json json;
    const auto done = run_pause(o, out, json);
    ASSERT_TRUE(done.has_value()) << done.error().to_string();
    ASSERT_EQ(json["results"].size(), 2U);
    EXPECT_GT(json["results"][0]["epochs"], 0);
    EXPECT_EQ(files_left(), 0U);
}

TEST(recovery, applies_the_log_that_the_crash_left) {
    for (const std::string discipline : {"incll", "logged"}) {
        options o = small();
        o.what = measurement_kind::recovery;
        o.disciplines = {discipline};
        o.records = {3'000, 6'000};
        o.log_entries = 100;
        std::ostringstream out;
        nlohmann::json json;
        const auto done = run_recovery(o, out, json);
        ASSERT_TRUE(done.has_value()) << done.error().to_string();
        ASSERT_EQ(json["results"].size(), 2U);
        for (const auto& r : json["results"]) {
            ASSERT_EQ(r["openings"].size(), o.repetitions);
            for (const auto& opening : r["openings"]) {
                EXPECT_EQ(opening["entries applied"], r["log entries"]);
            }
        }
    }
    EXPECT_EQ(files_left(), 0U);
}

// Integers, whose records lie in their nodes, and byte strings, whose records are objects.
TEST(recovery, opens_eager_indexes_and_sweeps_them) {
    for (const u32 value_size : {8U, 20U}) {
        options o = small();
        o.what = measurement_kind::recovery;
        o.disciplines = {"clht-eager", "art-eager"};
        o.records = {3'000};
        o.value_size = value_size;
        std::ostringstream out;
        nlohmann::json json;
        const auto done = run_recovery(o, out, json);
        ASSERT_TRUE(done.has_value()) << done.error().to_string();
        ASSERT_EQ(json["results"].size(), 2U);
        for (const auto& r : json["results"]) {
            ASSERT_EQ(r["openings"].size(), o.repetitions);
            const bool has_objects = value_size != 8 || r["discipline"] == "art-eager";
            for (const auto& opening : r["openings"]) {
                EXPECT_GE(opening["objects reached"], has_objects ? 3'000 : 1) << r;
            }
        }
    }
    EXPECT_EQ(files_left(), 0U);
}

TEST(recovery, refuses_more_entries_than_the_tree_has_nodes) {
    options o = small();
    o.disciplines = {"incll"};
    o.log_entries = 5'000;
    std::ostringstream out;
    nlohmann::json json;
    const auto done = run_recovery(o, out, json);
    ASSERT_FALSE(done.has_value());
    EXPECT_NE(done.error().to_string().find("2000 records"), std::string::npos)
        << done.error().to_string();
    EXPECT_EQ(files_left(), 0U);
}

TEST(make_subject, knows_every_name_that_it_lists_and_no_other) {
    auto space = scratch_space::make(std::nullopt, huge_pages::off);
    ASSERT_TRUE(space.has_value());
    for (const std::string& name : subject_names()) {
        subject_options options;
        options.initial_size = u64{16} << 20;
        auto made = make_subject(name, *space, options);
        if (!made && name.starts_with("absl-")) {
            EXPECT_EQ(made.error().code, errc::not_found) << made.error().to_string();
            continue;
        }
        ASSERT_TRUE(made.has_value()) << made.error().to_string();
    }
    EXPECT_FALSE(make_subject("eager", *space, {}).has_value());
    EXPECT_EQ(files_left(), 0U);
}

}  // namespace
}  // namespace hf::bench
