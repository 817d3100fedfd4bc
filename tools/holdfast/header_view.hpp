// tools/holdfast/header_view.hpp: what a region's header says, damaged or not.
//
// Reads the first page of the file and nothing else; each part is judged by itself, so that one
// that is broken hides no other.
#pragma once

#include <holdfast/result.hpp>

#include "region/layout.hpp"
#include "region/segment.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hf::tool {

struct header_view {
    struct root_entry {
        std::string name;
        u64 value;
        u64 type;
        u64 format;  ///< of what lies behind it
    };

    /// The verdict on what does not begin as a superblock does.
    static constexpr const char* no_superblock = "no superblock";

    std::string path;
    u64 file_bytes = 0;
    u64 allocated_bytes = 0;
    u64 header_bytes = 0;  ///< how much of the header there is
    std::array<std::string, 2> super_verdict;
    std::optional<layout::superblock> super;  ///< the newest one that has a right checksum
    std::optional<u64> epoch;                 ///< nullopt: the record is damaged
    std::vector<root_entry> roots;
    std::vector<segment> segments;
    unsigned bad_segments = 0;  ///< words of the directory that make no sense
    u64 intended_pages = 0;     ///< of a growth that is, or was, under way

    /// Only regular files are opened; locks are ignored, so a region in use can be looked at.
    [[nodiscard]] static result<header_view> read(const std::filesystem::path& path);

    [[nodiscard]] u64 segment_bytes(segment_kind kind) const noexcept;
    [[nodiscard]] std::string uuid() const;
    /// nullopt: no map with a Masstree lies there.
    [[nodiscard]] std::optional<bool> small_values_in_leaves() const;
};

}  // namespace hf::tool
