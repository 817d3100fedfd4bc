// base/os_error.hpp: errors of the operating system as hf::error.
#pragma once

#include <holdfast/result.hpp>

#include <string>

namespace hf {

/// The class of an errno value: no permission, no space, no such file; errc::io for all others.
[[nodiscard]] errc errc_of(int errno_value) noexcept;

/// Fills `why` from errno as it is at the call.
[[nodiscard]] error os_error(errc code, std::string what, std::string where, std::string next);

/// As the other os_error(), with the class from errno, too.
[[nodiscard]] error os_error(std::string what, std::string where, std::string next);

/// "file at offset 4096"
[[nodiscard]] std::string at_offset(const std::string& file, unsigned long long offset);

}  // namespace hf
