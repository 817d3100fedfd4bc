// map/inspect.hpp: what stands behind an hf::map, for tests and measurements of the whole house.
#pragma once

#include <holdfast/map.hpp>

#include "checkpoint/discipline.hpp"

namespace hf {

template <any_discipline D>
class engine;

struct map_inspection {
    /// Lives as long as the map.
    [[nodiscard]] static engine<incll_discipline>& machine_of(map& m) noexcept;
};

}  // namespace hf
