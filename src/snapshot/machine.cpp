#include "snapshot/machine.hpp"

#include "epoch/epoch_area.hpp"

namespace hf {

namespace {

constexpr u16 owner = 0;
constexpr layout::room_format snapshot_rooms[] = {epoch_format, {"snapshot", 1}};

result<void> check_image(const region_options& o, const std::filesystem::path& path) {
    if (o.image != image_kind::shared) return {};
    return failure({errc::usage, "open the snapshot", path.string(),
                    "a shared image was asked for, where a store reaches the medium at any time "
                    "and nothing undoes it",
                    "leave the image to be chosen"});
}

result<opened_region> open_file(const std::filesystem::path& path,
                                const snapshot_machine_options& o) {
    if (auto ok = check_image(o.file, path); !ok) return tl::unexpected(ok.error());
    opening_options all;
    all.file = o.file;
    all.file.image = image_kind::journalled;
    all.file.kind = discipline::snapshot;
    // Impossible sizes are refused with the sum, which must not wrap around to a small number.
    all.file.initial_size = std::max(o.bytes, o.bytes + layout::page_size);
    all.journal = {o.journal, o.tracking};
    all.rooms = snapshot_rooms;
    auto opened = open_region(path, all);
    if (!opened || opened->file->kind() == discipline::snapshot) return opened;
    return failure({errc::incompatible, "open the snapshot", path.string(),
                    "the region is of discipline " + std::string(to_string(opened->file->kind())),
                    "open it with the program that created it"});
}

}  // namespace

result<std::unique_ptr<snapshot_machine>> snapshot_machine::open(const std::filesystem::path& path,
                                                                 snapshot_machine_options o) {
    auto opened = open_file(path, o);
    if (!opened) return tl::unexpected(opened.error());
    std::unique_ptr<snapshot_machine> m(new snapshot_machine);
    recovery_driver& steps = opened->steps;
    steps.add(recovery_phase::epochs, "epochs", [&]() -> result<void> {
        auto epochs = epoch_manager::open(*opened, o.epochs);
        if (!epochs) return tl::unexpected(epochs.error());
        m->region_ = std::move(opened->file);
        m->epochs_ = std::move(*epochs);
        return {};
    });
    steps.add(recovery_phase::discipline, "session", [&] { return m->epochs_->start(); });
    steps.add(recovery_phase::discipline, "memory", [&]() -> result<void> {
        if (m->region_->read_only()) return {};
        return m->grow(o.bytes - std::min(m->memory().size(), o.bytes));
    });
    steps.add(recovery_phase::service, "clock", [&]() -> result<void> {
        m->epochs_->start_clock();
        return {};
    });
    if (auto ok = steps.run(); !ok) return tl::unexpected(ok.error());
    return m;
}

result<void> snapshot_machine::grow(u64 bytes) {
    const u64 pages = bytes / layout::page_size + (bytes % layout::page_size != 0 ? 1 : 0);
    if (pages == 0) return {};
    const epoch_guard inside(*epochs_);  // no boundary captures a half-changed header
    auto grown = region_->grow(segment_kind::heap, pages, owner);
    return grown ? result<void>{} : tl::unexpected(grown.error());
}

result<u64> snapshot_machine::checkpoint() {
    if (region_->read_only()) {
        return failure({errc::denied, "take a checkpoint", region_->path().string(),
                        "it was opened for inspection", "open it for writing"});
    }
    epochs_->wait_for_base();
    const u64 ending = epochs_->current_epoch();
    // A refusal may have ended when it is queried, and then the epoch can be ended.
    while (epochs_->current_epoch() == ending) {
        if (auto ok = epochs_->accepts_writes(); !ok) return tl::unexpected(ok.error());
        epochs_->end_epoch();
    }
    return ending;
}

}  // namespace hf
