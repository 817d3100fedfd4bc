#include "alloc/committed_heap.hpp"
#include "base/check.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>

namespace hf {

using committed::slab;
using committed::word_change;

namespace {

/// Prefetch distance of settle().
constexpr std::size_t items_ahead = 8;

}  // namespace

heap_batch::~heap_batch() {
    if (state_ == state::open) cancel();
}

result<u64> heap_batch::reserve(u64 size) {
    HF_CHECK(state_ == state::open, "a batch that has been logged takes no more");
    item added{0, {}, 0, fate::reserved};
    if (size > largest_block) {
        added.pages = pages_of(size);
        const auto offset = heap_.take_extent(added.pages);
        if (!offset) return offset;
        added.offset = *offset;
    } else {
        const auto b = heap_.take_block(shard_, class_of_block(size));
        if (!b) return tl::unexpected(b.error());
        added.of = *b;
        added.offset = b->of->block_at(b->number);
    }
    items_.push_back(added);
    return added.offset;
}

void heap_batch::release(u64 offset, u64 size) {
    HF_CHECK(state_ == state::open, "a batch that has been logged frees no more");
    item added{offset, {}, 0, fate::freed};
    bool was_owned = false;
    if (size > largest_block) {
        added.pages = pages_of(size);
        was_owned = heap_.space_.release_extent(offset, added.pages);
    } else {
        slab* s = heap_.space_.slab_of(offset);
        HF_CHECK(s != nullptr && s->size_class == class_of_block(size) &&
                     (offset - s->offset) % block_size(s->size_class) == 0,
                 "what is freed is no block of this size");
        added.of = {s, static_cast<u32>((offset - s->offset) / block_size(s->size_class))};
        HF_CHECK(added.of.number < s->blocks, "what is freed is no block of this size");
        was_owned = heap_.release_block(added.of);
    }
    if (was_owned) {
        items_.push_back(added);
        return;
    }
    const auto mine = std::find_if(items_.rbegin(), items_.rend(), [&](const item& i) {
        return i.offset == offset && i.what == fate::reserved;
    });
    HF_CHECK(mine != items_.rend() && mine->pages == added.pages,
             "what is freed is not handed out, or is freed twice");
    mine->what = fate::given_up;
}

void heap_batch::add_changes(const item& i) {
    if (i.what == fate::given_up) return;
    if (i.of.of == nullptr) {
        const u64 value = i.what == fate::freed ? 0 : page_run{page_use::extent, 0, i.pages}.pack();
        changes_.push_back({heap_.space_.descriptor_at(i.offset), ~u64{0}, value});
        return;
    }
    const slab& s = *i.of.of;
    const u64 bit = u64{1} << (i.of.number % 64);
    const u64 at = s.bits + i.of.number / 64 * 8;
    if (i.what == fate::freed) {
        changes_.push_back({at, bit, 0});
        return;
    }
    changes_.push_back({at, 0, bit});
    if (s.durable.load(std::memory_order_acquire) != slab::stage::settled) {
        const page_run run{page_use::slab, s.size_class, slab_pages(s.size_class)};
        changes_.push_back({s.descriptor, ~u64{0}, run.pack()});
    }
}

std::span<const word_change> heap_batch::changes() {
    if (state_ != state::open) return changes_;
    state_ = state::logged;
    for (const item& i : items_) add_changes(i);
    if (changes_.size() < 2) return changes_;
    std::ranges::sort(changes_, {}, &word_change::offset);
    std::size_t last = 0;  // the last merged one; the first is merged with itself
    for (const word_change& c : changes_) {
        if (changes_[last].offset == c.offset) {
            changes_[last].clear |= c.clear;
            changes_[last].set |= c.set;
        } else {
            changes_[++last] = c;
        }
    }
    changes_.resize(last + 1);
    return changes_;
}

void heap_batch::apply() {
    HF_CHECK(state_ == state::logged, "a batch is logged before it is applied");
    HF_PERSIST_POINT("alloc C1: entry and commit record are durable before a word changes");
    for (const word_change& c : changes_) {
        committed::change_word(*heap_.region_.at<committed::word>(c.offset), c);
    }
    for (const item& i : items_) {
        if (i.of.of == nullptr || i.what != fate::reserved) continue;
        auto absent = slab::stage::absent;
        if (i.of.of->durable.load(std::memory_order_relaxed) != absent) continue;
        i.of.of->durable.compare_exchange_strong(absent, slab::stage::committed);
    }
    state_ = state::applied;
}

void heap_batch::write_back() const {
    for (const word_change& c : changes_) {
        heap_.region_.med().flush_line(heap_.region_.at<committed::word>(c.offset));
    }
}

void heap_batch::give_back(const item& i) {
    if (i.of.of != nullptr) {
        heap_.free_block(i.of);
    } else if (i.what == fate::freed) {
        heap_.space_.free_extent(i.offset, i.pages);
    } else {
        heap_.space_.give_back(i.offset, i.pages);
    }
}

void heap_batch::join(heap_batch& applied) {
    HF_CHECK(applied.state_ == state::applied && (state_ == state::applied || items_.empty()),
             "batches are applied before they are settled together");
    for (const item& i : applied.items_) {
        const bool is_needed =
            i.what != fate::reserved ||
            (i.of.of != nullptr && i.of.of->durable.load() != slab::stage::settled);
        if (is_needed) items_.push_back(i);
    }
    state_ = state::applied;
    applied.clear();
}

void heap_batch::settle() {
    HF_CHECK(state_ == state::applied, "a batch is applied before it is settled");
    HF_PERSIST_POINT("alloc C3: the log's entry is gone before what it freed is handed out");
    for (std::size_t n = 0; n < items_.size(); ++n) {
        // A batch may join many transactions, with slabs in random order: their state is not
        // cached.
        if (n + items_ahead < items_.size()) {
            const committed_heap::block& soon = items_[n + items_ahead].of;
            if (soon.of != nullptr) soon.of->prefetch(soon.number);
        }
        const item& i = items_[n];
        if (i.what != fate::reserved) {
            give_back(i);
        } else if (i.of.of != nullptr) {
            i.of.of->durable.store(slab::stage::settled, std::memory_order_release);
        }
    }
    clear();
}

void heap_batch::cancel() {
    HF_CHECK(state_ != state::applied, "a batch that is applied is committed");
    for (const item& i : items_) {
        if (i.what != fate::freed) {
            give_back(i);
        } else if (i.of.of != nullptr) {
            heap_.keep_block(i.of);
        } else {
            heap_.space_.keep_extent(i.offset);
        }
    }
    clear();
}

void heap_batch::clear() noexcept {
    items_.clear();
    changes_.clear();
    state_ = state::open;
}

}  // namespace hf
