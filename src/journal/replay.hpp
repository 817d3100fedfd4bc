// journal/replay.hpp: applies the journal to the base file during recovery.
#pragma once

#include "journal/scan.hpp"

namespace hf::journal {

/// Writes all lines of the history to the base and syncs it.
/// K0: before that, the last record is written again and the journal synced, because its process
/// may have died before its sync: the record may be in the page cache only, and would be lost in a
/// power failure. Syncing alone does not suffice: if the process died of a failed sync, the kernel
/// considers the record clean although it is not on the disk. All older records are durable (J1).
/// K1: the base is durable before the journal is reset, that is before core::start(). After an
/// interruption it is repeated; it only writes what the journal still contains.
[[nodiscard]] result<void> replay(block_file& journal, const history& found, block_file& base);

}  // namespace hf::journal
