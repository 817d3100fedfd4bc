// bench/quantile.hpp: order statistics of a few repetitions.
#pragma once

#include <vector>

namespace hf::bench {

/// The value at fraction q (0 to 1) of the sorted values, between two of them by linear
/// interpolation; 0 when there are none.
[[nodiscard]] double quantile(std::vector<double> values, double q);
[[nodiscard]] inline double median(std::vector<double> values) {
    return quantile(std::move(values), 0.5);
}

/// a[i] / b[i], where b[i] is not 0. Repetition i of either ran next to the other, so what disturbs
/// the machine for longer than a repetition falls out of the ratio.
[[nodiscard]] std::vector<double> pairwise_ratios(const std::vector<double>& a,
                                                  const std::vector<double>& b);

}  // namespace hf::bench
