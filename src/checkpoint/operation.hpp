// operation.hpp: an operation of the checkpoint family: inside an epoch, knowing which have failed.
#pragma once

#include "checkpoint/checkpoint_state.hpp"

#include <span>

namespace hf {

namespace detail {
inline const failed_set no_failed_epochs;
}

/// Inside an epoch from construction to destruction. They don't nest.
class operation {
   public:
    explicit operation(checkpoint_state& c) : operation(c, c.epochs_.my_lane()) {}
    operation(checkpoint_state& c, lane& mine) noexcept
        : state_(c),
          inside_(c.epochs_, mine),
          horizon_(c.horizon_.load(std::memory_order_relaxed)) {}

    [[nodiscard]] u64 epoch() const noexcept { return inside_.epoch(); }
    /// Stamps below it may be of failed epochs.
    [[nodiscard]] u64 horizon() const noexcept { return horizon_; }
    [[nodiscard]] const failed_set& failed() const noexcept {
        return horizon_ != 0 ? state_.failed_ : detail::no_failed_epochs;
    }
    [[nodiscard]] lane& my_lane() const noexcept { return inside_.my_lane(); }
    /// Brings objects into the external log before they change: log_writer::append().
    [[nodiscard]] result<void> log(std::span<const log_object> objects) const
        noexcept(!crashes_throw) {
        return state_.log(inside_.my_lane(), objects, epoch());
    }

   private:
    checkpoint_state& state_;
    epoch_guard inside_;
    u64 horizon_;
};

}  // namespace hf
