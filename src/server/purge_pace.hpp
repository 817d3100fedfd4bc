// server/purge_pace.hpp: how many records the server checks for expiry, and when more.
//
// Purpose. Each dead record is found once, so of the records that are checked, the fraction that is
// dead tells the fraction of dead records in the store: n records, of which d die a second, are
// checked at r a second, all of them in n / r seconds; meanwhile d * n / r die, which is the
// fraction d / r of n. The rate doubles while more than a twentieth of the records checked are
// dead, and halves, down to what the options say, when fewer than a fortieth are.
#pragma once

#include <algorithm>
#include <cstddef>

namespace hf::detail {

class purge_pace {
   public:
    /// Number of intervals a second.
    static constexpr std::size_t intervals = 10;
    /// Records checked a second, unless the options ask for more.
    static constexpr std::size_t max_rate = std::size_t{1} << 19;

    /// `least`: records checked a second in any case.
    explicit purge_pace(std::size_t least) noexcept : least_(least), rate_(least) {}

    /// Records to be checked in the next interval.
    [[nodiscard]] std::size_t share() const noexcept {
        return std::max<std::size_t>(rate_ / intervals, 1);
    }
    /// The interval's share has been checked.
    void interval_ended(std::size_t checked, std::size_t dead) noexcept {
        constexpr std::size_t many = 20;
        constexpr std::size_t few = 40;
        if (dead > checked / many) {
            rate_ = std::max(rate_, std::min(2 * rate_, max_rate));
        } else if (dead <= checked / few) {
            rate_ = std::max(rate_ / 2, least_);
        }
    }
    [[nodiscard]] std::size_t rate() const noexcept { return rate_; }

   private:
    std::size_t least_;
    std::size_t rate_;
};

}  // namespace hf::detail
