// damage/places.hpp: the places in a region whose bytes have a meaning.
//
// Most bytes of a region are unused, or belong to values: damage at random offsets hits a list head
// or an interior node once in thousands of regions. So a campaign chooses places from here.
#pragma once

#include "base/bits.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace hf::damage_test {

enum class part : u8 {
    superblock,
    epoch_record,
    root_entry,
    growth_intent,
    segment_entry,
    sealed_header,  ///< all words of the header that have a checksum, with the right one afterwards
    heap_segment,
    descriptor,
    heap_root,
    list_head,
    free_block,    ///< the header of a block in a free list
    block_header,  ///< of a block in use, whose header may have no meaning now
    root_leaf,
    leaf,
    interior,
    record,
    log,
    anything,
    eager_words,   ///< lines of an eager region that are neither zero nor part of a value
    eager_node,    ///< of an eager index
    eager_record,  ///< the bytes before key and value
};
inline constexpr unsigned parts = static_cast<unsigned>(part::eager_record) + 1;
[[nodiscard]] const char* name_of(part p) noexcept;

struct place {
    u64 offset;
    u64 size;
    u64 from = 0;  ///< (eager_node) offset of the word that refers to it
};

using places = std::array<std::vector<place>, parts>;

/// The words of the header of any region.
void find_sealed_header(places& found);

/// For an eager region: lines with some zero words, which values of random bytes hardly have.
[[nodiscard]] places find_eager_places(const std::string& image);

/// As find_eager_places(), with the blocks that the index refers to; `locks`: offsets of their
/// locks.
[[nodiscard]] places find_eager_blocks(const std::filesystem::path& file, const std::string& image,
                                       std::vector<u64>& locks);

/// For an undamaged region; `used`: its size without zeros at the end.
[[nodiscard]] places find_places(const std::filesystem::path& file, u64 used);

}  // namespace hf::damage_test
