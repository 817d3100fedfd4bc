#include "snapshot/machine.hpp"

namespace hf {

namespace {

constexpr u16 owner = 0;

result<std::unique_ptr<region>> open_file(const std::filesystem::path& path,
                                          snapshot_machine_options& o) {
    o.file.kind = discipline::snapshot;
    // More than there can be is refused with the sum; it must not wrap around to a little.
    o.file.initial_size = std::max(o.bytes, o.bytes + layout::page_size);
    auto opened = region::open(path, o.file);
    if (!opened || (*opened)->kind() == discipline::snapshot) return opened;
    return failure({errc::incompatible, "open the snapshot", path.string(),
                    "the region is of discipline " + std::string(to_string((*opened)->kind())),
                    "open it with the program that created it"});
}

}  // namespace

result<std::unique_ptr<snapshot_machine>> snapshot_machine::open(const std::filesystem::path& path,
                                                                 snapshot_machine_options o) {
    auto opened = open_file(path, o);
    if (!opened) return tl::unexpected(opened.error());
    std::unique_ptr<snapshot_machine> m(new snapshot_machine);
    m->region_ = std::move(*opened);
    if (!m->region_->read_only()) {
        m->region_->set_journal_shape(o.journal);
        m->region_->track_pages(o.tracking);
    }
    auto d = epoch_manager::open(*m->region_, o.epochs);
    if (!d) return tl::unexpected(d.error());
    m->epochs_ = std::move(*d);
    if (auto ok = m->epochs_->start(); !ok) return tl::unexpected(ok.error());
    const u64 bytes = m->memory().size();
    if (bytes < o.bytes && !m->region_->read_only()) {
        if (auto ok = m->grow(o.bytes - bytes); !ok) return tl::unexpected(ok.error());
    }
    m->epochs_->start_clock();
    return m;
}

result<void> snapshot_machine::grow(u64 bytes) {
    const u64 pages = bytes / layout::page_size + (bytes % layout::page_size != 0 ? 1 : 0);
    if (pages == 0) return {};
    const epoch_guard inside(*epochs_);  // no boundary copies a header that is being changed
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
    // A refusal may be over when it is asked for, and then the epoch can be ended.
    while (epochs_->current_epoch() == ending) {
        if (auto ok = epochs_->accepts_writes(); !ok) return tl::unexpected(ok.error());
        epochs_->end_epoch();
    }
    return ending;
}

}  // namespace hf
