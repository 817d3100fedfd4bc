// holdfast/ticket.hpp: identifies when a write becomes durable.
#pragma once

#include <cstdint>

namespace hf {

/// The epoch of a write. The write is durable once durable_epoch() of the map, or durable() of the
/// snapshot, is at least this number.
using ticket = std::uint64_t;

}  // namespace hf
