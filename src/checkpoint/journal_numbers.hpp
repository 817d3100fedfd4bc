// checkpoint/journal_numbers.hpp: what a domain and its journal count, for the public statistics.
#pragma once

#include "checkpoint/domain.hpp"

#include <holdfast/statistics.hpp>

namespace hf {

/// All zero on media without a journal.
[[nodiscard]] journal_statistics journal_numbers(const domain& d);
[[nodiscard]] pause_statistics pause_numbers(const domain& d);

}  // namespace hf
