#include "map/copy.hpp"

#include "checkpoint_map/engine.hpp"
#include "discipline/registry.hpp"
#include "image/ready_copy.hpp"
#include "map/families.hpp"
#include "map/inspect.hpp"

namespace hf {
namespace {

/// For a snapshot region, which has neither heap nor tree.
result<void> settle_snapshot(const std::filesystem::path& image) {
    region_options file;
    file.mode = open_mode::open_existing;
    file.kind = discipline::snapshot;
    file.image = image_kind::journalled;
    const auto opened = open_region(image, file);
    if (!opened) return tl::unexpected(opened.error());
    epoch_options by_hand;
    by_hand.epoch = no_clock;
    const auto epochs = epoch_manager::open(*opened, by_hand);
    if (!epochs) return tl::unexpected(epochs.error());
    if (auto ok = (*epochs)->start(); !ok) return ok;
    return (*epochs)->close();
}

result<void> settle(const std::filesystem::path& image, discipline kind) {
    if (const map_family* const family = find_family(kind)) return family->settle(image);
    if (kind == discipline::logged) return settle_tree<logged_discipline>(image);
    if (kind == discipline::snapshot) return settle_snapshot(image);
    const registry::row& r = *registry::find(kind);
    return failure({errc::incompatible, "copy the region", image.string(),
                    "its discipline is " + std::string(r.name) + ": " + std::string(r.contents),
                    r.is_durable ? "copy the file while no program has it open"
                                 : "copy a region of another discipline"});
}

/// Audits the copy; a damaged one is not kept.
result<std::vector<detail::spare_range>> verify(const std::filesystem::path& image,
                                                const std::filesystem::path& from,
                                                discipline kind) {
    if (kind == discipline::snapshot) return {};
    const auto report = audit_map(image);
    if (!report) return tl::unexpected(report.error());
    if (report->ok()) return spare_ranges_of(report->heap);
    const violation& first = report->violations().front();
    return failure({errc::corrupt, "copy the region",
                    from.string() + " at offset " + std::to_string(first.offset), first.text,
                    "`holdfast check` names all that is damaged; restore the region from an "
                    "older copy"});
}

}  // namespace

result<detail::image_facts> copy_unverified(const std::filesystem::path& from,
                                            const std::filesystem::path& to,
                                            const detail::copy_progress& progress) {
    const auto by_kind = [](const std::filesystem::path& image, discipline kind) {
        return settle(image, kind);
    };
    const auto none = [](const std::filesystem::path&, const std::filesystem::path&, discipline) {
        return result<std::vector<detail::spare_range>>();
    };
    return detail::make_ready_copy(from, to, false, progress, {by_kind, none});
}

std::vector<detail::spare_range> spare_ranges_of(const heap_figures& heap) {
    std::vector<detail::spare_range> all;
    all.reserve(heap.free_runs_at.size());
    for (const free_run& r : heap.free_runs_at) all.push_back({r.offset, r.pages * page_size});
    return all;
}

result<detail::image_facts> copy_store(const std::filesystem::path& from,
                                       const std::filesystem::path& to, bool replace,
                                       const detail::copy_progress& progress) {
    const auto by_kind = [](const std::filesystem::path& image, discipline kind) {
        return settle(image, kind);
    };
    return detail::make_ready_copy(from, to, replace, progress, {by_kind, verify});
}

}  // namespace hf
