// section/last_error.hpp: the text that hf_section_error() returns.
#pragma once

#include <holdfast/result.hpp>

#include "section/inside_runtime.hpp"

#include <string>

namespace hf::section {

inline thread_local std::string last_error_text;

/// Notes the error for hf_section_error(). Returns its class's number.
inline int fail(const error& e) {
    const inside_runtime in;
    last_error_text = e.to_string();
    return static_cast<int>(e.code);
}
inline int told(const result<void>& r) { return r ? 0 : fail(r.error()); }

}  // namespace hf::section
