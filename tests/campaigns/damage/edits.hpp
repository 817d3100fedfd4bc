// damage/edits.hpp: damage to a region's bytes: flipped bits, other words, lines and pages with
// zeros, older or other contents, words that refer to other data, a truncated file.
#pragma once

#include "base/bits.hpp"

#include <cstdint>
#include <string>

namespace hf::damage_test {

enum class edit_kind : u8 {
    bit,              ///< flips one bit
    byte,             ///< changes one byte
    near_word,        ///< increases a word slightly
    any_word,         ///< replaces a word
    zero_word,        ///< sets a word to zero
    zero_line,        ///< sets 64 bytes to zero
    other_line,       ///< replaces a line by a copy of another
    other_block,      ///< likewise for five lines, the size of a node
    zero_page,        ///< sets 4 KiB to zero
    swapped_page,     ///< swaps two pages
    swapped_segment,  ///< swaps two pieces of 64 KiB
    held,             ///< makes a node's version locked, or being changed, in the next session
    leads,            ///< replaces the lower 48 bits of a word by an offset
    leads_high,       ///< replaces the upper ones
    end,              ///< truncates the file
    sealed_word,      ///< replaces a word of the header, and makes the checksums over it right
};
/// Those of which a region's checks are to find the traces.
inline constexpr unsigned edit_kinds = static_cast<unsigned>(edit_kind::end) + 1;

struct edit {
    u64 place;
    edit_kind kind;
    u32 value;  ///< the bit, the word, or the other place
};

/// A region's bytes in memory.
struct image_view {
    char* bytes;
    u64 size;  ///< smaller after truncation
};

/// Only the first `used` bytes of the image are damaged.
void apply(const edit& e, image_view& image, u64 used);
void apply(const edit& e, std::string& image, u64 used);

[[nodiscard]] std::string describe(const edit& e, u64 used);

}  // namespace hf::damage_test
