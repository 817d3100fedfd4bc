#include "index/masstree/inspection.hpp"

#include <algorithm>
#include <utility>

namespace hf {

void inspection::refuse(error why) {
    if (!refusal_) refusal_ = std::move(why);
}

inspection inspection::open(const std::filesystem::path& path, const root_name& tree) {
    inspection made;
    region_options options;
    options.mode = open_mode::inspect;
    auto opened = open_region(path, {.file = options, .rooms = masstree_rooms});
    if (!opened) {
        made.refuse(std::move(opened.error()));
        return made;
    }
    made.file_ = std::move(opened->file);
    domain_options no_clock;
    no_clock.epoch = std::chrono::microseconds(0);
    auto epochs = domain::open(*made.file_, no_clock);
    if (!epochs) {
        made.refuse(std::move(epochs.error()));
        return made;
    }
    made.epochs_ = std::move(*epochs);
    switch (made.file_->kind()) {
        case discipline::logged:
            made.recover<logged_discipline>(tree);
            break;
        case discipline::incll:
            made.recover<incll_discipline>(tree);
            break;
        case discipline::transient:
            made.refuse({errc::incompatible, "inspect the region", path.string(),
                         "its discipline is transient: nothing in it outlives its process",
                         "inspect a region of discipline incll or logged"});
            made.epochs_.reset();
            break;
        case discipline::snapshot:
            made.refuse({errc::incompatible, "inspect the region", path.string(),
                         "its discipline is snapshot: only its program knows what it holds",
                         "inspect a region of discipline incll or logged"});
            made.epochs_.reset();
            break;
    }
    return made;
}

template <class D>
void inspection::recover(const root_name& tree) {
    fresh_ = file_->super().generation == 0 && !file_->find_root(tree.name);
    if (fresh_) return;  // made, but not yet laid out
    if (auto log = epochs_->recover_log(); !log) refuse(std::move(log.error()));
    // The heap's own recovery relies on room for its first page.
    const auto segments = file_->segments();
    const auto first = std::find_if(segments.begin(), segments.end(),
                                    [](const segment& s) { return s.kind == segment_kind::heap; });
    if (first == segments.end() ||
        first->pages < descriptor_pages(first->pages) + heap_root_pages) {
        refuse({errc::corrupt, "open the heap", file_->path().string(),
                "its first heap segment is missing, or too small", "restore the file from a copy"});
    } else {
        heap<D> memory(*epochs_);
        if (auto heap = memory.recover(); !heap) refuse(std::move(heap.error()));
    }
    find_root(tree);
}

void inspection::find_root(const root_name& tree) {
    auto found = file_->find_root(tree.name);
    if (!found) {
        error why = std::move(found.error());
        why.code = errc::corrupt;  // it was there once: the region has been in use
        refuse(std::move(why));
        return;
    }
    const region::root& root = **found;
    if (root.type != tree.type || root.format != masstree_format.version) {
        refuse({errc::incompatible, "open the map", file_->path().string(),
                "its root is of another type", "open it with the program that created it"});
        return;
    }
    root_ = root.value.load(std::memory_order_acquire);
    root_at_ = file_->offset_of(&root.value);
}

audit_report inspection::audit(const audit_progress& progress) const {
    audit_report report;
    if (!fresh_) {
        report = file_->kind() == discipline::incll
                     ? hf::audit<incll_discipline>(*file_, *epochs_, root_, root_at_, progress)
                     : hf::audit<logged_discipline>(*file_, *epochs_, root_, root_at_, progress);
    }
    if (!file_->damage().empty()) report.add(0, file_->damage());
    return report;
}

}  // namespace hf
