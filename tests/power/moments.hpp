// tests/power/moments.hpp: at which moments of a recorded run the power goes, and what the disk's
// cache makes of it.
//
// All writes up to the last flush before the moment are on the disk. Of the later ones
//
//   boundary   none are: the moment is a flush
//   dropped    each is with probability 1/2
//   late       only some of the newest are: the disk writes back in an order of its own
//   torn       of each some sectors of 512 bytes are
//   whole      all are
//   lies       none are, nor those before the last flushes: the disk has not kept what it said
#pragma once

#include "base/random.hpp"
#include "write_log.hpp"

#include <vector>

namespace hf::power_test {

/// What an image's disk made of the writes that no flush had covered.
enum class fate : std::uint8_t { boundary, dropped, late, torn, whole, lies };

[[nodiscard]] const char* to_string(fate f) noexcept;

/// An image to be rebuilt: entries [0, synced) are on the disk, [synced, cut) may be.
struct moment {
    std::size_t synced = 0;
    std::size_t cut = 0;
    fate of = fate::boundary;
};

/// `images` moments in the order of their cuts, half of them at flushes; `lies` more that lie.
[[nodiscard]] std::vector<moment> choose_moments(const write_log& log, u64 images, u64 lies,
                                                 xoshiro256ss& random);

}  // namespace hf::power_test
