#include "alloc/audit.hpp"

#include <algorithm>
#include <utility>

namespace hf {

namespace {

std::string text_of(u64 n) { return std::to_string(n); }

const char* name_of(u8 s) noexcept {
    switch (s) {
        case 1:
            return "in a list of free blocks";
        case 2:
            return "behind a bump pointer";
        case 3:
            return "owned by another reference";
        default:
            return "unknown";
    }
}

}  // namespace

// ------------------------------------------------------------------------------------------ report

u64 heap_figures::handed_out_bytes() const noexcept {
    u64 bytes = extent_pages_handed_out * page_size;
    for (u32 c = 0; c < block_classes; ++c) bytes += classes[c].handed_out * block_size(c);
    return bytes;
}

u64 heap_figures::idle_slab_bytes() const noexcept {
    u64 used = 0;
    for (u32 c = 0; c < block_classes; ++c) used += classes[c].handed_out * block_size(c);
    return slab_pages * page_size - std::min(used, slab_pages * page_size);
}

void audit_report::add(u64 offset, std::string text) {
    ++count_;
    if (kept_.size() < most_kept) kept_.push_back({offset, std::move(text)});
}

std::string audit_report::to_string() const {
    std::string all;
    for (const violation& v : kept_) all += "offset " + text_of(v.offset) + ": " + v.text + "\n";
    if (count_ > kept_.size()) all += "and " + text_of(count_ - kept_.size()) + " more\n";
    return all;
}

// ------------------------------------------------------------------------------------------- runs

heap_audit::heap_audit(const region& r, const failed_set& failed, u64 current_epoch,
                       audit_report& report)
    : region_(r), failed_(failed), current_(current_epoch), report_(report) {}

void heap_audit::read_runs() {
    for (const segment& s : region_.segments()) {
        if (s.kind == segment_kind::heap) read_segment(s, spans_.empty());
    }
    if (spans_.empty()) report_.add(0, "the region has no heap segment");
    states_.assign((blocks_ + 3) / 4, 0);
}

void heap_audit::read_segment(const segment& s, bool first) {
    span& mine = spans_.emplace_back(span{s.offset, s.pages, {}});
    mine.run_of_page.assign(s.pages, no_run);
    ++report_.heap.segments;
    report_.heap.pages += s.pages;
    const auto& h = at<heap_segment>(s.offset);
    if (h.magic == 0 && !first) {  // grown, but the process ended before it was laid out
        report_.heap.untouched_pages += s.pages;
        return;
    }
    const u64 usable = descriptor_pages(s.pages);
    if (h.magic != heap_segment::magic_value || h.first_usable != usable) {
        report_.add(s.offset, "the header of a heap segment is damaged");
        report_.mark_incomplete();
        return;
    }
    const u64 stamp = h.frontier.epoch.load(std::memory_order_acquire);
    if (stamp > current_) {
        report_.add(s.offset, "the segment's frontier is stamped with epoch " + text_of(stamp) +
                                  ", but it is only " + text_of(current_));
    }
    const auto& word = failed_.contains(stamp) ? h.frontier.before[0] : h.frontier.now[0];
    const u64 frontier = word.load(std::memory_order_acquire);
    if (frontier < usable || frontier > s.pages) {
        report_.add(s.offset,
                    "the segment's frontier, page " + text_of(frontier) + ", lies outside of it");
        report_.mark_incomplete();
        return;
    }
    if (first) root_offset_ = s.offset + usable * page_size;
    report_.heap.system_pages += usable;
    report_.heap.untouched_pages += s.pages - frontier;
    for (u64 page = usable; page < frontier;) {
        const u64 descriptor = s.offset + sizeof(heap_segment) + page * sizeof(compact_cell);
        const auto what = read_run(descriptor, page, frontier);
        if (!what) {
            report_.mark_incomplete();
            return;
        }
        add_run(mine, page, *what);
        if (first && page == usable && what->use != page_use::system) {
            report_.add(descriptor, "the pages of the heap's root are not marked as its own");
        }
        page += what->pages;
    }
}

/// A run that is possible where it stands; nullopt (and a violation) when it is not.
std::optional<page_run> heap_audit::read_run(u64 descriptor, u64 page, u64 end) {
    const u64 value = at<compact_cell>(descriptor).read(failed_, current_);
    const page_run what = page_run::unpack(value);
    const auto bad = [&](const std::string& why) -> std::optional<page_run> {
        report_.add(descriptor, "the descriptor of page " + text_of(page) + " " + why +
                                    "; the rest of the segment cannot be walked");
        return std::nullopt;
    };
    if (what.use > page_use::system) {
        return bad("has the unknown use " + text_of(static_cast<u64>(what.use)));
    }
    if (what.pages > end - page) {
        return bad("claims " + text_of(what.pages) + " pages, more than there are");
    }
    if (what.use == page_use::slab) {
        if (what.size_class >= block_classes) {
            return bad("has the unknown size class " + text_of(what.size_class));
        }
        if (what.pages != hf::slab_pages(what.size_class)) {
            return bad("says that a slab of " + text_of(block_size(what.size_class)) +
                       "-byte blocks has " + text_of(what.pages) + " pages");
        }
    }
    return what;
}

void heap_audit::add_run(span& s, u64 page, const page_run& what) {
    const u64 offset = s.offset + page * page_size;
    heap_figures& figures = report_.heap;
    switch (what.use) {
        case page_use::free:
            ++figures.free_runs;
            figures.free_pages += what.pages;
            figures.largest_free_run = std::max(figures.largest_free_run, what.pages);
            break;
        case page_use::slab:
            figures.slab_pages += what.pages;
            figures.classes[what.size_class].slabs += 1;
            figures.classes[what.size_class].blocks += slab_blocks(what.size_class);
            break;
        case page_use::extent:
            ++figures.extents;
            figures.extent_pages += what.pages;
            break;
        case page_use::system:
            figures.system_pages += what.pages;
            if (offset != root_offset_ || what.pages != heap_root_pages) {
                report_.add(offset, "a run of the heap's own pages where none belongs");
            }
            break;
    }
    const auto index = static_cast<u32>(runs_.size());
    std::fill_n(s.run_of_page.begin() + static_cast<std::ptrdiff_t>(page), what.pages, index);
    runs_.push_back({offset, what, blocks_});
    blocks_ += what.use == page_use::slab ? slab_blocks(what.size_class) : 1;
}

const heap_audit::span* heap_audit::span_of(u64 offset) const noexcept {
    const auto it = std::upper_bound(spans_.begin(), spans_.end(), offset,
                                     [](u64 o, const span& s) { return o < s.offset; });
    if (it == spans_.begin()) return nullptr;
    const span& s = *std::prev(it);
    return offset - s.offset < s.pages * page_size ? &s : nullptr;
}

bool heap_audit::is_unknown(u64 offset) const noexcept {
    const span* s = span_of(offset);
    if (s == nullptr || report_.complete()) return false;
    const u64 page = (offset - s->offset) / page_size;
    return page >= descriptor_pages(s->pages) && s->run_of_page[page] == no_run;
}

std::optional<heap_audit::place> heap_audit::locate(u64 payload_offset) const noexcept {
    const span* s = span_of(payload_offset);
    if (s == nullptr) return std::nullopt;
    const u32 index = s->run_of_page[(payload_offset - s->offset) / page_size];
    if (index == no_run) return std::nullopt;
    const run& r = runs_[index];
    if (payload_offset - r.offset < block_header_size) return std::nullopt;
    const u64 in_run = payload_offset - block_header_size - r.offset;
    if (r.what.use == page_use::extent) {
        if (in_run != 0) return std::nullopt;
        return place{payload_offset, r.what.pages * page_size - block_header_size, index, 0, true};
    }
    if (r.what.use == page_use::system) {
        const u64 founding = root_offset_ + offsetof(heap_root, founding) + block_header_size;
        if (root_offset_ == 0 || payload_offset != founding) return std::nullopt;
        return place{payload_offset, founding_bytes - block_header_size, index, 0, false};
    }
    if (r.what.use != page_use::slab) return std::nullopt;
    const u32 size = block_size(r.what.size_class);
    if (in_run % size != 0 || in_run / size >= slab_blocks(r.what.size_class)) return std::nullopt;
    return place{payload_offset, size - block_header_size, index, static_cast<u32>(in_run / size),
                 false};
}

bool heap_audit::is_block_of(const place& p, u32 size_class) const noexcept {
    const page_run& what = runs_[p.run].what;
    return what.use == page_use::slab && what.size_class == size_class;
}

bool heap_audit::fits(const place& p, u64 payload) const noexcept {
    if (payload > p.room) return false;
    const page_run& what = runs_[p.run].what;
    if (what.use == page_use::system) return true;
    if (p.extent) return is_large(payload) && hf::extent_pages(payload) == what.pages;
    return class_of_block(payload + block_header_size) == what.size_class;
}

// ------------------------------------------------------------------------------------------- lists

heap_audit::state heap_audit::state_of(u64 index) const noexcept {
    return static_cast<state>(states_[index / 4] >> (2 * (index % 4)) & 3);
}

void heap_audit::set_state(u64 index, state s) noexcept {
    u8& byte = states_[index / 4];
    const auto shift = static_cast<unsigned>(2 * (index % 4));
    byte = static_cast<u8>((byte & ~(3U << shift)) | static_cast<unsigned>(s) << shift);
}

const heap_root* heap_audit::root() const noexcept {
    if (root_offset_ == 0) return nullptr;
    const span& first = spans_.front();
    const u64 behind = root_offset_ - first.offset + heap_root_pages * page_size;
    return behind <= first.pages * page_size ? &at<heap_root>(root_offset_) : nullptr;
}

u64 heap_audit::list_value(const class_lists& g, unsigned which) const noexcept {
    const bool undone = failed_.contains(g.lists.epoch.load(std::memory_order_acquire));
    return (undone ? g.lists.before : g.lists.now)[which].load(std::memory_order_acquire);
}

void heap_audit::read_counters() {
    const heap_root* heap = root();
    if (heap == nullptr) return;
    for (u32 c = 0; c < accounted_classes; ++c) {
        std::int64_t sum = 0;
        for (const lane_lists& lane : heap->lanes) {
            const class_lists& g = lane.classes[c];
            const bool undone = failed_.contains(g.lists.epoch.load(std::memory_order_acquire));
            const u64 word = g.live.load(std::memory_order_acquire) >> (undone ? 32 : 0);
            sum += static_cast<std::int32_t>(static_cast<u32>(word));
        }
        if (sum < 0) {
            report_.add(root_offset_,
                        "more blocks of size class " + text_of(c) + " were freed than handed out");
            sum = 0;
        }
        const u64 count = static_cast<u64>(sum);
        (c == extent_class ? report_.heap.extent_pages_handed_out
                           : report_.heap.classes[c].handed_out) = count;
    }
}

void heap_audit::read_lists() {
    const heap_root* heap = root();
    if (heap == nullptr || heap->magic != heap_root::magic_value) {
        report_.add(root_offset_, "the page with the heap's lists is damaged");
        report_.mark_incomplete();
        if (heap == nullptr) return;
    }
    read_counters();
    for (u32 lane = 0; lane < max_lanes; ++lane) {
        for (u32 c = 0; c < accounted_classes; ++c) {
            const class_lists& g = heap->lanes[lane].classes[c];
            const u64 from = region_.offset_of(&g);
            const u64 stamp = g.lists.epoch.load(std::memory_order_acquire);
            if (stamp > current_) {
                report_.add(from, "the lists of lane " + text_of(lane) + ", class " + text_of(c) +
                                      " are stamped with epoch " + text_of(stamp) +
                                      ", but it is only " + text_of(current_));
            }
            const u64 free = list_value(g, class_lists::free);
            const u64 pending = list_value(g, class_lists::pending);
            const u64 bump = list_value(g, class_lists::bump);
            if (c == extent_class) {
                if ((free | pending | bump) != 0) report_.add(from, "extents have a list");
                continue;
            }
            read_chain(free, c, from, false);
            read_chain(pending, c, from, true);
            read_bump(bump, c, from);
        }
    }
}

void heap_audit::read_chain(u64 head, u32 size_class, u64 from, bool pending) {
    auto& figures = report_.heap.classes[size_class];
    for (u64 block = head; block != 0;) {
        const auto p = locate(block + block_header_size);
        if (!p || !is_block_of(*p, size_class)) {
            report_.add(from, "a list of free " + text_of(block_size(size_class)) +
                                  "-byte blocks leads to offset " + text_of(block) +
                                  ", where none is");
            report_.mark_incomplete();
            return;
        }
        const u64 index = runs_[p->run].first_state + p->block;
        if (state_of(index) != unseen) {
            report_.add(from, "a list of free " + text_of(block_size(size_class)) +
                                  "-byte blocks leads to the block at offset " + text_of(block) +
                                  ", which is " + name_of(state_of(index)) + " already");
            report_.mark_incomplete();
            return;
        }
        set_state(index, in_list);
        ++(pending ? figures.pending : figures.free);
        from = block;
        block = at<compact_cell>(block).read(failed_, current_) << 4;
    }
}

void heap_audit::read_bump(u64 word, u32 size_class, u64 from) {
    if (word == 0) return;
    const u64 left = word >> 48;
    const u64 block = word & ((u64{1} << 48) - 1);
    const auto p = locate(block + block_header_size);
    if (!p || !is_block_of(*p, size_class) || p->block + left != slab_blocks(size_class)) {
        report_.add(from, "a bump pointer names " + text_of(left) + " blocks of " +
                              text_of(block_size(size_class)) + " bytes at offset " +
                              text_of(block) + ", where they are not");
        report_.mark_incomplete();
        return;
    }
    const u64 first = runs_[p->run].first_state + p->block;
    for (u64 i = 0; i < left; ++i) {
        if (state_of(first + i) != unseen) {
            report_.add(from, "the block at offset " + text_of(block + i * block_size(size_class)) +
                                  " is behind a bump pointer, and " + name_of(state_of(first + i)));
            continue;
        }
        set_state(first + i, behind_bump);
        ++report_.heap.classes[size_class].fresh;
    }
}

// ------------------------------------------------------------------------------------------ owners

bool heap_audit::claim(const place& p, const char* what, u64 from) {
    const u64 index = runs_[p.run].first_state + p.block;
    const state before = state_of(index);
    if (before != unseen) {
        report_.add(from, std::string(what) + " at offset " + text_of(p.payload) +
                              " is referred to, but it is " + name_of(before));
        if (before == claimed) return false;
    }
    set_state(index, claimed);
    if (p.extent) {
        ++report_.heap.extents_claimed;
    } else if (runs_[p.run].what.use == page_use::slab) {
        ++report_.heap.classes[runs_[p.run].what.size_class].claimed;
    }
    return true;
}

void heap_audit::finish() {
    finish_slabs();
    if (report_.complete()) finish_counters();
}

void heap_audit::finish_slabs() {
    u64 lost = 0;
    u64 first_lost = 0;
    for (const run& r : runs_) {
        if (r.what.use == page_use::extent && state_of(r.first_state) == unseen) {
            if (!report_.complete()) {
                if (lost++ == 0) first_lost = r.offset;
                continue;
            }
            report_.add(r.offset, "an extent of " + text_of(r.what.pages) +
                                      " pages is handed out, but nothing refers to it");
        }
        if (r.what.use != page_use::slab) continue;
        const u32 blocks = slab_blocks(r.what.size_class);
        const u32 size = block_size(r.what.size_class);
        u64 leaked = 0;
        u64 first = 0;
        for (u32 i = 0; i < blocks; ++i) {
            if (state_of(r.first_state + i) != unseen) continue;
            if (leaked++ == 0) first = r.offset + u64{i} * size;
        }
        if (leaked == 0) continue;
        report_.heap.classes[r.what.size_class].leaked += leaked;
        if (!report_.complete()) {
            if (lost == 0) first_lost = first;
            lost += leaked;
            continue;
        }
        report_.add(first, text_of(leaked) + " of the " + text_of(blocks) + " " + text_of(size) +
                               "-byte blocks of the slab at offset " + text_of(r.offset) +
                               " are neither free nor referred to, the first of them here");
    }
    if (lost != 0) {
        report_.add(first_lost, text_of(lost) +
                                    " blocks cannot be accounted for, because not everything "
                                    "could be walked; the first of them here");
    }
}

void heap_audit::finish_counters() {
    for (u32 c = 0; c < block_classes; ++c) {
        const auto& of_class = report_.heap.classes[c];
        // Leaked blocks were counted when they were handed out.
        if (of_class.handed_out == of_class.claimed + of_class.leaked) continue;
        report_.add(root_offset_, "the counters say that " + text_of(of_class.handed_out) +
                                      " blocks of " + text_of(block_size(c)) +
                                      " bytes are handed out, found were " +
                                      text_of(of_class.claimed + of_class.leaked));
    }
    if (report_.heap.extent_pages_handed_out != report_.heap.extent_pages) {
        report_.add(root_offset_, "the counters say that " +
                                      text_of(report_.heap.extent_pages_handed_out) +
                                      " pages of extents are handed out, found were " +
                                      text_of(report_.heap.extent_pages));
    }
}

}  // namespace hf
