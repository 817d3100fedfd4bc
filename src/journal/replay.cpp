#include "journal/replay.hpp"

#include "journal/merge.hpp"
#include "persist/persist_point.hpp"

namespace hf::journal {

result<void> replay(block_file& journal, const history& found, block_file& base) {
    if (auto ok = journal.sync(); !ok) return ok;
    HF_PERSIST_POINT("journal K0: records durable before recovery brings them to the base");
    const auto done = merge(journal, found.chunks, base);
    if (!done) return tl::unexpected(done.error());
    if (auto ok = base.sync(); !ok) return ok;
    HF_PERSIST_POINT("journal K1: base complete before the old journal is reset");
    return {};
}

}  // namespace hf::journal
