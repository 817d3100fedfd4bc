// tools/holdfast/verb.hpp: what a verb of the command line is made of.
//
// Each verb lives in a file of its own. add_<verb>() describes its options to CLI11 and says what
// is to be run once they have been parsed; that function returns the exit code: 0, or the number of
// an hf::errc. What can be wrong with an argument is found while parsing, and ends in exit code 2.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

#include <holdfast/result.hpp>

namespace hf::tool {

/// What the chosen verb does.
using action = std::function<int()>;

void add_serve(CLI::App& app, action& chosen);
void add_info(CLI::App& app, action& chosen);
void add_check(CLI::App& app, action& chosen);
void add_copy(CLI::App& app, action& chosen);
void add_dump(CLI::App& app, action& chosen);
void add_load(CLI::App& app, action& chosen);
void add_doctor(CLI::App& app, action& chosen);
void add_bench(CLI::App& app, action& chosen);

}  // namespace hf::tool
