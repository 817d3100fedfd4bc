// section/environment.hpp: environment variables that override the options of hf_group_open().
//
// `holdfast run` sets these variables for a program that was not compiled with the plugin, or that
// names another file; they may be set by hand as well. They win over what the program asks for.
#pragma once

#include <holdfast/result.hpp>
#include <holdfast/section.h>

#include <string>

namespace hf::section {

inline constexpr const char* file_variable = "HOLDFAST_SECTION_FILE";
/// pages or announced
inline constexpr const char* stores_variable = "HOLDFAST_SECTION_STORES";
/// From one cut to the next, in milliseconds: 1 to max_period_ms.
inline constexpr const char* period_variable = "HOLDFAST_SECTION_PERIOD";
/// 1: the program's own writes are held until they are stable; 0: they are not
inline constexpr const char* hold_variable = "HOLDFAST_SECTION_HOLD_OUTPUT";
/// Nonempty: hf_section_report()'s line is printed to stderr when the group is closed, or at exit.
inline constexpr const char* report_variable = "HOLDFAST_SECTION_REPORT";
inline constexpr unsigned long max_period_ms = 3'600'000;

struct opening_request {
    std::string file;
    hf_group_options options;
};

/// The program's request with the environment's changes. errc::usage: a variable makes no sense.
[[nodiscard]] result<opening_request> with_environment(const char* file,
                                                       const hf_group_options& options);

}  // namespace hf::section
