// journal/replay.hpp: brings a base file to where its journal says it must be.
#pragma once

#include "journal/scan.hpp"

namespace hf::journal {

/// Writes all that the history holds to the base and syncs it. K0: the journal is synced before,
/// for the last record may be one whose process died before its sync: it is complete as long as the
/// machine goes on, and no longer. K1: durable before the journal is reset, that is before
/// core::start(). Cut short, it is done again; it only writes what the journal goes on to say.
[[nodiscard]] result<void> replay(block_file& journal, const history& found, block_file& base);

}  // namespace hf::journal
