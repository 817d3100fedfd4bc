// region/header.hpp: makes a region's header, and judges one that was read.
//
// Reading works on a copy of page 0 and touches nothing else, so that it can be fed with anything
// (fuzz/). A bad copy of the superblock is tolerated while the other is good: that is what the
// second is for. The place and the algorithm of the checksum never change, so that it distinguishes
// a foreign version or byte order from damage.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include "region/file.hpp"
#include "region/layout.hpp"
#include "region/segment.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hf::detail {

struct header_facts {
    layout::superblock super{};     ///< the newest valid copy
    unsigned newest = 0;            ///< which one that is
    std::string damage;             ///< what is wrong with the other one; empty when nothing is
    std::vector<segment> segments;  ///< in the order of the file
    u64 pages = 1;                  ///< header and segments
};

/// errc::corrupt or errc::incompatible, with the offset. `file_bytes` is the length of the file.
[[nodiscard]] result<header_facts> judge_header(const layout::header& header, u64 file_bytes,
                                                const std::string& path);

/// The discipline that the region in a file says it has, by its newest whole superblock; nullopt:
/// there is no such file, or nothing that says so. For choosing who opens it, who looks again.
[[nodiscard]] std::optional<discipline> discipline_in(const std::filesystem::path& path);

/// The address that the region in this file keeps; 0: none, or nothing in it says so. By a
/// superblock that may be damaged: the word never changes. judge_header() says whether the region
/// is whole.
[[nodiscard]] u64 kept_address(const file_handle& file, const std::string& path);

/// Writes a new region's header into zeroed memory. segment_pages 0: no first segment. `address`:
/// that the region keeps; 0: none.
[[nodiscard]] result<void> format_header(layout::header& header, const region_options& options,
                                         medium_kind medium, u64 segment_pages,
                                         std::span<const layout::room_format> rooms = {},
                                         u64 address = 0);

/// Gives a superblock an identity of its own. The checksum is the caller's business.
[[nodiscard]] result<void> renew_uuid(layout::superblock& super);

/// A new, zeroed header outside of any region.
[[nodiscard]] std::unique_ptr<layout::header> blank_header();

}  // namespace hf::detail
