// command/replay_token.hpp: a finding as one word, for --replay.
//
//   token    = stage {"/" stage} "!" probe
//   stage    = event ":" [line "=" number {"," line "=" number}]
//   probe    = "recovery" | "inspection" | "work" | "question" number | "run"
//
// Lines are in hexadecimal; "length" and "name" are the first file's, "length1" the second's.
// Numbers are those of the contents that the model lists for the line (model/line.hpp).
#pragma once

#include "crashlab/explore/explorer.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hf::lab {

[[nodiscard]] std::string token_of(const finding& f);
/// nullopt: not a token.
[[nodiscard]] std::optional<finding> parse_token(std::string_view token);

}  // namespace hf::lab
