// epoch/session_begin.hpp: the epoch in which the next session of a region begins.
//
// Invariant. N1 of epoch_manager.hpp: no epoch's number is used twice, crashes included. A crash of
//  a session whose image was journalled takes whole epochs, and tickets may name them; so their
//  numbers are skipped. A session without epochs (eager/, on a shared image) skips them, too, for
//  its superblock does not say any more that the one before was journalled.
#pragma once

#include "region/region.hpp"

#include <optional>

namespace hf {

struct session_begin {
    u64 first = 1;
    std::optional<u64> interrupted;  ///< the epoch that a crash has left half done
};

/// From the superblock and the epoch record of an open region. errc::corrupt: the record is
/// damaged, or no program can have reached its epoch.
[[nodiscard]] result<session_begin> begin_of_session(const region& file);

}  // namespace hf
