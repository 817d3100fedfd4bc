// recovery/opening.hpp: how every program opens a region.
//
// Purpose. The one way from a path to mapped memory that has all that the file and its journal
//  hold, whatever the medium, in the formats of this program: for the map, snapshots, checks,
//  tools, measurements and examples. The first three phases of driver.hpp; what the disciplines
//  have to recover comes after it.
// Recovery. K0 to K4 of redo.hpp and journalled_file.hpp: an opening that is cut short has changed
//  nothing, or has made a part of what the journal says durable, and can be run again.
// Bad input. A journal without its region is an error before a region is made at its place: it may
//  be all that is left of somebody's data. The rest: region/region.hpp and redo.hpp.
#pragma once

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
    /// What the opener's rooms write, and read; {}: it reads no room's bytes.
    std::span<const layout::room_format> rooms = {};
    /// From older formats to these.
    std::span<const upgrade_step> upgrades = {};
};

struct opened_region {
    std::unique_ptr<region> file;
    /// What the region lies behind on the medium `file`, and belongs to it; nullptr on other media,
    /// for inspection, and in anonymous memory.
    journalled_file* journal = nullptr;
    /// Epochs that this opening took from a journal; the file may have had some of them.
    u64 recovered_records = 0;
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
