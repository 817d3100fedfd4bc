#include "map/copy.hpp"

#include "image/partial.hpp"
#include "map/engine.hpp"
#include "map/inspect.hpp"

#include <system_error>

namespace hf {
namespace {

bool is_same(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code none;  // an error, for instance a missing file, counts as "not the same"
    return std::filesystem::equivalent(a, b, none);
}

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
    file.medium = medium_kind::file;
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
    switch (kind) {
        case discipline::incll:
            return settle<incll_discipline>(image);
        case discipline::logged:
            return settle<logged_discipline>(image);
        case discipline::snapshot:
            return settle_snapshot(image);
        case discipline::transaction:
            return failure({errc::incompatible, "copy the region", image.string(),
                            "its discipline is transaction, and this copies maps and snapshots",
                            "copy the file while no program has it open"});
        case discipline::section:
            return failure({errc::incompatible, "copy the region", image.string(),
                            "its discipline is section, and this copies maps and snapshots",
                            "copy the file while no program has it open"});
        case discipline::eager:
            return {};  // needs no recovery: an eager region is consistent at any moment
        case discipline::transient:
            break;
    }
    return failure({errc::incompatible, "copy the region", image.string(),
                    "its discipline is transient: nothing in it outlives its process",
                    "copy a region of another discipline"});
}

/// Audits the copy; a damaged one is not kept.
result<void> verify(const std::filesystem::path& image, discipline kind,
                    const std::filesystem::path& from) {
    if (kind == discipline::snapshot) return {};
    const auto report = audit_map(image);
    if (!report) return tl::unexpected(report.error());
    if (report->ok()) return {};
    const violation& first = report->violations().front();
    return failure({errc::corrupt, "copy the region",
                    from.string() + " at offset " + std::to_string(first.offset), first.text,
                    "`holdfast check` names all that is damaged; restore the region from an "
                    "older copy"});
}

}  // namespace

result<detail::image_facts> copy_store(const std::filesystem::path& from,
                                       const std::filesystem::path& to, bool replace,
                                       const detail::copy_progress& progress) {
    if (is_same(from, to) || is_same(from, to.string() + ".partial")) {
        return failure({errc::usage, "copy the region", from.string(),
                        "the copy would take its place", "choose another name for the copy"});
    }
    auto place = detail::partial_region::prepare(to, replace);
    if (!place) return tl::unexpected(place.error());
    auto facts = detail::copy_image(from, place->path(), progress);
    if (!facts) return facts;
    if (auto ok = settle(place->path(), facts->kind); !ok) return tl::unexpected(ok.error());
    if (auto ok = verify(place->path(), facts->kind, from); !ok) return tl::unexpected(ok.error());
    if (auto ok = detail::renew_identity(place->path()); !ok) return tl::unexpected(ok.error());
    if (auto ok = place->finish(); !ok) return tl::unexpected(ok.error());
    return facts;
}

}  // namespace hf
