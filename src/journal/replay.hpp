// journal/replay.hpp: brings a base file to where its journal says it must be.
#pragma once

#include "journal/scan.hpp"

namespace hf::journal {

/// Writes all that the history holds to the base and syncs it. K0: the last record is written once
/// more and the journal synced before, for it may be one whose process died before its sync: it is
/// complete as long as the machine goes on, and no longer. Where the process died of a sync that
/// failed, the kernel takes the record for clean though no disk has it, and a sync alone would
/// prove nothing. All older ones are durable (J1). K1: durable before the journal is reset, that is
/// before core::start(). Cut short, it is done again; it only writes what the journal goes on to
/// say.
[[nodiscard]] result<void> replay(block_file& journal, const history& found, block_file& base);

}  // namespace hf::journal
