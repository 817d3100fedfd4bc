// damage/campaign.hpp: thousands of damaged regions, each in a process that may die of it.
//
//   parent                            shared memory                 workers (forked)
//     makes the victims, watches  <──   the image at work,    <──     draw an image by its number,
//     over workers, begins a new        the last sign of life,        damage it, try it out
//     one where one has died            what was found
//
// An image follows from the seed and its number: which region, what is done to it, and what is
// written then. So each finding names the line that makes it again.
#pragma once

#include "base/bits.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace hf::damage_test {

struct campaign_options {
    u64 seed = 1;
    std::string regions = "all";  ///< make_targets()
    u64 images = 0;               ///< 0: as many as there is time for
    double seconds = 60;          ///< if images is 0
    unsigned workers = 2;
    double patience = 10;     ///< seconds without a sign of life: it hangs
    std::optional<u64> only;  ///< this image, in this process
    std::filesystem::path
        save_to;  ///< not empty: the images are only written there, to be looked at
    std::filesystem::path directory = "/dev/shm";
};

/// Whether nothing was wrong. Prints a table of what was damaged and what came of it.
[[nodiscard]] bool run_campaign(const campaign_options& options);

}  // namespace hf::damage_test
