// holdfast/ticket.hpp: by which one learns when a write is durable.
#pragma once

#include <cstdint>

namespace hf {

/// The epoch in which a write happened. Durable once durable_epoch() of the map, or durable() of
/// the snapshot, has reached it.
using ticket = std::uint64_t;

}  // namespace hf
