// crashlab/seeded/twins.hpp: two regions that refer to each other: numbers in one file, how many of
// them count in the other. It can be built so that the count comes first.
//
// Invariant. T1 Of the numbers 1, 2, 3 ... as many are durable as the count says.
#pragma once

#include <holdfast/crashlab/target.hpp>

namespace hf::lab::seeded {

enum class twins_bug : std::uint8_t {
    none,
    count_first,  ///< the count is durable before its number
};

[[nodiscard]] target_description twins_case(twins_bug b);

}  // namespace hf::lab::seeded
