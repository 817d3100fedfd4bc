// checkpoint/inspect.hpp: internals of an hf::checkpointed, for tests and the crash lab.
#pragma once

#include <holdfast/checkpoint.hpp>

#include "checkpoint/opening.hpp"

namespace hf {

struct checkpointed_inspection {
    /// Valid as long as the file is open.
    [[nodiscard]] static checkpointed_region& region_of(checkpointed& file) noexcept;
    /// Abandons the file as a crash of the process would: nothing is ended, nothing is closed.
    static void abandon(checkpointed& file) noexcept;
};

}  // namespace hf
