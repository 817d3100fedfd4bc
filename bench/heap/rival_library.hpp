// bench/heap/rival_library.hpp: the heap's rivals, each a module found beside the program.
#pragma once

#include <holdfast/result.hpp>

#include "bench/peers/object_rival.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hf::bench {

/// Those that there is a module for, whether it was built or not.
[[nodiscard]] const std::vector<std::string>& object_rival_names();

/// The module stays loaded. errc::not_found says which package to install.
[[nodiscard]] result<std::unique_ptr<object_rival>> open_rival(std::string_view name,
                                                               const object_options& options);

}  // namespace hf::bench
