// damage/edits.hpp: what is done to a region's bytes: flipped bits, other words, lines and pages
// that are zero, older or another's, words that lead to where something else lies, a file that ends
// too early.
#pragma once

#include "base/bits.hpp"

#include <cstdint>
#include <string>

namespace hf::damage_test {

enum class edit_kind : u8 {
    bit,              ///< flips one
    byte,             ///< becomes another
    near_word,        ///< a word becomes a little more
    any_word,         ///< or anything
    zero_word,        ///<
    zero_line,        ///< of 64 bytes
    other_line,       ///< a copy of another
    other_block,      ///< five lines, as large as a node
    zero_page,        ///< of 4 KiB
    swapped_page,     ///< two of them
    swapped_segment,  ///< two pieces of 64 KiB
    held,             ///< a node's version: locked, or being changed, in the opening to come
    leads,            ///< the lower 48 bits of a word become an offset
    leads_high,       ///< the upper ones
    end,              ///< the file ends here
};
inline constexpr unsigned edit_kinds = static_cast<unsigned>(edit_kind::end) + 1;

struct edit {
    u64 place;
    edit_kind kind;
    u32 value;  ///< which bit, what word, what other place
};

/// A region's bytes, where they lie.
struct image_view {
    char* bytes;
    u64 size;  ///< less, if the file ends too early
};

/// `used` bytes of the image count.
void apply(const edit& e, image_view& image, u64 used);
void apply(const edit& e, std::string& image, u64 used);

[[nodiscard]] std::string describe(const edit& e, u64 used);

}  // namespace hf::damage_test
