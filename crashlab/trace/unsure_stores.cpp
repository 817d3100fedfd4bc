#include "crashlab/trace/unsure_stores.hpp"

namespace hf::lab {

void unsure_stores::take(const event& e, u32 number) {
    switch (e.kind) {
        case event_kind::store:
            return store(e, number);
        case event_kind::flush:
            captured_[e.thread].push_back({e.where / line_size, number});
            return;
        case event_kind::fence:
            return make_sure(captured_[e.thread]);
        case event_kind::sync:
            std::erase_if(written_, [&](const capture& c) {
                if (file_of_line(c.line) != e.where) return false;
                make_sure(c);
                return true;
            });
            return;
        default:
            return;
    }
}

void unsure_stores::store(const event& e, u32 number) {
    const u64 line = e.where / line_size;
    std::fill_n(lines_[line].begin() + static_cast<std::ptrdiff_t>(e.where % line_size), e.size,
                number + 1);
    if (e.how == store_kind::stream) captured_[e.thread].push_back({line, number + 1});
    if (e.how == store_kind::file) written_.push_back({line, number + 1});
}

void unsure_stores::make_sure(const capture& c) {
    const auto l = lines_.find(c.line);
    if (l == lines_.end()) return;
    for (u32& newest : l->second) {
        if (newest <= c.before) newest = 0;
    }
    const auto is_sure = [](u32 newest) { return newest == 0; };
    if (std::all_of(l->second.begin(), l->second.end(), is_sure)) lines_.erase(l);
}

void unsure_stores::make_sure(std::vector<capture>& captured) {
    for (const capture& c : captured) make_sure(c);
    captured.clear();
}

}  // namespace hf::lab
