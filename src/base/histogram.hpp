// base/histogram.hpp: a histogram of durations (or any u64) in log-linear buckets.
//
// Values under 128 are exact; above, each power of two has 64 buckets, so that a percentile is at
// most 1/64 (1.6%) above the true value. 30 KiB. Not thread safe: one a thread, merged afterwards.
// Literature: the bucket layout is the one of Gil Tene's HdrHistogram.
#pragma once

#include "base/bits.hpp"

#include <array>
#include <bit>

namespace hf {

class histogram {
   public:
    void add(u64 value) noexcept {
        ++buckets_[bucket_of(value)];
        ++count_;
        sum_ += static_cast<double>(value);
        if (value > max_) max_ = value;
        if (value < min_) min_ = value;
    }

    void merge(const histogram& other) noexcept;
    void clear() noexcept { *this = histogram(); }

    /// `p` in 0 to 100. The smallest bucket edge that at least p% of the values do not exceed; 0
    /// when empty.
    [[nodiscard]] u64 percentile(double p) const noexcept;
    [[nodiscard]] u64 count() const noexcept { return count_; }
    [[nodiscard]] u64 max() const noexcept { return max_; }
    [[nodiscard]] u64 min() const noexcept { return count_ == 0 ? 0 : min_; }
    [[nodiscard]] double mean() const noexcept {
        return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
    }

   private:
    static constexpr unsigned fine_bits = 6;
    static constexpr u64 fine = u64{1} << fine_bits;
    static constexpr std::size_t bucket_count = (64 - fine_bits + 1) * fine;

    static constexpr std::size_t bucket_of(u64 value) noexcept {
        if (value < 2 * fine) return static_cast<std::size_t>(value);
        const auto shift = static_cast<unsigned>(std::bit_width(value)) - fine_bits - 1;
        return static_cast<std::size_t>((u64{shift} << fine_bits) + (value >> shift));
    }
    static constexpr u64 highest_in(std::size_t bucket) noexcept {
        if (bucket < 2 * fine) return bucket;
        const auto shift = static_cast<unsigned>((bucket >> fine_bits) - 1);
        const u64 lowest = (bucket - (u64{shift} << fine_bits)) << shift;
        return lowest + ((u64{1} << shift) - 1);
    }

    std::array<u64, bucket_count> buckets_{};
    u64 count_ = 0;
    u64 max_ = 0;
    u64 min_ = ~u64{0};
    double sum_ = 0;
};

}  // namespace hf
