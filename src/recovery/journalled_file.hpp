// recovery/journalled_file.hpp: what stands between a region and its file on the medium `file`.
//
// Purpose. Memory is a private mapping. What is stored there reaches the disk by checkpoints: the
//  dirty lines of an epoch are captured (dirty(), and tracker() where nobody names lines), become
//  durable as a record of the journal (redo()), and go to the file, the base, some time later; then
//  their pages can be given back (copies()). Closed in order the region is its file alone.
//  On every medium it takes over what an earlier session on this one has left: see redo.hpp. So it
//  is the backing of all regions that programs open (opening.hpp).
//
// Persist order. K0, K1: redo.hpp.
//  K2 a journal's header is durable before the journal has its name, and the name before the first
//     record;
//  K3 (closing) the base is complete and marked clean, durably so, before the journal's name goes;
//  K4 (opening on another medium) the superblocks say so, durably, before the old journal goes.
// Concurrency. start and retire_journal by who opens and closes the region; the rest by anybody, as
//  far as its parts allow.
// Full disk. The journal refuses (journal/redo_journal.hpp); the region stays as it is.
#pragma once

#include "journal/redo_journal.hpp"
#include "paging/page_tracker.hpp"
#include "paging/private_pages.hpp"
#include "recovery/redo.hpp"
#include "region/backing.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace hf {

struct journal_options {
    journal::geometry shape;  ///< tests want small ones
    /// Changed lines are found without being named, in this way or the next best
    /// (page_tracker.hpp). nullopt: who stores names them.
    std::optional<page_tracker::way> track;
};

class journalled_file final : public backing {
   public:
    journalled_file(const backing_place& place, const journal_options& options);
    /// The journal's threads end first.
    ~journalled_file() override;

    /// Whether this session writes to the medium `file`: dirty() and copies() are there.
    [[nodiscard]] bool is_in_use() const noexcept { return dirty_ != nullptr; }
    /// From here on checkpoints are possible: the journal is there, and the base file is marked as
    /// one that needs it as soon as the first of them is applied. `base_epoch`: what the file has.
    [[nodiscard]] result<void> start_journal(const layout::superblock& super, u64 base_epoch);
    /// Everything that was submitted is in the base file, durably so; the journal is removed.
    [[nodiscard]] result<void> retire_journal();

    /// nullptr before start_journal().
    [[nodiscard]] journal::redo_journal* redo() const noexcept { return redo_.get(); }
    /// The lines that the next checkpoint must contain.
    [[nodiscard]] dirty_set* dirty() const noexcept { return dirty_.get(); }
    /// Pages that are the process's own.
    [[nodiscard]] private_pages* copies() const noexcept { return copies_.get(); }
    /// nullptr: who stores names the lines.
    [[nodiscard]] page_tracker* tracker() const noexcept { return tracker_.get(); }
    /// Epochs that this opening took from a journal; the base may have had some of them.
    [[nodiscard]] u64 recovered_records() const noexcept { return recovered_records_; }

    [[nodiscard]] result<void> overlay_header(layout::header& header) override;
    [[nodiscard]] result<void> check(const layout::superblock& super, u64 bytes) override;
    [[nodiscard]] result<bool> bring_up_to_date() override;
    [[nodiscard]] result<void> overlay(std::span<std::byte> mapped) override;
    [[nodiscard]] medium make_medium() const override { return medium_; }
    [[nodiscard]] bool is_private() const noexcept override { return is_in_use(); }
    [[nodiscard]] bool map_growth(u64 from, u64 to) noexcept override;
    void mapped_file(u64 from, u64 to) noexcept override;
    void watch(u64 from, u64 to) noexcept override;
    [[nodiscard]] result<void> has_grown(u64 bytes) override;
    [[nodiscard]] result<void> sync() override;
    [[nodiscard]] result<void> superblocks_are_durable() override;

    /// How large an epoch may be: follows the journal, the region and the memory. Told at each
    /// boundary, as all three change.
    void set_dirty_limit() noexcept;

   private:
    void take_over();

    std::filesystem::path path_;
    std::string name_;  // path_ as text, for errors
    const detail::file_handle& file_;
    std::byte* base_;
    bool writable_;
    medium medium_;
    journal::geometry shape_;
    std::atomic<u64> region_bytes_{0};  ///< mapped
    std::optional<detail::pending_redo> found_;
    u64 recovered_records_ = 0;
    detail::file_handle journal_;
    std::unique_ptr<dirty_set> dirty_;
    std::unique_ptr<private_pages> copies_;
    std::unique_ptr<page_tracker> tracker_;
    std::unique_ptr<journal::redo_journal> redo_;
};

}  // namespace hf
