#include "damage/edits.hpp"

#include "region/layout.hpp"
#include "sync/version_lock.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace hf::damage_test {

namespace {

constexpr u64 line = 64;
constexpr u64 node_block = 320;
constexpr u64 small_page = 4096;
constexpr u64 large_page = 65536;

u64 down(u64 offset, u64 size) { return offset - offset % size; }

void set_word(const image_view& image, u64 at, u64 value, bool add) {
    u64 word = 0;
    const u64 where = down(at, sizeof word);
    if (where + sizeof word > image.size) return;
    std::memcpy(&word, image.bytes + where, sizeof word);
    word = add ? word + value : value;
    std::memcpy(image.bytes + where, &word, sizeof word);
}

void lead(const image_view& image, u64 at, u64 offset, unsigned shift) {
    constexpr u64 field = (u64{1} << 48) - 1;
    u64 word = 0;
    const u64 where = down(at, sizeof word);
    if (where + sizeof word > image.size) return;
    std::memcpy(&word, image.bytes + where, sizeof word);
    word = (word & ~(field << shift)) | offset << shift;
    std::memcpy(image.bytes + where, &word, sizeof word);
}

void zero(const image_view& image, u64 at, u64 size) {
    const u64 from = down(at, size);
    const u64 n = std::min(size, image.size - from);
    std::memset(image.bytes + from, 0, n);
}

void copy(const image_view& image, u64 to, u64 from, u64 size) {
    if (std::max(to, from) + size > image.size) return;
    std::memmove(image.bytes + to, image.bytes + from, size);
}

void swap(const image_view& image, u64 a, u64 b, u64 size) {
    const u64 first = down(a, size);
    const u64 second = down(b, size);
    if (std::max(first, second) + size > image.size || first == second) return;
    std::swap_ranges(image.bytes + first, image.bytes + first + size, image.bytes + second);
}

void hold(const image_view& image, u64 node, u32 marks) {
    constexpr u64 generation_at = offsetof(layout::superblock, generation);
    constexpr u64 bits = version_lock::locked | version_lock::marks;
    u64 generation = 0;
    u64 word = 0;
    const u64 where = down(node, sizeof word);
    if (where + sizeof word > image.size || image.size < layout::page_size) return;
    std::memcpy(&generation, image.bytes + generation_at, sizeof generation);
    std::memcpy(&word, image.bytes + where, sizeof word);
    word = (word & ~version_lock::generation_field) |
           version_lock::generation_bits(generation + 1) | (marks & bits) | version_lock::locked;
    std::memcpy(image.bytes + where, &word, sizeof word);
}

/// Zero, the largest number, a power of two, one that is slightly different, or any.
u64 odd_number(u64 before, u32 value) {
    switch (value % 8) {
        case 0:
            return 0;
        case 1:
            return ~u64{0};
        case 2:
        case 3:
            return (u64{1} << value / 8 % 64) - value / 512 % 2;
        case 4:
            return before + value / 8 % 1000;
        case 5:
            return before - value / 8 % 1000;
        case 6:
            return before ^ u64 { 1 } << value / 8 % 64;
        default:
            return value * 0x9e3779b97f4a7c15;
    }
}

/// Replaces a word of a superblock, a root's entry, or the epoch record, as an author who
/// knows the format would: in both superblocks, so that the older one does not help.
void seal_word(const image_view& image, u64 at, u32 value) {
    if (image.size < layout::page_size) return;
    auto& h = *reinterpret_cast<layout::header*>(image.bytes);
    const u64 where = down(at, sizeof(u64));
    u64 word = 0;
    std::memcpy(&word, image.bytes + where, sizeof word);
    word = odd_number(word, value);
    constexpr u64 epoch_at = offsetof(layout::header, epoch);
    constexpr u64 roots_at = offsetof(layout::header, roots);
    if (where >= epoch_at && where < roots_at) {
        layout::epoch_record_init(h.epoch, odd_number(h.epoch.epoch.load(), value));
    } else if (where >= roots_at) {
        std::memcpy(image.bytes + where, &word, sizeof word);
        layout::root& r = h.roots[(where - roots_at) / sizeof(layout::root)];
        r.checksum = layout::root_checksum(r, r.value.load());
    } else {
        for (layout::superblock& s : h.super) {
            std::memcpy(reinterpret_cast<char*>(&s) + where % sizeof s, &word, sizeof word);
            s.checksum = layout::superblock_checksum(s);
        }
    }
}

}  // namespace

void apply(const edit& e, image_view& image, u64 used) {
    const u64 at = e.place % used;
    if (at >= image.size) return;
    const u64 other = e.value % used;
    switch (e.kind) {
        case edit_kind::bit:
            image.bytes[at] = static_cast<char>(image.bytes[at] ^ 1 << e.value % 8);
            break;
        case edit_kind::byte:
            image.bytes[at] = static_cast<char>(e.value);
            break;
        case edit_kind::near_word:
            set_word(image, at, u64{e.value % 4096} * 16, true);
            break;
        case edit_kind::any_word:
            set_word(image, at, e.value * 0x9e3779b97f4a7c15, false);
            break;
        case edit_kind::zero_word:
            set_word(image, at, 0, false);
            break;
        case edit_kind::zero_line:
            zero(image, at, line);
            break;
        case edit_kind::other_line:
            copy(image, down(at, line), down(other, line), line);
            break;
        case edit_kind::other_block:
            copy(image, down(at, line), down(other, line), node_block);
            break;
        case edit_kind::zero_page:
            zero(image, at, small_page);
            break;
        case edit_kind::swapped_page:
            swap(image, at, other, small_page);
            break;
        case edit_kind::swapped_segment:
            swap(image, at, other, large_page);
            break;
        case edit_kind::held:
            hold(image, at, e.value);
            break;
        case edit_kind::leads:
            lead(image, at, e.value, 0);
            break;
        case edit_kind::leads_high:
            lead(image, at, e.value, 16);
            break;
        case edit_kind::end:
            image.size = at;
            break;
        case edit_kind::sealed_word:
            seal_word(image, at, e.value);
            break;
    }
}

void apply(const edit& e, std::string& image, u64 used) {
    image_view view{image.data(), image.size()};
    apply(e, view, used);
    image.resize(view.size);
}

std::string describe(const edit& e, u64 used) {
    static constexpr std::array<const char*, edit_kinds + 1> names{
        "a flipped bit", "another byte",    "a word that is more", "another word",
        "a zero word",   "a zero line",     "another's line",      "another's block",
        "a zero page",   "swapped pages",   "swapped segments",    "a held lock",
        "an offset",     "an offset above", "the file's end",      "a sealed word"};
    return std::string(names[static_cast<unsigned>(e.kind)]) + " at offset " +
           std::to_string(e.place % used) + " (" + std::to_string(e.value) + ")";
}

}  // namespace hf::damage_test
