// bench/zipfian.hpp: random ranks with a Zipf distribution, rank 0 the most frequent.
//
// P(rank = k) is proportional to 1 / (k + 1)^theta. A draw costs one pow() at most. The sum of all
// weights is computed once, its head exactly and its tail by the Euler-Maclaurin formula, so that
// the setup for 100 million ranks costs no more than for a thousand. Literature: Gray et al.,
// "Quickly generating billion-record synthetic databases", SIGMOD 1994, section 3.1; Cooper et al.,
// "Benchmarking cloud serving systems with YCSB", SoCC 2010 (theta 0.99).
#pragma once

#include "base/random.hpp"

namespace hf::bench {

/// Sum of 1 / k^theta for k = 1 to n, to about 13 digits. theta in (0, 1).
[[nodiscard]] double zeta(u64 n, double theta) noexcept;

class zipfian {
   public:
    static constexpr double ycsb_theta = 0.99;

    /// Ranks 0 to n - 1; n > 0.
    explicit zipfian(u64 n, double theta = ycsb_theta) noexcept;

    [[nodiscard]] u64 operator()(xoshiro256ss& random) const noexcept;

   private:
    u64 n_;
    double zeta_;
    double second_;  // weight of ranks 0 and 1
    double alpha_;
    double eta_;
};

}  // namespace hf::bench
