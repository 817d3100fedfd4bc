#include "journal/replay.hpp"

#include "journal/merge.hpp"
#include "persist/persist_point.hpp"

namespace hf::journal {

result<void> replay(block_file& journal, const history& found, block_file& base) {
    const auto done = merge(journal, found.chunks, base);
    if (!done) return tl::unexpected(done.error());
    if (auto ok = base.sync(); !ok) return ok;
    HF_PERSIST_POINT("journal K1: base complete before the old journal is reset");
    return {};
}

}  // namespace hf::journal
