// targets/want.hpp: a value that a target needs in order to go on.
#pragma once

#include <holdfast/crashlab/target.hpp>
#include <holdfast/result.hpp>

#include <type_traits>
#include <utility>

namespace hf::lab {

/// The value. An error, from a region after a power cut, is a violation.
template <class T>
T want(tl::expected<T, error> r) {
    if (!r) throw violation(r.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

}  // namespace hf::lab
