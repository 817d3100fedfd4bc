// command/replay_token.hpp: a finding as one word, the argument of --replay.
//
//   token    = stage {"/" stage} "!" probe
//   stage    = event ":" [line "=" number {"," line "=" number}]
//   probe    = "recovery" | "inspection" | "work" | "question" number | "run"
//
// Lines are hexadecimal; "length" and "name" are the first file's, "length1" the second's. The
// number is the index of the line's content in the model's list (model/line.hpp).
#pragma once

#include "crashlab/explore/explorer.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hf::lab {

[[nodiscard]] std::string token_of(const finding& f);
/// nullopt: not a valid token.
[[nodiscard]] std::optional<finding> parse_token(std::string_view token);

}  // namespace hf::lab
