// tools/holdfast/view/header_view.hpp: the contents of a region's header, damaged or not.
//
// Reads only the first page of the file; each part is validated separately, so that one damaged
// part hides no other.
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
        u64 format;  ///< of its target
    };

    /// The verdict on bytes that do not begin like a superblock.
    static constexpr const char* no_superblock = "no superblock";

    std::string path;
    u64 file_bytes = 0;
    u64 allocated_bytes = 0;
    u64 header_bytes = 0;  ///< number of bytes of the header that exist
    std::array<std::string, 2> super_verdict;
    std::optional<layout::superblock> super;  ///< the newest one with a right checksum
    std::optional<u64> epoch;                 ///< nullopt: the record is damaged
    std::vector<root_entry> roots;
    std::vector<segment> segments;
    unsigned bad_segments = 0;  ///< invalid words of the directory
    u64 intended_pages = 0;     ///< of a growth in progress, or interrupted

    /// Only regular files are opened; locks are ignored, so a region in use can be read.
    [[nodiscard]] static result<header_view> read(const std::filesystem::path& path);

    [[nodiscard]] u64 segment_bytes(segment_kind kind) const noexcept;
    /// Space that the engine shadow takes besides the heap.
    struct slot_space {
        u64 slots = 0;        ///< second slots of pages, of 4 KiB each
        u64 bytes = 0;        ///< of these and their table
        u64 table_bytes = 0;  ///< of that
        /// More, which the heap leaves free for slots if the region may not grow.
        u64 kept_bytes = 0;
    };
    /// nullopt: the region has no second slots.
    [[nodiscard]] std::optional<slot_space> second_slots() const noexcept;
    [[nodiscard]] std::string uuid() const;
    /// nullopt: the region has no map with a Masstree.
    [[nodiscard]] std::optional<bool> small_values_in_leaves() const;
};

}  // namespace hf::tool
