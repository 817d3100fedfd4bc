// bench/heap/rival_library.hpp: opens the modules of the heap's rivals.
#pragma once

#include <holdfast/result.hpp>

#include "bench/peers/object_rival.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hf::bench {

/// Rivals that have a module, whether it was built or not.
[[nodiscard]] const std::vector<std::string>& object_rival_names();

/// The module stays loaded. errc::not_found names the package to install.
[[nodiscard]] result<std::unique_ptr<object_rival>> open_rival(std::string_view name,
                                                               const object_options& options);

}  // namespace hf::bench
