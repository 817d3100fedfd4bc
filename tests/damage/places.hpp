// damage/places.hpp: where in a region the bytes lie that mean something, and what.
//
// Most bytes of a region mean nothing, or are values: a campaign that damages any byte hits a list
// head or an interior node once in thousands of regions. So it asks here.
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
    heap_segment,
    descriptor,
    heap_root,
    list_head,
    free_block,    ///< the header of one in a list
    block_header,  ///< of one in use, whose bytes may mean nothing now
    root_leaf,
    leaf,
    interior,
    record,
    log,
    anything,
    eager_words,   ///< lines of an eager region that are neither zero nor a value's
    eager_node,    ///< of an eager index
    eager_record,  ///< what stands before key and value
};
inline constexpr unsigned parts = static_cast<unsigned>(part::eager_record) + 1;
[[nodiscard]] const char* name_of(part p) noexcept;

struct place {
    u64 offset;
    u64 size;
    u64 from = 0;  ///< (eager_node) of what refers to it
};

using places = std::array<std::vector<place>, parts>;

/// Of an eager region: lines with some zeros, which values, of random bytes, hardly have.
[[nodiscard]] places find_eager_places(const std::string& image);

/// The same, and what its index refers to; `locks`: where the locks of these lie.
[[nodiscard]] places find_eager_blocks(const std::filesystem::path& file, const std::string& image,
                                       std::vector<u64>& locks);

/// Of a region that is not damaged; `used`: its bytes but for zeros at its end.
[[nodiscard]] places find_places(const std::filesystem::path& file, u64 used);

}  // namespace hf::damage_test
