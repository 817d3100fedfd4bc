// transaction/transaction_area.hpp: what transactions keep in a region's superblock: which engine
// commits. Zero in a region that was made and had no session yet.
#pragma once

#include "region/layout.hpp"
#include "transaction/engine_kind.hpp"

namespace hf {

inline constexpr layout::room_format transaction_format{"transaction", 1};

struct transaction_area {
    engine_kind engine;
    u32 reserved;
};
static_assert(sizeof(transaction_area) == 8);

[[nodiscard]] inline transaction_area transaction_area_of(const layout::superblock& s) noexcept {
    return layout::read_area<transaction_area>(s.discipline_area);
}

}  // namespace hf
