#include "epoch/lane.hpp"

#include <algorithm>

namespace hf {

void cut(std::span<const u64> lines, std::vector<line_chunk>& into) {
    for (std::size_t at = 0; at < lines.size(); at += lines_per_chunk) {
        into.push_back({lines.data() + at, std::min(lines_per_chunk, lines.size() - at)});
    }
}

void gather(const lanes& all, std::vector<line_chunk>& into) {
    into.clear();
    const u32 used = all.used();
    for (u32 i = 0; i < used; ++i) {
        const lane& l = all.at(i);
        cut(l.once(), into);
        cut(l.sticky(), into);
    }
}

}  // namespace hf
