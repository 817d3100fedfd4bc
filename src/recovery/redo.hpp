// recovery/redo.hpp: finds and applies the journal beside a region, and checks that it fits.
//
// Purpose. A region on the medium `file` is two files while it is open: FILE, the base, and
//  FILE.journal, the records of the epochs that the base does not have yet (journal/). After an
//  orderly close it is FILE alone. After a crash this code combines both, before any other code
//  reads the region.
//
// Persist order.
//  K0 (opening) the records found are durable before a line of them goes to the base;
//  K1 (opening) the base has the whole content of the old journal, durably, before that is reset;
//  K2 to K4: journalled_file.hpp.
//
// Bad input. A journal of another region, one that is older than the base or belongs to a newer
//  base, and a missing journal: each is an error, and nothing
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

/// The content of a journal that the base may lack.
class pending_redo {
   public:
    /// Searches for a journal of the region with this base header, and updates the header from the
    /// journal. nullopt: there is no journal, or an earlier session's.
    [[nodiscard]] static result<std::optional<pending_redo>> find(
        const std::filesystem::path& region, layout::header& header, bool writable);

    /// As find(), for a journal that another process is writing; the caller holds its gate.
    [[nodiscard]] static result<std::optional<pending_redo>> follow(
        file_handle file, const std::filesystem::path& region, layout::header& header);

    /// Writes everything to the base and syncs it (K1). Shuts the journal's gate and leaves it
    /// shut: no copy may begin before the journal is restarted or unlinked.
    [[nodiscard]] result<void> apply_to(const file_handle& base, const std::string& name);
    /// Writes everything to a copy of the base, without a sync.
    [[nodiscard]] result<void> merge_into(journal::block_file& copy) const;
    /// Number of complete epochs that the base may lack.
    [[nodiscard]] u64 records() const noexcept;
    /// Size of a region that contains all the lines.
    [[nodiscard]] u64 needed_bytes() const noexcept;
    /// The header of a journal without records for a base that has everything.
    [[nodiscard]] journal::header_facts emptied() const;
    /// Writes everything to a private copy of the region.
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

/// errc::corrupt if a region with this superblock needs a journal and there is none,
/// or if the journal has lines past the end of the region.
[[nodiscard]] result<void> check_journal(const layout::superblock& super, u64 bytes,
                                         const std::optional<pending_redo>& redo,
                                         const std::string& name);
/// For the creation of a region: errc::usage if there is a journal with its name, which may be all
/// that is left of a user's data. `what` is the action, for the error.
[[nodiscard]] result<void> check_no_journal(const std::filesystem::path& region, std::string what);

}  // namespace hf::detail
