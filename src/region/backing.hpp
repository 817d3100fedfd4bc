// region/backing.hpp: the interface between a region's memory and its file.
//
// Purpose. region.hpp knows the bytes of a header and how a file grows. The backing determines how
// a store reaches the file, and where else the newest bytes are after a crash.
// There are two: direct_backing, where memory is shared with the file, and
// recovery/journalled_file.hpp, where memory may be private, with a journal in between. So this
// room does not depend on the journal, and a shared image does not pay for one.
//
// An open calls, in this order: overlay_header, check, then bring_up_to_date (opened for
//  writing) or overlay (for inspection), with the mapping in between.
// Lifetime. Created after the file is open and its window is taken, destroyed before either.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include "persist/medium.hpp"
#include "region/file.hpp"
#include "region/layout.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace hf {

/// The arguments of a backing's constructor.
struct backing_place {
    const std::filesystem::path& path;
    const detail::file_handle& file;  ///< open and locked
    std::byte* base;                  ///< the start of the window; nothing is mapped yet
    u64 max_bytes;                    ///< maximum size of the mapping
    medium_kind kind;                 ///< the detected or requested medium
    const region_options& options;
    [[nodiscard]] bool is_writable() const noexcept { return options.mode != open_mode::inspect; }
};

class backing {
   public:
    backing() = default;
    backing(const backing&) = delete;
    backing& operator=(const backing&) = delete;
    virtual ~backing() = default;

    // --- during the open ---
    /// Updates the header, as it was read from the file, with newer contents from elsewhere.
    [[nodiscard]] virtual result<void> overlay_header(layout::header& header) = 0;
    /// Called after the header was validated: checks that files required by this superblock
    /// exist, and contain nothing past `bytes`, the region's end.
    [[nodiscard]] virtual result<void> check(const layout::superblock& super, u64 bytes) = 0;
    /// Brings the file up to date, before it is mapped. True: the file is longer than its header
    /// says because of a lost growth, and must be truncated.
    [[nodiscard]] virtual result<bool> bring_up_to_date() = 0;
    /// As bring_up_to_date(), for a private mapping of the file.
    [[nodiscard]] virtual result<void> overlay(std::span<std::byte> mapped) = 0;

    // --- in use ---
    /// The medium for the region's stores.
    [[nodiscard]] virtual medium make_medium() const = 0;
    /// True if memory is private to the process, and the file is changed by other means than
    /// stores.
    [[nodiscard]] virtual bool is_private() const noexcept = 0;
    /// Maps [from, to) of the window with anonymous memory. False: the region must map the file.
    [[nodiscard]] virtual bool map_growth(u64 from, u64 to) noexcept = 0;
    /// [from, to) was mapped from the file.
    virtual void mapped_file(u64 from, u64 to) noexcept = 0;
    /// [from, to), the end of the region, is mapped, and has not been stored to yet.
    virtual void watch(u64 from, u64 to) noexcept = 0;
    /// The file was made longer: makes that durable before anything durable depends on it.
    [[nodiscard]] virtual result<void> has_grown(u64 bytes) = 0;
    [[nodiscard]] virtual result<void> sync() = 0;
    /// The path of a file beside the region's that is needed and has no name any more; empty: none.
    [[nodiscard]] virtual std::filesystem::path missing_file() const { return {}; }
    /// Both superblocks are durable, and name this session's medium.
    [[nodiscard]] virtual result<void> superblocks_are_durable() = 0;
};

/// Memory is shared with the file: every store is in the file.
class direct_backing final : public backing {
   public:
    explicit direct_backing(const backing_place& place);

    [[nodiscard]] result<void> overlay_header(layout::header&) override { return {}; }
    [[nodiscard]] result<void> check(const layout::superblock& super, u64) override;
    [[nodiscard]] result<bool> bring_up_to_date() override { return false; }
    [[nodiscard]] result<void> overlay(std::span<std::byte>) override { return {}; }
    [[nodiscard]] medium make_medium() const override { return medium_; }
    [[nodiscard]] bool is_private() const noexcept override { return false; }
    [[nodiscard]] bool map_growth(u64, u64) noexcept override { return false; }
    void mapped_file(u64, u64) noexcept override {}
    void watch(u64, u64) noexcept override {}
    [[nodiscard]] result<void> has_grown(u64) override { return sync(); }
    [[nodiscard]] result<void> sync() override { return detail::sync(file_, name_); }
    [[nodiscard]] result<void> superblocks_are_durable() override { return {}; }

   private:
    const detail::file_handle& file_;
    std::string name_;
    medium medium_;
};

/// Whether a session with these options has a journalled image on this medium.
[[nodiscard]] bool is_journalled(medium_kind kind, const region_options& options) noexcept;
/// The medium of a mapping shared with its file, with the flush policy of the options.
[[nodiscard]] medium direct_medium(medium_kind kind, const region_options& options) noexcept;

/// Creates a region's backing. errc::medium: there is none for this kind.
using backing_maker = std::function<result<std::unique_ptr<backing>>(const backing_place&)>;
[[nodiscard]] result<std::unique_ptr<backing>> make_direct_backing(const backing_place& place);

}  // namespace hf
