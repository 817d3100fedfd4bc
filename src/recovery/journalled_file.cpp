#include "recovery/journalled_file.hpp"

#include "base/check.hpp"
#include "journal/copy_gate.hpp"
#include "journal/format.hpp"
#include "journal/mapped_file.hpp"
#include "persist/persist_point.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace hf {

static_assert(journal::gate_offset == detail::locked_bytes, "the journal's gate is no file's lock");
static_assert(header_bytes == layout::page_size, "what paging leaves alone");

journalled_file::journalled_file(const backing_place& place, const journal_options& options)
    : path_(place.path),
      name_(place.path.string()),
      file_(place.file),
      base_(place.base),
      writable_(place.is_writable()),
      direct_(direct_medium(place.kind, place.options)),
      medium_(direct_),
      shape_(options.shape) {
    if (!is_journalled(place.kind, place.options) || !writable_) return;
    dirty_ = std::make_unique<dirty_set>(base_, place.max_bytes);
    medium_ = medium(*dirty_, place.kind);
    copies_ =
        std::make_unique<private_pages>(base_, place.max_bytes, file_.get(), place.options.memory);
    if (options.keep_all_pages) copies_->keep_all();
    if (!options.track) return;
    tracker_ = std::make_unique<page_tracker>(base_, place.max_bytes, file_.get(), *options.track);
}

journalled_file::~journalled_file() { redo_.reset(); }

// ------------------------------------------------------------------------------------ opening

result<void> journalled_file::overlay_header(layout::header& header) {
    auto found = detail::pending_redo::find(path_, header, writable_);
    if (!found) return tl::unexpected(found.error());
    found_ = std::move(*found);
    return {};
}

result<void> journalled_file::check(const layout::superblock& super, u64 bytes) {
    return detail::check_journal(super, bytes, found_, name_);
}

result<bool> journalled_file::bring_up_to_date() {
    if (!found_) return false;
    if (auto ok = found_->apply_to(file_, name_); !ok) return tl::unexpected(ok.error());
    take_over();
    return true;
}

result<void> journalled_file::overlay(std::span<std::byte> mapped) {
    if (!found_) return {};
    if (auto ok = found_->overlay(mapped); !ok) return ok;
    take_over();
    return {};
}

/// The journal stays open, and so locked.
void journalled_file::take_over() {
    recovered_records_ = found_->records();
    journal_ = found_->take_file();
    found_.reset();
}

std::filesystem::path journalled_file::missing_file() const {
    if (!journal_.is_open() || detail::has_name(journal_)) return {};
    return detail::journal_path(path_);
}

result<void> journalled_file::superblocks_are_durable() {
    if (!journal_.is_open() || is_in_use() || !writable_) return {};
    HF_PERSIST_POINT(
        "journal K4: superblock durable that needs no journal, before the old one goes");
    auto removed = detail::remove_stale(detail::journal_path(path_));
    journal_ = {};  // its gate was shut until here (X1)
    return removed;
}

// ------------------------------------------------------------------------------------ session

std::unique_ptr<journal::block_file> journalled_file::written_by_journal(
    const detail::file_handle& file, std::string name) const {
    if (direct_.kind() == medium_kind::file) {
        return std::make_unique<journal::posix_file>(file.get(), std::move(name));
    }
    return std::make_unique<journal::mapped_file>(file.get(), std::move(name), direct_);
}

result<void> journalled_file::start_journal(const layout::superblock& super, u64 base_epoch) {
    HF_CHECK(is_in_use() && redo_ == nullptr, "a journal is started once, for a journalled image");
    const auto path = detail::journal_path(path_);
    const bool is_new = !journal_.is_open();
    if (is_new) {
        if (auto ok = detail::remove_stale(path); !ok) return ok;
        auto made = detail::create_unnamed(path);
        if (!made) return tl::unexpected(made.error());
        journal_ = std::move(*made);
    }
    journal::identity who;
    std::memcpy(who.region.data(), super.uuid, sizeof super.uuid);
    who.generation = super.generation;
    // A merge needs memory for the lines' numbers: up to a ninth of the journal.
    shape_.most_bytes = std::min(shape_.most_bytes, copies_->budget());
    auto started = journal::redo_journal::start(written_by_journal(journal_, path.string()),
                                                written_by_journal(file_, name_), who, base_epoch,
                                                shape_, journal::copy_gate(journal_.get()));
    if (!started) return tl::unexpected(started.error());
    // Shut since the old records were applied (X1); there is nothing to apply yet.
    journal::copy_gate(journal_.get()).release();
    if (is_new) {
        if (auto ok = detail::publish(journal_, path); !ok) return ok;
    }
    HF_PERSIST_POINT("journal K2: journal whole and named before the first record");
    redo_ = std::move(*started);
    set_dirty_limit();
    redo_->set_applied_listener(
        [this](u64 epoch) { copies_->find_droppable(region_bytes_, epoch); });
    return {};
}

// Captured lines are memory, too. And each dirty line may be the only one of its page, which then
// needs a private copy for it.
void journalled_file::set_dirty_limit() noexcept {
    const u64 budget = copies_->budget();
    u64 lines = std::min(redo_->comfortable_lines(), budget / line_size / 16);
    if (region_bytes_ > budget) lines = std::min(lines, budget / private_pages::page_bytes / 16);
    dirty_->set_limit(lines);
    if (tracker_) {
        tracker_->set_limit(
            std::min(redo_->comfortable_lines(), budget / private_pages::page_bytes / 16));
    }
}

result<void> journalled_file::retire_journal() {
    if (auto ok = redo_->apply_all(); !ok) return ok;
    redo_.reset();
    HF_PERSIST_POINT("journal K3: base complete and clean before the journal goes");
    // A copy in progress is the copy of this journal's region: the next one must wait (X1).
    if (auto ok = journal::copy_gate(journal_.get()).shut(); !ok) return ok;
    auto removed = detail::remove_stale(detail::journal_path(path_));
    journal_ = {};
    return removed;
}

// ------------------------------------------------------------------------------------- growth

// Written pages can be detected only in mappings of the file.
bool journalled_file::map_growth(u64 from, u64 to) noexcept {
    return copies_ && !tracker_ && copies_->map_growth(from, to);
}

void journalled_file::mapped_file(u64 from, u64 to) noexcept {
    if (copies_ && copies_->is_tracking()) ::madvise(base_ + from, to - from, MADV_RANDOM);
}

void journalled_file::watch(u64 from, u64 to) noexcept {
    if (tracker_) tracker_->watch(from, to);
    region_bytes_ = to;
    if (redo_) set_dirty_limit();
}

result<void> journalled_file::has_grown(u64 bytes) {
    if (!redo_) return sync();
    redo_->base_has_grown(bytes);  // synced before the record that says so (journal J0)
    return {};
}

result<void> journalled_file::sync() {
    return redo_ ? redo_->sync_base() : detail::sync(file_, name_);
}

}  // namespace hf
