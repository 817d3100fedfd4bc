// bench/quantile.hpp: order statistics of a few repetitions.
#pragma once

#include <vector>

namespace hf::bench {

/// The quantile q (0 to 1) of the values, interpolated linearly; 0 if there are none.
[[nodiscard]] double quantile(std::vector<double> values, double q);
[[nodiscard]] inline double median(std::vector<double> values) {
    return quantile(std::move(values), 0.5);
}

/// a[i] / b[i], if b[i] is not 0. Repetition i of both ran one after the other, so a disturbance of
/// the machine that lasts longer than a repetition affects both.
[[nodiscard]] std::vector<double> pairwise_ratios(const std::vector<double>& a,
                                                  const std::vector<double>& b);

}  // namespace hf::bench
