// damage/campaign.hpp: thousands of damaged regions, each opened in a process that may crash.
//
//  parent                            shared memory                workers (forked)
//    makes the victims, watches  <──   the current image,     <──     make an image from its number
//    over workers, replaces those      the last sign of life,         and try it out
//    that have died                    the results
//
// An image follows from the seed and its number: the region, its damage, and the writes to it. So
// each finding names the command line that reproduces it.
#pragma once

#include "base/bits.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace hf::damage_test {

struct campaign_options {
    u64 seed = 1;
    std::string regions = "all";  ///< make_targets()
    u64 images = 0;               ///< 0: as many as possible in `seconds`
    double seconds = 60;          ///< if images is 0
    unsigned workers = 2;
    double patience = 10;           ///< seconds without a sign of life: it hangs
    std::optional<u64> only;        ///< only this image, in this process
    std::filesystem::path save_to;  ///< not empty: the images are only written there, for analysis
    std::filesystem::path directory = "/dev/shm";
};

/// True: no violation. Prints a table of kinds of damage and results.
[[nodiscard]] bool run_campaign(const campaign_options& options);

}  // namespace hf::damage_test
