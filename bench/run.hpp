// bench/run.hpp: the measurements; each prints tables to `out` and fills the JSON.
#pragma once

#include <holdfast/result.hpp>

#include "bench/options.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>

namespace hf::bench {

/// Each prints its table and fills `json`.
[[nodiscard]] result<void> run_ycsb(const options& o, std::ostream& out, nlohmann::json& json);
[[nodiscard]] result<void> run_recovery(const options& o, std::ostream& out, nlohmann::json& json);
/// For eager indexes: recovery after a kill, and the sweep.
[[nodiscard]] result<void> run_eager_recovery(const options& o, const scratch_space& space,
                                              std::ostream& out, nlohmann::json& json);
[[nodiscard]] result<void> run_pause(const options& o, std::ostream& out, nlohmann::json& json);
[[nodiscard]] result<void> run_compare(const options& o, std::ostream& out, nlohmann::json& json);
[[nodiscard]] result<void> run_heap(const options& o, std::ostream& out, nlohmann::json& json);
[[nodiscard]] result<void> run_recipe(const recipe_bench_options& o, std::ostream& out,
                                      nlohmann::json& json);
[[nodiscard]] result<void> run_layers(const options& o, std::ostream& out, nlohmann::json& json);
[[nodiscard]] result<void> run_shadow(const options& o, std::ostream& out, nlohmann::json& json);
[[nodiscard]] result<void> run_sections(const sections_bench_options& o, std::ostream& out,
                                        nlohmann::json& json);
[[nodiscard]] result<void> run_server(const options& o, std::ostream& out, nlohmann::json& json);

/// Prints a progress line to standard error if that is a terminal.
void progress(const std::string& line);
void end_progress();

}  // namespace hf::bench
