// tests/campaigns/power/moments.hpp: selects the moments of power failures in a recorded run, and
// the effect of the disk's cache.
//
// All writes before the last flush are on the disk. The later ones:
//
//   boundary   there are none: the moment is a flush
//   dropped    each is on the disk with probability 1/2
//   late       only some of the newest are: the disk writes back in its own order
//   torn       some sectors of 512 bytes of each are
//   whole      all are
//   lies       none are, and those before the last flushes are missing, too: the disk has ignored
//              flushes
#pragma once

#include "base/random.hpp"
#include "write_log.hpp"

#include <vector>

namespace hf::power_test {

/// The state of an image's writes that no flush had covered.
enum class fate : std::uint8_t { boundary, dropped, late, torn, whole, lies };

[[nodiscard]] const char* to_string(fate f) noexcept;

/// An image to be rebuilt: entries [0, synced) are on the disk, [synced, cut) may be.
struct moment {
    std::size_t synced = 0;
    std::size_t cut = 0;
    fate of = fate::boundary;
};

/// `images` moments in the order of their cuts, half of them at flushes; `lies` more of kind lies.
[[nodiscard]] std::vector<moment> choose_moments(const write_log& log, u64 images, u64 lies,
                                                 xoshiro256ss& random);

}  // namespace hf::power_test
