#include "transaction/shadow_lane.hpp"

#include <algorithm>

namespace hf {

using shadow::line_set;

void shadow_lane::list_copies(std::span<const written_line> lines, u64 first_line) {
    copies_.resize(lines.size());
    copy_of_line* next = copies_.data();
    bool is_sorted = true;
    u64 last = 0;
    for (const written_line& l : lines) {
        is_sorted &= last <= l.line;
        last = l.line;
        *next++ = {l.line - first_line, &l};
    }
    if (!is_sorted) std::ranges::sort(copies_, {}, &copy_of_line::line);
}

void shadow_lane::add_fresh(const fresh_block& b, u64 first_line, shadow_slots& slots) {
    const u64 end = (b.address + b.bytes - 1) / line_size - first_line + 1;
    for (u64 line = b.address / line_size - first_line; line < end;) {
        const u64 page = line / shadow::lines_per_page;
        const u64 last = std::min(end, (page + 1) * shadow::lines_per_page) - 1;
        const line_set all = ~line_set{0} >> (63 - last % shadow::lines_per_page);
        const line_set mask = all & (~line_set{0} << line % shadow::lines_per_page);
        pages.push_back({page, 0, mask, 0, 0, &slots.of(page)});
        line = last + 1;
    }
}

/// Ascending, each page once.
void shadow_lane::sort_pages() {
    if (pages.empty()) return;
    std::ranges::sort(pages, {}, &touched_page::number);
    auto last = pages.begin();
    for (auto p = last + 1; p != pages.end(); ++p) {
        if (p->number != last->number) {
            *++last = *p;
            continue;
        }
        last->written |= p->written;
        last->fresh |= p->fresh;
        if (p->copies != 0) {  // one of all that are merged
            last->first_copy = p->first_copy;
            last->copies = p->copies;
        }
    }
    pages.erase(last + 1, pages.end());
}

void shadow_lane::gather(const context& t, u64 first_line, shadow_slots& slots) {
    pages.clear();
    if (!t.lines().empty()) {  // its state is fetched while copies are listed
        const u64 first = t.lines().front().line - first_line;
        __builtin_prefetch(&slots.of(first / shadow::lines_per_page), 1);
    }
    list_copies(t.lines(), first_line);
    for (u32 i = 0; i < copies_.size();) {
        touched_page p{copies_[i].page(), 0, 0, i, 0, &slots.of(copies_[i].page())};
        __builtin_prefetch(p.state, 1);
        for (; i < copies_.size() && copies_[i].page() == p.number; ++i) {
            p.written |= shadow::only(copies_[i].bit());
        }
        p.copies = i - p.first_copy;
        pages.push_back(p);
    }
    if (!t.fresh().empty()) {
        for (const fresh_block& b : t.fresh()) add_fresh(b, first_line, slots);
        sort_pages();
    }
}

u64 shadow_lane::pages_without_slot() const noexcept {
    return static_cast<u64>(std::ranges::count_if(pages, [](const touched_page& p) {
        return p.written != 0 && p.state->second.load(std::memory_order_acquire) == nullptr;
    }));
}

}  // namespace hf
