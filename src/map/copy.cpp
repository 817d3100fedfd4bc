#include "map/copy.hpp"

#include "discipline/registry.hpp"
#include "image/ready_copy.hpp"
#include "map/engine.hpp"
#include "map/inspect.hpp"
#include "recovery/redo.hpp"
#include "region/file.hpp"

namespace hf {
namespace {

/// Opens the image, which recovers it, and closes it cleanly.
template <class D>
result<void> settle(const std::filesystem::path& image) {
    engine_options options;
    options.file.mode = open_mode::open_existing;
    options.epochs.epoch = no_clock;
    options.background_pass = false;
    auto opened = engine<D>::open(image, options);
    return opened ? (*opened)->close() : tl::unexpected(opened.error());
}

/// settle() for a snapshot region, which has neither heap nor tree.
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

/// An eager region is consistent at any moment, so it needs no recovery, unless a journal holds a
/// part of it.
result<void> settle_eager(const std::filesystem::path& image) {
    if (!detail::is_taken(detail::journal_path(image))) return {};
    map_options there;
    there.region.mode = open_mode::open_existing;
    auto opened = map::open(image, there);
    return opened ? opened->close() : tl::unexpected(opened.error());
}

result<void> settle(const std::filesystem::path& image, discipline kind) {
    switch (kind) {
        case discipline::incll:
            return settle<incll_discipline>(image);
        case discipline::logged:
            return settle<logged_discipline>(image);
        case discipline::snapshot:
            return settle_snapshot(image);
        case discipline::eager:
            return settle_eager(image);
        default:
            break;
    }
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
