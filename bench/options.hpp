// bench/options.hpp: the command line of `holdfast bench`, checked.
#pragma once

#include <holdfast/result.hpp>

#include "bench/compare/options.hpp"
#include "bench/heap/options.hpp"
#include "bench/layers/options.hpp"
#include "bench/operations.hpp"
#include "bench/recipe/options.hpp"
#include "bench/scratch_space.hpp"
#include "bench/server/options.hpp"
#include "bench/shadow/options.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace hf::bench {

enum class measurement_kind : u8 { ycsb, recovery, pause, compare, server, heap, recipe, layers, shadow };

struct options {
    measurement_kind what = measurement_kind::ycsb;
    std::vector<workload> workloads = {workload::a, workload::b, workload::c, workload::e};
    std::vector<distribution> distributions = {distribution::uniform, distribution::zipfian};
    std::vector<std::string> disciplines = {"transient", "incll"};
    std::vector<u64> records = {1'000'000};  ///< several: `recovery` only
    u64 operations = 1'000'000;              ///< a thread
    std::vector<unsigned> threads = {};      ///< never left empty: one a core; several: `ycsb` only
    unsigned repetitions = 5;
    std::vector<std::chrono::microseconds> epochs = {std::chrono::milliseconds(64)};
    std::vector<u32> fence_latencies_ns = {0};  ///< several: `ycsb` only
    u32 value_size = 8;
    u64 seed = 1;
    u64 log_entries = 80'000;  ///< `recovery`
    std::optional<std::string> directory;
    huge_pages huge = huge_pages::automatic;
    std::optional<std::string> json;  ///< file, or "-" for standard output
    compare_options compare;          ///< `compare`, which uses nothing of the above but json
    server_bench_options server;      ///< `server`, likewise
    heap_bench_options heap;          ///< `heap`, likewise
    recipe_bench_options recipe;      ///< `recipe`, likewise
    layer_bench_options layers;       ///< `layers`, likewise
    shadow_bench_options shadow;      ///< `shadow`, likewise
};

/// `arguments` after the verb: "ycsb", "--records", ... The error is of class usage; for --help it
/// is nullopt with the text in `help`.
[[nodiscard]] result<std::optional<options>> parse_options(
    const std::vector<std::string>& arguments, std::string& help);

}  // namespace hf::bench
