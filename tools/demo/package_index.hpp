// tools/demo/package_index.hpp: real data for the demo: the index of this machine's package
// manager.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hf::demo {

struct package {
    std::string name;
    std::string stanza;  ///< the package's text in the index
};

struct package_index {
    std::vector<package> packages;  ///< each name once
    std::uint64_t bytes = 0;        ///< of names and stanzas
    std::string source;             ///< the command or file that it was read from
};

/// Parses text in Debian's control format. The first package of a name is used; packages that
/// exceed memcached's limits (250 bytes of name, 1 MB of stanza) are left out.
[[nodiscard]] package_index parse_index(const std::string& text, std::string source);

/// Reads `file`, or if that is empty the first of apt-cache, dpkg and dpkg's status file that has
/// packages.
[[nodiscard]] std::optional<package_index> read_index(const std::string& file);

}  // namespace hf::demo
