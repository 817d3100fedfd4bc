// recovery/opening.hpp: the function by which every program opens a region.
//
// Purpose. Maps a region with the contents of its file and its journal,
//  on any medium, in the formats of this program: for the map, snapshots, checks,
//  tools, benchmarks and examples. It begins the region's recovery_driver with the first three
//  phases (driver.hpp); the rooms above add their steps to the same driver, opened_region::steps.
// Recovery. K0 to K4 of redo.hpp and journalled_file.hpp: an interrupted open has changed
//  nothing, or has made a part of the journal durable in the base, and can be repeated.
// Bad input. A journal without its region is an error if a region would be created: it may
//  be all that is left of a user's data. Other errors: region/region.hpp and redo.hpp.
#pragma once

#include "recovery/driver.hpp"
#include "recovery/journalled_file.hpp"
#include "recovery/upgrade.hpp"
#include "region/region.hpp"

#include <filesystem>
#include <memory>

namespace hf {

struct opening_options {
    region_options file = {};
    journal_options journal = {};
    region::medium_check accept = {};  ///< {}: any medium
    /// The rooms whose bytes the opener writes and reads; {}: it reads no room's bytes.
    std::span<const layout::room_format> rooms = {};
    /// Steps from older formats to these.
    std::span<const upgrade_step> upgrades = {};
};

struct opened_region {
    std::unique_ptr<region> file;
    /// The backing of a journalled image, owned by the region; nullptr with a shared image,
    /// for inspection, and in anonymous memory.
    journalled_file* journal = nullptr;
    /// Number of epochs replayed from a journal; the file may have had some of them.
    u64 recovered_records = 0;
    /// The phases up to `upgrade` are done.
    recovery_driver steps = {};
};

[[nodiscard]] result<opened_region> open_region(const std::filesystem::path& path,
                                                const opening_options& options);
[[nodiscard]] inline result<opened_region> open_region(const std::filesystem::path& path,
                                                       const region_options& options) {
    return open_region(path, opening_options{.file = options});
}

/// Anonymous memory: region::create_volatile.
[[nodiscard]] result<opened_region> create_volatile(u64 bytes, const region_options& options);

}  // namespace hf
