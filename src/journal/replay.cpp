#include "journal/replay.hpp"

#include "journal/apply.hpp"
#include "persist/persist_point.hpp"

namespace hf::journal {

result<void> replay(block_file& journal, const history& found, block_file& base) {
    auto done = apply(journal, found.chunks, [&](u64 offset, std::span<const std::byte> bytes) {
        return base.write(offset, bytes);
    });
    if (!done) return done;
    if (auto ok = base.sync(); !ok) return ok;
    HF_PERSIST_POINT("journal K1: base complete before the old journal is reset");
    return {};
}

}  // namespace hf::journal
