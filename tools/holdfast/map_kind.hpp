// tools/holdfast/map_kind.hpp: the command line's names for the kinds of a new map.
#pragma once

#include <holdfast/eager.hpp>
#include <holdfast/options.hpp>

#include <optional>
#include <string>
#include <vector>

namespace hf::tool {

[[nodiscard]] inline const std::vector<std::string>& map_disciplines() {
    static const std::vector<std::string> names{"incll", "eager"};
    return names;
}

/// "": nullopt.
[[nodiscard]] inline std::optional<discipline> kind_named(const std::string& name) {
    if (name.empty()) return std::nullopt;
    return name == "eager" ? discipline::eager : discipline::incll;
}

}  // namespace hf::tool
