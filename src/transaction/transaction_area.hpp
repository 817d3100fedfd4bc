// transaction/transaction_area.hpp: what transactions keep in a region's superblock: which engine
// commits. Zero in a region that was made and had no session yet. And the versions of the bytes
// that it lays:
//
//   1  records of kind redo and undo; later also in pieces and of kind shadow, which programs that
//      know only the first two pass over without a word
//   2  all of these records; entries of second slots with checks (shadow/home_entry.hpp)
//   3  another checksum of the lines of a shadow record, and two words for lines that change to one
//      slot
//
// A region of an older version that was closed in order has no record that counts and no used
// entry, so nothing in it changes. One that was not is refused by name (recovery/upgrade.hpp).
#pragma once

#include "recovery/upgrade.hpp"
#include "region/layout.hpp"
#include "transaction/engine_kind.hpp"

#include <span>

namespace hf {

inline constexpr layout::room_format transaction_format{"transaction", 3};

/// Nothing to convert.
[[nodiscard]] std::span<const upgrade_step> transaction_upgrades() noexcept;

struct transaction_area {
    engine_kind engine;
    u32 reserved;
};
static_assert(sizeof(transaction_area) == 8);

[[nodiscard]] inline transaction_area transaction_area_of(const layout::superblock& s) noexcept {
    return layout::read_area<transaction_area>(s.discipline_area);
}

}  // namespace hf
