// recovery/redo.hpp: the journal beside a region, and whether it belongs to it.
//
// Purpose. A region on the medium `file` is two files while it is open: FILE, the base, and
//  FILE.journal, the records of the epochs that the base does not have yet (journal/). Closed in
//  order it is FILE alone. What a crash left is put together here, before anything else looks at
//  the region.
//
// Persist order.
//  K0 (opening) the records that were found are durable before a line of them goes to the base;
//  K1 (opening) the base has all that the old journal says, durably so, before that is reset;
//  K2 to K4: journalled_file.hpp.
//
// Bad input. A journal of another region, one that is older than the base or newer than what it was
//  written for, and a base that needs a journal where there is none: each is an error, and nothing
//  is changed.
#pragma once

#include "journal/block_file.hpp"
#include "journal/scan.hpp"
#include "region/file.hpp"
#include "region/layout.hpp"

#include <filesystem>
#include <optional>
#include <span>

namespace hf::detail {

[[nodiscard]] std::filesystem::path journal_path(const std::filesystem::path& region);

/// What a journal says that the base may lack.
class pending_redo {
   public:
    /// Looks for a journal beside the region whose header, as it is in the base, is given; overlays
    /// that with what the journal says. nullopt: there is no journal, or an earlier session's.
    [[nodiscard]] static result<std::optional<pending_redo>> find(
        const std::filesystem::path& region, layout::header& header, bool writable);

    /// The same with a journal that another process goes on writing, whose gate the caller holds.
    [[nodiscard]] static result<std::optional<pending_redo>> follow(
        file_handle file, const std::filesystem::path& region, layout::header& header);

    /// Writes everything to the base and syncs that (K1). Shuts the journal's gate and leaves it
    /// so: no copy may begin before the journal is started anew, or gone.
    [[nodiscard]] result<void> apply_to(const file_handle& base, const std::string& name);
    /// Writes everything to a copy of the base, without a sync.
    [[nodiscard]] result<void> merge_into(journal::block_file& copy) const;
    /// Whole epochs that the base may lack.
    [[nodiscard]] u64 records() const noexcept;
    /// Up to where a region reaches that has all the lines.
    [[nodiscard]] u64 needed_bytes() const noexcept;
    /// The header of a journal without records for a base that has everything.
    [[nodiscard]] journal::header_facts emptied() const;
    /// The same for a private copy of the region.
    [[nodiscard]] result<void> overlay(std::span<std::byte> copy) const;
    [[nodiscard]] file_handle take_file() noexcept { return std::move(file_); }

   private:
    [[nodiscard]] static result<std::optional<pending_redo>> judge(file_handle file,
                                                                   const std::string& name,
                                                                   layout::header& header,
                                                                   journal::history found);
    pending_redo(file_handle file, std::string name, journal::history found)
        : file_(std::move(file)), name_(std::move(name)), history_(std::move(found)) {}

    file_handle file_;
    std::string name_;
    journal::history history_;
};

/// errc::corrupt when a region with this superblock cannot do without the journal that is missing,
/// or when the journal holds lines of a region with more bytes.
[[nodiscard]] result<void> check_journal(const layout::superblock& super, u64 bytes,
                                         const std::optional<pending_redo>& redo,
                                         const std::string& name);
/// Before a region is made: errc::usage when a journal lies at its place, which may be all that is
/// left of somebody's data. `what` is being done.
[[nodiscard]] result<void> check_no_journal(const std::filesystem::path& region, std::string what);

}  // namespace hf::detail
