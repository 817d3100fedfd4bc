// bench/compare/holdfast_contender.hpp: Holdfast's map as a contender, through its public
// interface.
#pragma once

#include <holdfast/options.hpp>

#include "bench/peers/contender.hpp"

namespace hf::bench {

/// A map in `options.directory`. The file system there must give the medium `wanted`, unless
/// `force` makes it so: a journal in tmpfs shows that everything works, and no speed.
[[nodiscard]] result<std::unique_ptr<contender>> open_holdfast(const contender_options& options,
                                                               medium_kind wanted, bool force);

}  // namespace hf::bench
