// eager/eager_area.hpp: what the discipline keeps in a region's superblock: how many records there
// were when it was last closed in order.
//
// On the medium. The discipline's area of the superblock, which region/ keeps and does not read.
//  Zero in a region that was made and had no session yet.
// Invariants. The number holds for the generation that it names, and as long as the superblock says
//  that this one was closed in order. So neither a crash nor a program that doesn't count need undo
//  it.
// Persist order. region S1, S2: it changes with the superblock pair, whole or not at all.
#pragma once

#include "region/layout.hpp"

#include <optional>

namespace hf {

struct eager_area {
    u64 generation;  ///< at whose end they were counted
    u64 records;
};
static_assert(sizeof(eager_area) == 16);

/// nullopt: not closed in order, or by a program that doesn't count.
[[nodiscard]] inline std::optional<u64> counted_records(const layout::superblock& s) noexcept {
    const auto a = layout::read_area<eager_area>(s.discipline_area);
    if (s.clean == 0 || a.generation != s.generation) return std::nullopt;
    return a.records;
}
/// To be called in region::update_super(), at the session's end.
inline void set_counted_records(layout::superblock& s, u64 records) noexcept {
    layout::write_area(s.discipline_area, eager_area{s.generation, records});
}

}  // namespace hf
