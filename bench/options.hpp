// bench/options.hpp: the command line of `holdfast bench`, checked.
#pragma once

#include <holdfast/result.hpp>

#include "bench/compare/options.hpp"
#include "bench/heap/options.hpp"
#include "bench/layers/options.hpp"
#include "bench/operations.hpp"
#include "bench/recipe/options.hpp"
#include "bench/scratch_space.hpp"
#include "bench/sections/options.hpp"
#include "bench/server/options.hpp"
#include "bench/shadow/options.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace hf::bench {

enum class measurement_kind : u8 {
    ycsb,
    recovery,
    pause,
    compare,
    server,
    heap,
    recipe,
    layers,
    shadow,
    sections
};

struct options {
    measurement_kind what = measurement_kind::ycsb;
    std::vector<workload> workloads = {workload::a, workload::b, workload::c, workload::e};
    std::vector<distribution> distributions = {distribution::uniform, distribution::zipfian};
    std::vector<std::string> disciplines = {"transient", "incll"};
    std::vector<u64> records = {1'000'000};  ///< more than one: `recovery` only
    u64 operations = 1'000'000;              ///< of each thread
    /// never left empty: one for each core; more than one: `ycsb` only
    std::vector<unsigned> threads = {};
    unsigned repetitions = 5;
    std::vector<std::chrono::microseconds> epochs = {std::chrono::milliseconds(64)};
    std::vector<u32> fence_latencies_ns = {0};  ///< more than one: `ycsb` only
    u32 value_size = 8;
    u64 seed = 1;
    u64 log_entries = 80'000;  ///< `recovery`
    std::optional<std::string> directory;
    huge_pages huge = huge_pages::automatic;
    std::optional<std::string> json;  ///< file, or "-" for standard output
    compare_options compare;          ///< of `compare`, which uses only json of the above
    server_bench_options server;      ///< of `server`, likewise
    heap_bench_options heap;          ///< of `heap`, likewise
    recipe_bench_options recipe;      ///< of `recipe`, likewise
    layer_bench_options layers;       ///< of `layers`, likewise
    shadow_bench_options shadow;      ///< of `shadow`, likewise
    sections_bench_options sections;  ///< of `sections`, likewise
};

/// `arguments`: those after the verb: "ycsb", "--records", ... Errors have class usage; for --help
/// the result is nullopt with the text in `help`.
[[nodiscard]] result<std::optional<options>> parse_options(
    const std::vector<std::string>& arguments, std::string& help);

}  // namespace hf::bench
