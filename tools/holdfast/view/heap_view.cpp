#include "view/heap_view.hpp"

#include "alloc/committed/audit_view.hpp"
#include "checkpoint/heap/audit.hpp"
#include "checkpoint/opening.hpp"
#include "eager_map/inspection.hpp"
#include "heap/look.hpp"
#include "index/masstree/formats.hpp"
#include "quantity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hf::tool {

result<heap_view> heap_view::read_objects(const std::filesystem::path& path) {
    const auto look = nv::heap_look::open(path);
    if (!look) return tl::unexpected(look.error());
    heap_view v;
    committed::view books(look->file());
    heap_audit heap(look->file(), books, v.report_);
    heap.read_runs();
    heap.read_counters();
    return v;
}

result<heap_view> heap_view::read_none(const std::filesystem::path& path) {
    region_options look;
    look.mode = open_mode::inspect;
    const auto opened = open_region(path, look);
    if (!opened) return tl::unexpected(opened.error());
    heap_view v;
    v.has_heap_ = false;
    return v;
}

result<heap_view> heap_view::read_map(const std::filesystem::path& path) {
    const auto seen = checkpointed_region::look_at(path);
    if (!seen) return tl::unexpected(seen.error());
    heap_view v;
    if (auto ok = check_formats(seen->file(), masstree_rooms, masstree_upgrades); !ok) {
        return tl::unexpected(ok.error());
    }
    v.holds_map_ = layout::version_of(seen->file().super(), layout::name_of(masstree_format)) != 0;
    v.fresh_ = seen->file().super().generation == 0;
    if (v.fresh_) return v;
    rolled_back_audit heap(seen->file(), seen->checkpoint().failed(),
                           seen->epochs().current_epoch(), v.report_);
    heap.read_runs();
    heap.read_counters();
    return v;
}

/// An eager region does not record its allocated blocks.
result<heap_view> heap_view::read_eager(const std::filesystem::path& path) {
    const auto looked = eager_inspection::open(path);
    if (looked.refusal()) return failure(*looked.refusal());
    heap_view v;
    v.index_ = looked.index();
    v.keys_ = looked.keys();
    v.report_.heap = looked.heap();
    v.counted_ = looked.counted_records();
    return v;
}

void heap_view::add_eager_to(sheet& s) const {
    const heap_figures& heap = report_.heap;
    s.title("map");
    s.line("index", index_);
    s.line("keys", keys_);
    s.line("records", counted_ ? human_count(*counted_) : "not counted: `holdfast check` does");
    s.title("heap");
    s.line("in slabs", human_size(heap.slab_pages * page_size));
    s.line("large extents", fmt::format("{} of {} in all", human_count(heap.extents),
                                        human_size(heap.extent_pages * page_size)));
    s.line("for anything", human_size(heap.spare_bytes()));
    s.line("own use", human_size(heap.system_pages * page_size));
}

void add_heap(sheet& s, const heap_figures& heap) {
    s.title("heap");
    u64 blocks = 0;
    for (const auto& c : heap.classes) blocks += c.handed_out;
    s.line("handed out",
           fmt::format("{} in {} blocks and {} large extents", human_size(heap.handed_out_bytes()),
                       human_count(blocks), human_count(heap.extents)));
    s.line("in slabs",
           fmt::format("{}, of which {} not handed out", human_size(heap.slab_pages * page_size),
                       human_share(heap.idle_slab_bytes(), heap.slab_pages * page_size)));
    s.line("fragmentation",
           fmt::format("{}: {} of {} serve blocks of one size alone",
                       human_share(heap.idle_slab_bytes(), heap.taken_bytes()),
                       human_size(heap.idle_slab_bytes()), human_size(heap.taken_bytes())));
    s.line("for anything", human_size(heap.spare_bytes()));
    s.line("free runs", fmt::format("{} of {} in all, the largest {}", human_count(heap.free_runs),
                                    human_size(heap.free_pages * page_size),
                                    human_size(heap.largest_free_run * page_size)));
    s.line("never used", human_size(heap.untouched_pages * page_size));
    s.line("own use", human_size(heap.system_pages * page_size));
    s.title("size classes (blocks with their headers)");
    for (const u32 c : classes_by_size()) {
        const auto& one = heap.classes[c];
        if (one.slabs == 0) continue;
        s.line(human_count(block_size(c)) + " B",
               fmt::format("{:>13} of {:>13} blocks handed out ({}), {} idle, {} {}",
                           human_count(one.handed_out), human_count(one.blocks),
                           human_share(one.handed_out, one.blocks),
                           human_size(one.idle() * block_size(c)), human_count(one.slabs),
                           one.slabs == 1 ? "slab" : "slabs"));
    }
}

json heap_json(const heap_figures& heap) {
    json j;
    j["handed_out_bytes"] = heap.handed_out_bytes();
    j["slab_bytes"] = heap.slab_pages * page_size;
    j["idle_slab_bytes"] = heap.idle_slab_bytes();
    j["taken_bytes"] = heap.taken_bytes();
    j["spare_bytes"] = heap.spare_bytes();
    j["fragmentation"] = static_cast<double>(heap.idle_slab_bytes()) /
                         static_cast<double>(std::max<u64>(heap.taken_bytes(), 1));
    j["extents"] = heap.extents;
    j["extent_bytes"] = heap.extent_pages * page_size;
    j["free_runs"] = heap.free_runs;
    j["free_run_bytes"] = heap.free_pages * page_size;
    j["largest_free_run_bytes"] = heap.largest_free_run * page_size;
    j["untouched_bytes"] = heap.untouched_pages * page_size;
    j["own_bytes"] = heap.system_pages * page_size;
    j["size_classes"] = json::array();
    for (const u32 c : classes_by_size()) {
        const auto& one = heap.classes[c];
        if (one.slabs == 0) continue;
        j["size_classes"].push_back({{"block_bytes", block_size(c)},
                                     {"slabs", one.slabs},
                                     {"blocks", one.blocks},
                                     {"handed_out", one.handed_out},
                                     {"idle", one.idle()},
                                     {"idle_bytes", one.idle() * block_size(c)}});
    }
    return j;
}

std::optional<u64> heap_view::records() const {
    return holds_map_ ? report_.heap.objects : std::nullopt;
}

void heap_view::add_to(sheet& s) const {
    if (!has_heap_) return;
    if (!index_.empty()) return add_eager_to(s);
    if (fresh_) {
        s.title("heap");
        s.line("never used", "the region has not been opened since it was made");
        return;
    }
    if (const auto records = this->records()) {
        s.title("map");
        s.line("records", human_count(*records));
    }
    add_heap(s, report_.heap);
    if (!report_.ok()) {
        s.title("damage");
        s.line("found on the way",
               std::to_string(report_.violation_count()) + "; `holdfast check` tells which");
    }
}

json heap_view::to_json() const {
    if (!has_heap_) return nullptr;
    if (!index_.empty()) {
        const heap_figures& heap = report_.heap;
        return {{"index", index_},
                {"keys", keys_},
                {"records", counted_ ? json(*counted_) : json(nullptr)},
                {"slab_bytes", heap.slab_pages * page_size},
                {"extents", heap.extents},
                {"extent_bytes", heap.extent_pages * page_size},
                {"spare_bytes", heap.spare_bytes()},
                {"own_bytes", heap.system_pages * page_size}};
    }
    json j = heap_json(report_.heap);
    j["fresh"] = fresh_;
    const auto records = this->records();
    j["records"] = records ? json(*records) : json(nullptr);
    j["violations"] = report_.violation_count();
    return j;
}

}  // namespace hf::tool
