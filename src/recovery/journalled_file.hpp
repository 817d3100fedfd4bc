// recovery/journalled_file.hpp: the backing of all regions that programs open (opening.hpp).
//
// Purpose. With a journalled image (region_options::image; always on the medium `file`) memory is a
//  private mapping. Stores reach the file by checkpoints: the
//  dirty lines of an epoch are captured (dirty(), or tracker() for unannotated memory), become
//  durable as a record of the journal (redo()), and are applied to the file, the base, later; then
//  their pages can be dropped (copies()). After an orderly close the region is its file alone.
//  With a shared image it only recovers the files of an earlier session with a journal: redo.hpp.
//  On a disk the journal and the base are written by system calls; on tmpfs and on persistent
//  memory by stores (journal/mapped_file.hpp), and the journal's sync is a fence, or nothing.
//
// Persist order. K0, K1: redo.hpp.
//  K2 a journal's header is durable before the journal has its name, and the name before the first
//     record;
//  K3 (closing) the base is complete and marked clean, durably, before the journal is unlinked;
//  K4 (opening with a shared image) the superblocks say so, durably, before the old journal is
//     unlinked.
// Concurrency. start_journal and retire_journal are called by the thread that opens and closes the
//  region; the other functions by any thread, as far as their parts allow.
// Full disk. The journal refuses (journal/redo_journal.hpp); the region is unchanged.
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
    journal::geometry shape;  ///< tests use small ones
    /// Find changed lines by this method or the next best one (page_tracker.hpp). nullopt: every
    /// store is followed by a flush() of its line.
    std::optional<page_tracker::way> track;
    /// Stores that are neither flushed nor tracked must last until the region is closed, so no page
    /// is dropped for the memory budget (private_pages.hpp, M2).
    bool keep_all_pages = false;
};

class journalled_file final : public backing {
   public:
    journalled_file(const backing_place& place, const journal_options& options);
    /// Ends the journal's threads first.
    ~journalled_file() override;

    /// True if this session's image is journalled: dirty() and copies() exist.
    [[nodiscard]] bool is_in_use() const noexcept { return dirty_ != nullptr; }
    /// Makes checkpoints possible: the journal exists, and the base file is marked as needing it
    /// as soon as the first record is applied. `base_epoch`: the epoch that the file contains.
    [[nodiscard]] result<void> start_journal(const layout::superblock& super, u64 base_epoch);
    /// Applies everything submitted to the base file, durably, and removes the journal.
    [[nodiscard]] result<void> retire_journal();

    /// nullptr before start_journal().
    [[nodiscard]] journal::redo_journal* redo() const noexcept { return redo_.get(); }
    /// The lines that the next checkpoint must contain.
    [[nodiscard]] dirty_set* dirty() const noexcept { return dirty_.get(); }
    /// Pages that are private to the process.
    [[nodiscard]] private_pages* copies() const noexcept { return copies_.get(); }
    /// nullptr: stores are followed by flush() calls.
    [[nodiscard]] page_tracker* tracker() const noexcept { return tracker_.get(); }
    /// Number of epochs replayed from a journal at the open; the base may have had some of them.
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
    [[nodiscard]] std::filesystem::path missing_file() const override;
    [[nodiscard]] result<void> superblocks_are_durable() override;

    /// Sets the limit on an epoch's dirty lines from the sizes of journal, region and memory.
    /// Called at each boundary, since all three change.
    void set_dirty_limit() noexcept;

   private:
    void take_over();
    /// As the journal's threads write it.
    [[nodiscard]] std::unique_ptr<journal::block_file> written_by_journal(
        const detail::file_handle& file, std::string name) const;

    std::filesystem::path path_;
    std::string name_;  // path_ as text, for errors
    const detail::file_handle& file_;
    std::byte* base_;
    bool writable_;
    medium direct_;  ///< of the files
    medium medium_;  ///< of the image
    journal::geometry shape_;
    std::atomic<u64> region_bytes_{0};  ///< mapped bytes
    std::optional<detail::pending_redo> found_;
    u64 recovered_records_ = 0;
    detail::file_handle journal_;
    std::unique_ptr<dirty_set> dirty_;
    std::unique_ptr<private_pages> copies_;
    std::unique_ptr<page_tracker> tracker_;
    std::unique_ptr<journal::redo_journal> redo_;
};

}  // namespace hf
