// Fuzzes the checks of region headers.
//
// The input is a program of edits to a valid header, six bytes each: an offset (16 bits), a kind
// and three bytes of value. So a short input reaches every field, and the fuzzer need not guess
// checksums: an edit may correct them. Nothing may crash; an accepted header must be consistent.
#include "region/header.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using hf::layout::header;

struct edit {
    std::uint16_t offset;
    std::uint8_t kind;
    std::uint8_t value[3];
};
static_assert(sizeof(edit) == 6);

enum edit_kind : std::uint8_t {
    set_byte,
    flip_bit,
    set_word,
    mend_superblocks,
    mend_segment,
    size
};
constexpr unsigned kinds = 6;

void apply(header& h, const edit& e, std::uint64_t& file_bytes) {
    auto* const bytes = reinterpret_cast<unsigned char*>(&h);
    const std::uint64_t number = std::uint64_t{e.value[0]} | std::uint64_t{e.value[1]} << 8 |
                                 std::uint64_t{e.value[2]} << 16;
    switch (e.kind % kinds) {
        case set_byte:
            bytes[e.offset] = e.value[0];
            break;
        case flip_bit:
            bytes[e.offset] = static_cast<unsigned char>(bytes[e.offset] ^ (1U << e.value[0] % 8));
            break;
        case set_word:
            std::memcpy(bytes + (e.offset & ~7U), &number, sizeof number);
            break;
        case mend_superblocks:
            for (auto& s : h.super) s.checksum = hf::layout::superblock_checksum(s);
            break;
        case mend_segment: {
            const unsigned position = e.offset % hf::layout::max_segments;
            h.segments[position].store(hf::layout::pack_segment(
                position,
                {static_cast<hf::u32>(number >> 4), 0, static_cast<hf::u8>(number & 15)}));
            break;
        }
        default:
            file_bytes = number * 4096 + e.offset;
            break;
    }
}

void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
    const auto h = hf::detail::blank_header();
    hf::region_options options;
    if (!hf::detail::format_header(*h, options, hf::medium_kind::shm, 15)) return 0;
    std::uint64_t file_bytes = 16 * hf::layout::page_size;
    for (; bytes >= sizeof(edit); bytes -= sizeof(edit), data += sizeof(edit)) {
        edit e{};
        std::memcpy(&e, data, sizeof e);
        apply(*h, e, file_bytes);
    }
    const auto facts = hf::detail::judge_header(*h, file_bytes, "fuzzed.hf");
    if (!facts) {
        const hf::errc code = facts.error().code;
        require(code == hf::errc::corrupt || code == hf::errc::incompatible);
        require(!facts.error().to_string().empty());
        return 0;
    }
    hf::u64 end = hf::layout::page_size;
    for (const hf::segment& s : facts->segments) {
        require(s.offset == end && s.pages != 0);
        end += s.bytes();
    }
    require(end == facts->pages * hf::layout::page_size && end <= file_bytes);
    return 0;
}
