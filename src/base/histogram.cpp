#include "base/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace hf {

void histogram::merge(const histogram& other) noexcept {
    for (std::size_t i = 0; i < bucket_count; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
    min_ = std::min(min_, other.min_);
}

u64 histogram::percentile(double p) const noexcept {
    if (count_ == 0) return 0;
    const double share = std::clamp(p, 0.0, 100.0) / 100.0;
    const auto wanted =
        std::max<u64>(1, static_cast<u64>(std::ceil(share * static_cast<double>(count_))));
    u64 seen = 0;
    for (std::size_t i = 0; i < bucket_count; ++i) {
        seen += buckets_[i];
        if (seen >= wanted) return std::clamp(highest_in(i), min_, max_);
    }
    return max_;
}

}  // namespace hf
