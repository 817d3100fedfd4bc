// tools/holdfast/verbs/other_checks.hpp: `holdfast check` for regions without an epoch map.
#pragma once

#include <string>

namespace hf::tool {

/// For discipline eager. Returns the exit status.
[[nodiscard]] int check_eager(const std::string& path, bool as_json);
/// For plain memory. Returns the exit status.
[[nodiscard]] int check_plain(const std::string& path, bool as_json);

}  // namespace hf::tool
