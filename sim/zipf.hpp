// sim/zipf.hpp: ranks by Zipf's law for any exponent, also above 1.
//
// Rejection from an inverted integral: Hörmann, Derflinger, "Rejection-inversion to generate
// variates from monotone discrete distributions", ACM TOMACS 1996. bench/zipfian.hpp, which YCSB
// prescribes, is for exponents below 1.
#pragma once

#include "base/random.hpp"

namespace hf::sim {

class zipf {
   public:
    /// Ranks 0 to n - 1, P(k) proportional to 1 / (k + 1)^theta; n > 0, theta >= 0.
    zipf(u64 n, double theta) noexcept;
    [[nodiscard]] u64 operator()(xoshiro256ss& random) const noexcept;

   private:
    [[nodiscard]] double integral(double x) const noexcept;
    [[nodiscard]] double inverse(double y) const noexcept;
    u64 n_;
    double theta_;
    double from_;
    double to_;
    double squeeze_;
};

}  // namespace hf::sim
