// server/purge_pace.hpp: how many records the server checks for expiry, and when more.
//
// Purpose. Each dead record is found once, so of the records that are checked, the fraction that is
// dead tells the fraction of dead records in the store: n records, of which d die a second, are
// checked at r a second, all of them in n / r seconds; meanwhile d * n / r die, which is the
// fraction d / r of n. The rate doubles after an interval in which more than a twentieth of the
// records checked were dead. Neighbours often expire together, so an interval without dead records
// says little: the rate halves, down to what the options say, only when fewer than a fortieth were
// dead in a walk over all records.
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
    /// The interval's share has been checked; the store has that many records.
    void interval_ended(std::size_t checked, std::size_t dead, std::size_t records) noexcept {
        constexpr std::size_t many = 20;
        constexpr std::size_t few = 40;
        walked_ += checked;
        found_ += dead;
        if (dead > checked / many) rate_ = std::max(rate_, std::min(2 * rate_, max_rate));
        if (walked_ < records) return;
        if (found_ <= walked_ / few) rate_ = std::max(rate_ / 2, least_);
        walked_ = found_ = 0;
    }
    [[nodiscard]] std::size_t rate() const noexcept { return rate_; }

   private:
    std::size_t least_;
    std::size_t rate_;
    std::size_t walked_ = 0;  ///< records checked in this walk over all
    std::size_t found_ = 0;   ///< dead ones among them
};

}  // namespace hf::detail
