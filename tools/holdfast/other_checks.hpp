// tools/holdfast/other_checks.hpp: what `holdfast check` does with regions that hold no epoch map.
#pragma once

#include <string>

namespace hf::tool {

/// Of discipline eager. The exit code.
[[nodiscard]] int check_eager(const std::string& path, bool as_json);

}  // namespace hf::tool
