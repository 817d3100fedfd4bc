// queue_target.hpp: the queue (queue.hpp) as the crash lab wants to see it.
#pragma once

#include <holdfast/crashlab/target.hpp>

namespace example {

[[nodiscard]] hf::lab::target_description queue_case();

}  // namespace example
