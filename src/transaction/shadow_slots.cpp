#include "transaction/shadow_slots.hpp"

#include "alloc/geometry.hpp"
#include "base/check.hpp"
#include "epoch/lane.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <string>

namespace hf {
namespace {

constexpr u64 max_first_pages = 16;    // 1 MiB
constexpr u64 max_slot_growth = 4096;  // 256 MiB
/// In a region that is more than half full: pages that are consolidated for each slot before there
/// are more slots.
constexpr u64 consolidations_per_slot = 4;
/// Lines of a lane that wait for the epoch's end: an eighth of a millisecond of write-back.
constexpr std::size_t max_noted_entries = 16384;

}  // namespace

u64 first_slot_pages(u64 max_pages) noexcept {
    return std::clamp<u64>(max_pages / 64, 2, max_first_pages);
}

shadow_slots::shadow_slots(region& r)
    : region_(r),
      chunks_count_(r.max_pages() * slot_segment::slots_per_page / pages_per_chunk + 1),
      chunks_(std::make_unique<std::atomic<chunk*>[]>(chunks_count_)) {}

shadow_slots::~shadow_slots() {
    for (u64 i = 0; i < chunks_count_; ++i) delete chunks_[i].load(std::memory_order_acquire);
}

result<void> shadow_slots::open() {
    for (const segment& s : region_.segments()) {
        if (s.kind == segment_kind::slots) adopt(s);
    }
    region_.med().fence();
    if (total() != 0) return {};
    const u64 pages = first_slot_pages(region_.max_pages());
    auto grown = region_.grow(segment_kind::slots, pages, 0);
    if (!grown) return tl::unexpected(grown.error());
    adopt(*grown);
    return {};
}

void shadow_slots::adopt(const segment& s) {
    const slot_segment lies(s);
    group g{std::make_unique<slot[]>(lies.slots()), lies.slots()};
    for (u64 i = lies.slots(); i-- != 0;) {
        slot& each = g.slots[i];
        each.number = lies.slot_at(i) / shadow::page_size;
        each.memory = region_.at<std::byte>(lies.slot_at(i));
        each.entry = region_.at<slot_entry>(lies.entry_at(i));
        // SS3: a copy that was made of an open region has entries, and all lines at home.
        if (each.entry->name.load(std::memory_order_relaxed) != 0) {
            each.entry->name.store(0, std::memory_order_release);
            region_.med().flush_line(each.entry);
        }
        free_.push_back(&each);
    }
    groups_.push_back(std::move(g));
    free_.reserve(total() + lies.slots());  // give_back() asks for no memory
    total_.fetch_add(lies.slots(), std::memory_order_relaxed);
    free_count_.fetch_add(lies.slots(), std::memory_order_relaxed);
}

shadow_slots::page& shadow_slots::of(u64 number) {
    std::atomic<chunk*>& place = chunks_[number / pages_per_chunk];
    chunk* c = place.load(std::memory_order_acquire);
    if (c == nullptr) [[unlikely]] {
        auto made = std::make_unique<chunk>();
        if (place.compare_exchange_strong(c, made.get(), std::memory_order_acq_rel)) {
            c = made.release();
        }
    }
    return c->pages[number % pages_per_chunk];
}

bool shadow_slots::take(std::vector<slot*>& into, u64 count) {
    const std::lock_guard guard(mutex_);
    while (into.size() < count && !free_.empty()) {
        into.push_back(free_.back());
        free_.pop_back();
    }
    free_count_.store(free_.size(), std::memory_order_relaxed);
    return into.size() >= count;
}

void shadow_slots::give_back(slot& s) {
    const std::lock_guard guard(mutex_);
    free_.push_back(&s);
    free_count_.store(free_.size(), std::memory_order_relaxed);
}

u64 shadow_slots::bound() const {
    // So that the crash lab sees growth and consolidation in short runs.
    if constexpr (crashes_throw) return first_slot_pages(region_.max_pages()) + 1;
    u64 pages = 0;
    for (const segment& s : region_.segments()) {
        const bool has_lines = s.kind == segment_kind::heap || s.kind == segment_kind::memory;
        if (has_lines) pages += s.pages;
    }
    return std::max(first_slot_pages(region_.max_pages()),
                    std::min(pages, region_.max_pages() / 2));
}

bool shadow_slots::is_too_early(u64 more_pages) const noexcept {
    if constexpr (crashes_throw) return false;  // as in bound()
    const u64 used = region_.size() / layout::page_size + more_pages;
    return 2 * used > region_.max_pages() &&
           consolidated_.load(std::memory_order_relaxed) < consolidations_per_slot * total();
}

bool shadow_slots::grow(growth when) {
    const std::lock_guard guard(mutex_);
    if (!free_.empty()) return true;  // another thread was first
    const u64 now = total() / slot_segment::slots_per_page;
    const u64 most = bound();
    // A segment's table takes a page of 64 KiB: in a small region, few segments are better.
    const u64 least = std::clamp<u64>(kept_for_slots(region_.max_pages()) - 2, 2, max_first_pages);
    const u64 pages = std::min({std::max(now, least), max_slot_growth, most - std::min(most, now),
                                pages_left_for_slots(region_)});
    if (pages < 2 || (when == growth::after_consolidations && is_too_early(pages))) {
        is_at_bound_.store(true, std::memory_order_relaxed);
        return false;
    }
    auto grown = region_.grow(segment_kind::slots, pages, 0);
    is_at_bound_.store(!grown.has_value(), std::memory_order_relaxed);
    if (!grown) return false;
    adopt(*grown);
    consolidated_.store(0, std::memory_order_relaxed);
    return true;
}

// T1 of shadow/state_table.hpp: the page's name last. No bit is set before a record is durable,
// so the entry says no more than that all lines are at home.
void shadow_slots::attach(slot& s, page& p, u64 number) noexcept {
    HF_ASSERT(p.second.load(std::memory_order_relaxed) == nullptr, "SS1: a page has two slots");
    s.entry->slot.store(s.number, std::memory_order_release);
    s.entry->set_committed(0);
    s.entry->name.store(shadow::entry_name(number, s.number), std::memory_order_release);
    s.page.store(number, std::memory_order_relaxed);
    p.slot_number = s.number;
    p.memory = s.memory;
    p.entry = s.entry;
    p.committed = 0;
    p.noted_in = 0;
    p.second.store(&s, std::memory_order_release);
}

void shadow_slots::detach(page& p) noexcept {
    slot* const s = p.second.load(std::memory_order_relaxed);
    HF_ASSERT(s != nullptr, "SS1: a page without a slot gives it up");
    p.entry->name.store(0, std::memory_order_release);
    s->page.store(no_page, std::memory_order_relaxed);
    p.second.store(nullptr, std::memory_order_release);
}

// An entry changes with each commit to its page. It is written back once in an epoch, at its end.
// Beyond a number that would lengthen the end, entries are written back by the batch.
void shadow_slots::note(page& p, lane& mine) noexcept {
    if (p.noted_in == mine.epoch) return;
    if (mine.sticky().size() >= max_noted_entries) return mine.note_line_once(p.entry);
    mine.note_sticky(p.entry, sizeof(slot_entry));
    p.noted_in = mine.epoch;
}

shadow_slots::slot* shadow_slots::next_victim() {
    const std::lock_guard guard(mutex_);
    // Twice around: the first time may do no more than clear the marks.
    for (u64 steps = 0; steps < 2 * total() && !groups_.empty(); ++steps) {
        group& g = groups_[hand_group_];
        slot& s = g.slots[hand_];
        if (++hand_ == g.count) {
            hand_ = 0;
            hand_group_ = (hand_group_ + 1) % groups_.size();
        }
        const u64 number = s.page.load(std::memory_order_relaxed);
        if (number == no_page) continue;
        page& p = of(number);
        if (!p.recent.load(std::memory_order_relaxed)) return &s;
        p.recent.store(false, std::memory_order_relaxed);
    }
    return nullptr;
}

}  // namespace hf
