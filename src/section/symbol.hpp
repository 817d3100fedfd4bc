// section/symbol.hpp: an address of code as a person reads it.
#pragma once

#include <string>

namespace hf::section {

/// "function+0x12 (file.c:34)", or as much of that as symbols tell. Runs addr2line where there is
/// one: for reports, not for busy paths.
[[nodiscard]] std::string source_of(const void* code);

}  // namespace hf::section
