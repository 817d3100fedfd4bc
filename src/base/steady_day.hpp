// base/steady_day.hpp: the time of day that no change of the system's clock moves.
#pragma once

#include "base/bits.hpp"

#include <ctime>

namespace hf {

namespace detail {
[[nodiscard]] inline u64 read_clock_ns(clockid_t which) noexcept {
    std::timespec t{};
    ::clock_gettime(which, &t);
    return static_cast<u64>(t.tv_sec) * 1'000'000'000U + static_cast<u64>(t.tv_nsec);
}
}  // namespace detail

/// Seconds since 1970, as the system's clock said at construction, counted on by a clock that can't
/// be set and that goes on while the machine is suspended. So a jump of the system's clock neither
/// expires nor revives a record.
class steady_day {
   public:
    steady_day() noexcept
        : steady_day(detail::read_clock_ns(CLOCK_REALTIME), detail::read_clock_ns(CLOCK_BOOTTIME)) {
    }
    steady_day(u64 day_ns, u64 counted_ns) noexcept : day_ns_(day_ns), counted_ns_(counted_ns) {}
    [[nodiscard]] u64 seconds_at(u64 counted_ns) const noexcept {
        return (day_ns_ + (counted_ns - counted_ns_)) / 1'000'000'000U;
    }
    [[nodiscard]] u64 seconds() const noexcept {
        return seconds_at(detail::read_clock_ns(CLOCK_BOOTTIME));
    }

   private:
    u64 day_ns_;
    u64 counted_ns_;
};

}  // namespace hf
