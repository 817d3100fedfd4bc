#include "index/masstree/inspection.hpp"

#include "discipline/registry.hpp"

#include <algorithm>
#include <utility>

namespace hf {

void inspection::refuse(error why) {
    if (!refusal_) refusal_ = std::move(why);
}

void inspection::refuse_contents() {
    const registry::row& r = *registry::find(file().kind());
    refuse({errc::incompatible, "inspect the region", file().path().string(),
            "its discipline is " + std::string(r.name) + ": " + std::string(r.contents),
            "inspect a region of discipline incll or logged"});
    seen_ = {};
}

inspection inspection::open(const std::filesystem::path& path, const root_name& tree) {
    inspection made;
    auto seen = checkpointed_region::look_at(path, masstree_rooms, masstree_upgrades);
    if (!seen) {
        made.refuse(std::move(seen.error()));
        return made;
    }
    made.seen_ = std::move(*seen);
    switch (made.file().kind()) {
        case discipline::logged:
            made.recover<logged_discipline>(tree);
            break;
        case discipline::incll:
            made.recover<incll_discipline>(tree);
            break;
        default:
            made.refuse_contents();
    }
    return made;
}

template <class D>
void inspection::recover(const root_name& tree) {
    fresh_ = file().super().generation == 0 && !file().find_root(tree.name);
    if (fresh_) return;  // created, but without heap and tree yet
    if (auto log = checkpoint().recover_log(); !log) refuse(std::move(log.error()));
    // The heap's recovery requires space for its first page.
    const auto segments = file().segments();
    const auto first = std::find_if(segments.begin(), segments.end(),
                                    [](const segment& s) { return s.kind == segment_kind::heap; });
    if (first == segments.end() || first->pages < descriptor_pages(first->pages) + 1) {
        refuse({errc::corrupt, "open the heap", file().path().string(),
                "its first heap segment is missing, or too small", "restore the file from a copy"});
    } else {
        heap<D> memory(checkpoint());
        if (auto heap = memory.recover(); !heap) refuse(std::move(heap.error()));
    }
    find_root(tree);
}

void inspection::find_root(const root_name& tree) {
    auto found = file().find_root(tree.name);
    if (!found) {
        error why = std::move(found.error());
        // not a usage error: the region has been in use, so the root existed
        why.code = errc::corrupt;
        refuse(std::move(why));
        return;
    }
    const region::root& root = **found;
    if (root.type != tree.type || !reads_root_format(root.format)) {
        refuse({errc::incompatible, "open the map", file().path().string(),
                "its root is of another type", "open it with the program that created it"});
        return;
    }
    root_ = root.value.load(std::memory_order_acquire);
    root_at_ = file().offset_of(&root.value);
    root_format_ = root.format;
}

audit_report inspection::audit(const audit_progress& progress, const record_visitor& visit) const {
    audit_report report;
    if (!fresh_) {
        report = file().kind() == discipline::incll
                     ? hf::audit<incll_discipline>(file(), checkpoint(), root_, root_at_, progress,
                                                   root_format_, visit)
                     : hf::audit<logged_discipline>(file(), checkpoint(), root_, root_at_, progress,
                                                    root_format_, visit);
    }
    if (!file().damage().empty()) report.add(0, file().damage());
    return report;
}

}  // namespace hf
