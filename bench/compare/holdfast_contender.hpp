// bench/compare/holdfast_contender.hpp: Holdfast's map as a contender, through its public
// interface.
#pragma once

#include <holdfast/options.hpp>

#include "bench/peers/contender.hpp"

namespace hf::bench {

/// A map in `options.directory`. The file system there must give the medium `wanted`, unless
/// `force` sets it: a journal in tmpfs is for functional tests only.
[[nodiscard]] result<std::unique_ptr<contender>> open_holdfast(const contender_options& options,
                                                               medium_kind wanted, bool force);

}  // namespace hf::bench
