#include "bench/zipfian.hpp"

#include <algorithm>
#include <cmath>

namespace hf::bench {

double zeta(u64 n, double theta) noexcept {
    constexpr u64 exact = 1000;
    double sum = 0;
    for (u64 k = std::min(n, exact); k > 0; --k) sum += std::pow(static_cast<double>(k), -theta);
    if (n <= exact) return sum;
    // The integral of the weight from a to b, and the difference between it and the sum over (a,
    // b].
    const auto a = static_cast<double>(exact);
    const auto b = static_cast<double>(n);
    sum += (std::pow(b, 1 - theta) - std::pow(a, 1 - theta)) / (1 - theta);
    sum += (std::pow(b, -theta) - std::pow(a, -theta)) / 2;
    sum += theta * (std::pow(a, -theta - 1) - std::pow(b, -theta - 1)) / 12;
    return sum;
}

zipfian::zipfian(u64 n, double theta) noexcept
    : n_(n),
      zeta_(zeta(n, theta)),
      second_(1 + std::pow(0.5, theta)),
      alpha_(1 / (1 - theta)),
      eta_((1 - std::pow(2 / static_cast<double>(n), 1 - theta)) / (1 - second_ / zeta_)) {}

u64 zipfian::operator()(xoshiro256ss& random) const noexcept {
    const double u = random.unit();
    const double at = u * zeta_;
    if (at < 1) return 0;
    if (at < second_) return std::min<u64>(1, n_ - 1);
    const double rank = static_cast<double>(n_) * std::pow(eta_ * u - eta_ + 1, alpha_);
    return std::min(static_cast<u64>(rank), n_ - 1);
}

}  // namespace hf::bench
