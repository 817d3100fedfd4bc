// Instantiates all indexes for the discipline `transient`, the baseline without flushes and fences.
#include "eager_map/opening.hpp"

namespace hf::detail {

template result<std::unique_ptr<eager_engine<std::string_view, std::string>>>
open_for<eager_transient_discipline, std::string_view, std::string>(const std::filesystem::path&,
                                                                    const eager_map_options&);
template result<std::unique_ptr<eager_engine<u64, u64>>>
open_for<eager_transient_discipline, u64, u64>(const std::filesystem::path&,
                                               const eager_map_options&);

}  // namespace hf::detail
