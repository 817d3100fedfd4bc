// tools/demo/package_index.hpp: real input: what this machine's package manager knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hf::demo {

struct package {
    std::string name;
    std::string stanza;  ///< all that the index says of it
};

struct package_index {
    std::vector<package> packages;  ///< each name once
    std::uint64_t bytes = 0;        ///< of names and stanzas
    std::string source;             ///< the command or file that it came from
};

/// Cuts text in Debian's control format into packages. Of several with one name the first counts;
/// what memcached's protocol could not carry (over 250 bytes of name, over 1 MB of stanza) is left
/// out.
[[nodiscard]] package_index parse_index(const std::string& text, std::string source);

/// From `file`, or where that is empty from apt-cache, dpkg or dpkg's status file, the first that
/// yields anything.
[[nodiscard]] std::optional<package_index> read_index(const std::string& file);

}  // namespace hf::demo
