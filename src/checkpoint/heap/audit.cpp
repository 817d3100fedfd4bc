#include "checkpoint/heap/audit.hpp"

namespace hf {

namespace {

std::string text_of(u64 n) { return std::to_string(n); }

}  // namespace

const char* rolled_back_view::name_of(block_state s) const {
    switch (s) {
        case block_state::free:
            return "in a list of free blocks";
        case block_state::fresh:
            return "behind a bump pointer";
        default:
            return "unknown";
    }
}

// ------------------------------------------------------------------------------------------- runs

std::optional<audit_view::bounds> rolled_back_view::look_at(const segment& s, bool first,
                                                            audit_report& report) {
    const auto& h = at<heap_segment>(s.offset);
    if (h.magic == 0 && !first) {  // grown, but the process ended before it was laid out
        report.heap.untouched_pages += s.pages;
        return std::nullopt;
    }
    const u64 usable = descriptor_pages(s.pages);
    if (h.magic != heap_segment::magic_value || h.first_usable != usable) {
        report.add(s.offset, "the header of a heap segment is damaged");
        report.mark_incomplete();
        return std::nullopt;
    }
    const u64 stamp = h.frontier.epoch.load(std::memory_order_acquire);
    if (stamp > current_) {
        report.add(s.offset, "the segment's frontier is stamped with epoch " + text_of(stamp) +
                                 ", but it is only " + text_of(current_));
    }
    const auto& word = failed_.contains(stamp) ? h.frontier.before[0] : h.frontier.now[0];
    const u64 frontier = word.load(std::memory_order_acquire);
    if (first && usable < s.pages) {
        layout_ = at<heap_root>(s.offset + usable * page_size).probable_layout();
    }
    const u64 of_root = first ? (layout_ ? layout_->pages() : 1) : 0;
    if (frontier < usable + of_root || frontier > s.pages) {
        report.add(s.offset,
                   "the segment's frontier, page " + text_of(frontier) + ", lies outside of it");
        report.mark_incomplete();
        return std::nullopt;
    }
    if (first) {
        first_ = s;
        root_offset_ = s.offset + usable * page_size;
    }
    return bounds{usable, frontier};
}

u64 rolled_back_view::descriptor_of(const segment& s, u64 page) const {
    return s.offset + sizeof(heap_segment) + page * sizeof(compact_cell);
}

page_run rolled_back_view::run_at(const segment& s, u64 page) const {
    return page_run::unpack(at<compact_cell>(descriptor_of(s, page)).read(failed_, current_));
}

void rolled_back_view::check_run(const segment& s, u64 page, const page_run& run,
                                 audit_report& report) {
    const u64 offset = s.offset + page * page_size;
    const bool is_system = run.use == page_use::system;
    if (is_system && (offset != root_offset_ || (layout_ && run.pages != layout_->pages()))) {
        report.add(offset, "a run of the heap's own pages where none belongs");
    }
    if (!is_system && offset == root_offset_) {
        report.add(descriptor_of(s, page),
                   "the pages of the heap's root are not marked as its own");
    }
}

// ------------------------------------------------------------------------------------------- lists

std::optional<audit_view::own_room> rolled_back_view::founding() const {
    if (root() == nullptr) return std::nullopt;
    return own_room{root_offset_ + layout_->founding, founding_bytes};
}

const heap_root* rolled_back_view::root() const noexcept {
    // Where no first segment was found, it has no bytes.
    if (!layout_) return nullptr;
    const u64 behind = root_offset_ - first_.offset + layout_->pages() * page_size;
    return behind <= first_.bytes() ? &at<heap_root>(root_offset_) : nullptr;
}

bool rolled_back_view::was_undone(const class_lists& g) const noexcept {
    return failed_.contains(g.lists.epoch.load(std::memory_order_acquire));
}

u64 rolled_back_view::list_value(const class_lists& g, unsigned which) const noexcept {
    return (was_undone(g) ? g.lists.before : g.lists.now)[which].load(std::memory_order_acquire);
}

void rolled_back_view::read_counters(heap_audit& audit) {
    audit_report& report = audit.report();
    const heap_root* heap = root();
    if (heap == nullptr) return;
    const u32 in_set = layout_->lists_in_set();
    for (u32 c = 0; c < in_set; ++c) {
        std::int64_t sum = 0;
        for (u64 set = 0; set < layout_->sets; ++set) {
            const class_lists& g = heap->lists(*layout_)[set * in_set + c];
            const u64 word = g.live.load(std::memory_order_acquire) >> (was_undone(g) ? 32 : 0);
            sum += static_cast<std::int32_t>(static_cast<u32>(word));
        }
        if (sum < 0) {
            report.add(root_offset_,
                       "more blocks of size class " + text_of(c) + " were freed than handed out");
            sum = 0;
        }
        const u64 count = static_cast<u64>(sum);
        (c + 1 == in_set ? report.heap.extent_pages_handed_out
                         : report.heap.classes[c].handed_out) = count;
    }
    if (heap->counts_objects > 1) {
        report.add(region_.offset_of(&heap->counts_objects),
                   "whether objects are counted is neither yes nor no");
    }
    if (heap->counts_objects != 1) return;
    u64 objects = 0;
    for (u64 set = 0; set < layout_->sets; ++set) {
        objects +=
            list_value(heap->lists(*layout_)[set * in_set + in_set - 1], class_lists::objects);
    }
    report.heap.objects = objects;
}

void rolled_back_view::read_free(heap_audit& audit) {
    audit_report& report = audit.report();
    const heap_root* heap = root();
    if (heap == nullptr || !heap->layout()) {
        report.add(root_offset_, "the page with the heap's lists is damaged");
        report.mark_incomplete();
        if (heap == nullptr) return;
    }
    audit.set_classes(layout_->classes);
    if (heap->has_stand_ins()) audit.let_larger_stand_in();
    read_counters(audit);
    const u32 in_set = layout_->lists_in_set();
    for (u32 set = 0; set < layout_->sets; ++set) {
        for (u32 c = 0; c < in_set; ++c) {
            read_group(audit, heap->lists(*layout_)[u64{set} * in_set + c], set,
                       c + 1 == in_set ? extent_class : c);
        }
    }
}

void rolled_back_view::read_group(heap_audit& audit, const class_lists& g, u32 set,
                                  u32 size_class) {
    const u64 from = region_.offset_of(&g);
    const u64 stamp = g.lists.epoch.load(std::memory_order_acquire);
    if (stamp > current_) {
        audit.report().add(from, "the lists of set " + text_of(set) + ", class " +
                                     text_of(size_class) + " are stamped with epoch " +
                                     text_of(stamp) + ", but it is only " + text_of(current_));
    }
    const u64 free = list_value(g, class_lists::free);
    const u64 pending = list_value(g, class_lists::pending);
    const u64 bump = list_value(g, class_lists::bump);
    if (size_class == extent_class) {
        static_assert(class_lists::objects == class_lists::free);
        if ((pending | bump) != 0) audit.report().add(from, "extents have a list");
        return;
    }
    for (const bool waiting : {false, true}) {
        read_chain(audit, waiting ? pending : free, size_class, from, waiting);
    }
    read_bump(audit, bump, size_class, from);
}

void rolled_back_view::read_chain(heap_audit& audit, u64 head, u32 size_class, u64 from,
                                  bool pending) {
    audit_report& report = audit.report();
    auto& figures = report.heap.classes[size_class];
    for (u64 block = head; block != 0;) {
        const auto p = audit.locate(block + block_header_size);
        if (!p || p->extent || audit.class_of(*p) != size_class) {
            report.add(from, "a list of free " + text_of(block_size(size_class)) +
                                 "-byte blocks leads to offset " + text_of(block) +
                                 ", where none is");
            report.mark_incomplete();
            return;
        }
        if (audit.state_of(*p) != block_state::unseen) {
            report.add(from, "a list of free " + text_of(block_size(size_class)) +
                                 "-byte blocks leads to the block at offset " + text_of(block) +
                                 ", which is " + audit.name_of(audit.state_of(*p)) + " already");
            report.mark_incomplete();
            return;
        }
        audit.set_free(*p, block_state::free);
        ++(pending ? figures.pending : figures.free);
        from = block;
        block = at<compact_cell>(block).read(failed_, current_) << 4;
    }
}

void rolled_back_view::read_bump(heap_audit& audit, u64 word, u32 size_class, u64 from) {
    if (word == 0) return;
    audit_report& report = audit.report();
    const u64 left = word >> 48;
    const u64 block = word & ((u64{1} << 48) - 1);
    const auto p = audit.locate(block + block_header_size);
    if (!p || p->extent || audit.class_of(*p) != size_class ||
        p->block + left != slab_blocks(size_class)) {
        report.add(from, "a bump pointer names " + text_of(left) + " blocks of " +
                             text_of(block_size(size_class)) + " bytes at offset " +
                             text_of(block) + ", where they are not");
        report.mark_incomplete();
        return;
    }
    for (u64 i = 0; i < left; ++i) {
        heap_audit::place each = *p;
        each.block += static_cast<u32>(i);
        if (audit.state_of(each) != block_state::unseen) {
            report.add(from, "the block at offset " + text_of(block + i * block_size(size_class)) +
                                 " is behind a bump pointer, and " +
                                 audit.name_of(audit.state_of(each)));
            continue;
        }
        audit.set_free(each, block_state::fresh);
        ++report.heap.classes[size_class].fresh;
    }
}

void rolled_back_view::finish(heap_audit& audit) {
    audit_report& report = audit.report();
    for (u32 c = 0; c < block_classes; ++c) {
        const auto& of_class = report.heap.classes[c];
        // Leaked blocks were counted when they were handed out.
        if (of_class.handed_out == of_class.claimed + of_class.leaked) continue;
        report.add(root_offset_, "the counters say that " + text_of(of_class.handed_out) +
                                     " blocks of " + text_of(block_size(c)) +
                                     " bytes are handed out, found were " +
                                     text_of(of_class.claimed + of_class.leaked));
    }
    if (report.heap.extent_pages_handed_out != report.heap.extent_pages) {
        report.add(root_offset_, "the counters say that " +
                                     text_of(report.heap.extent_pages_handed_out) +
                                     " pages of extents are handed out, found were " +
                                     text_of(report.heap.extent_pages));
    }
}

}  // namespace hf
