// eager/eager_area.hpp: the discipline's area of the superblock: the record count of the last clean
// close.
//
// On the medium. region/ stores the area and does not interpret it. It is zero in a new region.
// Invariants. The count is valid if the area's generation is the superblock's, and the superblock
// is marked clean. So neither a crash nor a program that does not count has to reset it.
// Persist order. region S1, S2: the area changes atomically with the superblock pair.
#pragma once

#include "region/layout.hpp"

#include <optional>

namespace hf {

struct eager_area {
    u64 generation;  ///< the session at whose end the records were counted
    u64 records;
};
static_assert(sizeof(eager_area) == 16);

/// Returns the record count; nullopt: the region was not closed cleanly, or not by a program that
/// counts.
[[nodiscard]] inline std::optional<u64> counted_records(const layout::superblock& s) noexcept {
    const auto a = layout::read_area<eager_area>(s.discipline_area);
    if (s.clean == 0 || a.generation != s.generation) return std::nullopt;
    return a.records;
}
/// Call within region::update_super() at the end of the session.
inline void set_counted_records(layout::superblock& s, u64 records) noexcept {
    layout::write_area(s.discipline_area, eager_area{s.generation, records});
}

}  // namespace hf
