// tests/rooms/snapshot/journalled.hpp: snapshots with a journal so small that records are applied
// all the time.
#pragma once

#include "snapshot/machine.hpp"
#include "support/must.hpp"

namespace hf::test {

inline snapshot_machine_options small_journal(u64 bytes, page_tracker::way tracking) {
    snapshot_machine_options o;
    o.file.medium = medium_kind::file;
    o.epochs.epoch = std::chrono::microseconds(0);
    o.tracking = tracking;
    o.bytes = bytes;
    o.journal = {.segment_bytes = u64{16} << 10, .segments = 4};
    return o;
}

}  // namespace hf::test
