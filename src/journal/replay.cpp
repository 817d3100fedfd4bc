#include "journal/replay.hpp"

#include "journal/merge.hpp"
#include "persist/persist_point.hpp"

#include <vector>

namespace hf::journal {

namespace {

result<void> write_last_record_again(block_file& journal, std::span<const chunk_place> chunks) {
    std::vector<std::byte> bytes;
    for (const chunk_place& c : chunks) {
        if (c.at.record != chunks.back().at.record) continue;
        bytes.resize(c.bytes());
        if (auto ok = journal.read(c.offset, bytes); !ok) return ok;
        if (auto ok = journal.write(c.offset, bytes); !ok) return ok;
    }
    return {};
}

}  // namespace

result<void> replay(block_file& journal, const history& found, block_file& base) {
    if (auto ok = write_last_record_again(journal, found.chunks); !ok) return ok;
    if (auto ok = journal.sync(); !ok) return ok;
    HF_PERSIST_POINT("journal K0: records durable before recovery brings them to the base");
    const auto done = merge(journal, found.chunks, base);
    if (!done) return tl::unexpected(done.error());
    if (auto ok = base.sync(); !ok) return ok;
    HF_PERSIST_POINT("journal K1: base complete before the old journal is reset");
    return {};
}

}  // namespace hf::journal
