#include "alloc/committed/word_change.hpp"

#include <algorithm>

namespace hf::committed {

result<void> reapply(region& r, std::span<const word_change> changes) {
    const auto segments = r.segments();
    const auto is_word = [&](u64 offset) {
        return offset % 8 == 0 && std::any_of(segments.begin(), segments.end(), [&](const auto& s) {
                   return s.kind == segment_kind::heap &&
                          offset >= s.offset + sizeof(segment_header) &&
                          offset < s.offset + own_bytes(s.pages);
               });
    };
    for (const word_change& c : changes) {
        if (is_word(c.offset)) continue;
        return failure(corrupt_heap(r, c.offset, "a log changes a word that is none of a heap"));
    }
    for (const word_change& c : changes) {
        auto* w = r.at<word>(c.offset);
        change_word(*w, c);
        r.med().flush_line(w);
    }
    return {};
}

}  // namespace hf::committed
