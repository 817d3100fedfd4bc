#include "sim/zipf.hpp"

#include <algorithm>
#include <cmath>

namespace hf::sim {

namespace {
/// (e^x - 1) / x and log(1 + x) / x, exact near 0.
double expm1_by(double x) { return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2; }
double log1p_by(double x) { return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x / 2; }
}  // namespace

double zipf::integral(double x) const noexcept {
    const double l = std::log(x);
    return expm1_by((1 - theta_) * l) * l;
}
double zipf::inverse(double y) const noexcept {
    const double t = std::max(-1.0, y * (1 - theta_));
    return std::exp(log1p_by(t) * y);
}

zipf::zipf(u64 n, double theta) noexcept : n_(n), theta_(theta) {
    from_ = integral(1.5) - 1;
    to_ = integral(static_cast<double>(n) + 0.5);
    squeeze_ = 2 - inverse(integral(2.5) - std::pow(2.0, -theta));
}

u64 zipf::operator()(xoshiro256ss& random) const noexcept {
    for (;;) {
        const double u = to_ + random.unit() * (from_ - to_);
        const double x = inverse(u);
        const double k = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(n_));
        if (k - x <= squeeze_ || u >= integral(k + 0.5) - std::pow(k, -theta_)) {
            return static_cast<u64>(k) - 1;
        }
    }
}

}  // namespace hf::sim
