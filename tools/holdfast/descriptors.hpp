// tools/holdfast/descriptors.hpp: the limit of open files, and addresses that only this machine
// has.
#pragma once

#include <string>

namespace hf::tool {

/// Raises this process's limit of open files so that a server of `threads` workers can have
/// `wanted` connections beside its own files. Returns how many it can have: fewer if the hard
/// limit does not allow more, but at least 1.
[[nodiscard]] unsigned make_room_for_connections(unsigned wanted, unsigned threads);

/// Whether a numeric address is one of the machine's own, which no other machine can reach.
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace hf::tool
