// region/segment.hpp: a contiguous run of pages of a region, and its use.
#pragma once

#include "region/layout.hpp"

#include <optional>
#include <string_view>

namespace hf {

/// Four bits on the medium, so 1 to 15. A room that needs segments of its own takes the next number
/// here and in the table below. A number never changes its meaning.
enum class segment_kind : u8 {
    heap = 1,         ///< belongs to the allocator
    log = 2,          ///< undo and commit records of lanes
    slots = 3,        ///< second slots of pages, and their table: the shadow engine's
    section_log = 4,  ///< undo logs of sections in graph mode (section/graph)
    memory = 5,       ///< a program's own, changed by its plain stores (plain/)
};

struct registered_kind {
    segment_kind kind;
    std::string_view name;
};
inline constexpr registered_kind segment_kinds[] = {
    {segment_kind::heap, "heap"},     {segment_kind::log, "log"},
    {segment_kind::slots, "slots"},   {segment_kind::section_log, "section log"},
    {segment_kind::memory, "memory"},
};

/// nullopt: an unregistered kind.
[[nodiscard]] constexpr std::optional<std::string_view> name_of(segment_kind kind) noexcept {
    for (const registered_kind& r : segment_kinds) {
        if (r.kind == kind) return r.name;
    }
    return std::nullopt;
}
static_assert(
    [] {
        for (const registered_kind& a : segment_kinds) {
            if (static_cast<u8>(a.kind) == 0 || static_cast<u8>(a.kind) > 15) return false;
            for (const registered_kind& b : segment_kinds) {
                if ((a.kind == b.kind) != (&a == &b)) return false;
            }
        }
        return true;
    }(),
    "each kind is registered once, in four bits");

struct segment {
    u64 offset = 0;  ///< in the region
    u64 pages = 0;   ///< of layout::page_size
    segment_kind kind = segment_kind::heap;
    u16 owner = 0;  ///< defined by the kind's room
    [[nodiscard]] u64 bytes() const noexcept { return pages * layout::page_size; }
    friend bool operator==(const segment&, const segment&) = default;
};

}  // namespace hf
