// tools/holdfast/other_checks.hpp: `holdfast check` for regions without a checkpointed map.
#pragma once

#include <string>

namespace hf::tool {

/// Checks an eager region. The exit code.
[[nodiscard]] int check_eager(const std::string& path, bool as_json);

}  // namespace hf::tool
