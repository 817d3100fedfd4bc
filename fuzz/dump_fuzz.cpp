// Fuzzes the reader of dumps, with pieces of any size.
//
// The first byte selects the size of the pieces, and whether count and checksum of the end line are
// corrected, so that the code after their check is reached. Nothing may crash; the writer must
// reproduce an accepted dump byte for byte.
#include "dump/dump_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using hf::detail::dump_line;
using hf::detail::dump_reader;
using hf::detail::dump_writer;

void require(bool condition) {
    if (!condition) std::abort();
}

/// The text, with its last line replaced by a correct end line.
std::string with_right_end(const std::string& text) {
    std::string kept = text;
    if (!kept.empty() && kept.back() == '\n') kept.pop_back();
    kept.erase(kept.rfind('\n') + 1);
    std::uint64_t lines = 0;
    std::size_t at = 0;
    for (std::size_t next = 0; (next = kept.find('\n', at)) != kept.npos; at = next + 1) {
        const auto line = std::string_view(kept).substr(at, next - at);
        if (line.starts_with("record\t") || line.starts_with("value\t")) ++lines;
    }
    char end[64];
    std::snprintf(end, sizeof end, "end\t%llu\t%016llx\n", static_cast<unsigned long long>(lines),
                  static_cast<unsigned long long>(hf::checksum64(kept.data(), kept.size())));
    return kept + end;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t piece = std::size_t{1} + (data[0] >> 1);
    std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if ((data[0] & 1) != 0) text = with_right_end(text);

    std::size_t at = 0;
    dump_reader reader(
        [&](std::span<char> into) -> hf::result<std::size_t> {
            const std::size_t n = std::min({into.size(), piece, text.size() - at});
            std::memcpy(into.data(), text.data() + at, n);
            at += n;
            return n;
        },
        "fuzzed.dump");
    std::string again;
    dump_writer writer([&again](std::string_view part) {
        again += part;
        return hf::result<void>{};
    });
    bool begun = false;
    for (dump_line line;;) {
        const auto more = reader.next(line);
        if (!more) {
            require(more.error().code == hf::errc::corrupt ||
                    more.error().code == hf::errc::incompatible);
            require(more.error().to_string().find("fuzzed.dump") != std::string::npos);
            return 0;
        }
        if (!begun) require(writer.begin(reader.flush_at()).has_value());
        begun = true;
        if (!*more) break;
        require(writer.add(line).has_value());
    }
    const auto totals = writer.end();
    require(totals.has_value() && again == text);
    require(totals->bytes == reader.totals().bytes && totals->records == reader.totals().records);
    return 0;
}
