// region/backing.hpp: what stands between a region's memory and its file.
//
// Purpose. region.hpp knows the bytes of a header and how a file grows. How a store reaches the
// file, and what else than the file has the newest bytes after a crash, is its backing's business.
// There are two: direct_backing, where memory is shared with the file (dax, eadr, shm), and
// recovery/journalled_file.hpp for the medium `file`, where memory is private and a journal is in
// between. So this room needs no journal, and who has none pays for none.
//
// The opening calls, in this order: overlay_header, check, then bring_up_to_date (opened for
//  writing) or overlay (for inspection), with the mapping in between.
// Lifetime. Made once the file is open and its window is taken, gone before either is.
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

/// What a backing is made for.
struct backing_place {
    const std::filesystem::path& path;
    const detail::file_handle& file;  ///< open and locked
    std::byte* base;                  ///< the start of the window; nothing is mapped yet
    u64 max_bytes;                    ///< that may be mapped there
    medium_kind kind;                 ///< what the file lies on, or was asked for
    const region_options& options;
    [[nodiscard]] bool is_writable() const noexcept { return options.mode != open_mode::inspect; }
};

class backing {
   public:
    backing() = default;
    backing(const backing&) = delete;
    backing& operator=(const backing&) = delete;
    virtual ~backing() = default;

    // --- the opening ---
    /// Writes over the header, as it was read from the file, what the file lacks of it.
    [[nodiscard]] virtual result<void> overlay_header(layout::header& header) = 0;
    /// The header was judged: whether what must lie beside a file with this superblock is there,
    /// and holds nothing behind `bytes`, the region's end.
    [[nodiscard]] virtual result<void> check(const layout::superblock& super, u64 bytes) = 0;
    /// Brings the file up to date, before it is mapped. True: growth that its header does not know
    /// is lost, and is to be cut off.
    [[nodiscard]] virtual result<bool> bring_up_to_date() = 0;
    /// The same for a private mapping of it.
    [[nodiscard]] virtual result<void> overlay(std::span<std::byte> mapped) = 0;

    // --- in use ---
    /// What makes stores durable.
    [[nodiscard]] virtual medium make_medium() const = 0;
    /// Whether memory is the process's own, and the file changes by other means than stores.
    [[nodiscard]] virtual bool is_private() const noexcept = 0;
    /// Maps [from, to) of the window with memory of its own. False: the region is to map the file.
    [[nodiscard]] virtual bool map_growth(u64 from, u64 to) noexcept = 0;
    /// [from, to) was mapped from the file.
    virtual void mapped_file(u64 from, u64 to) noexcept = 0;
    /// [from, to), the region's end, is mapped, and nobody has stored to it yet.
    virtual void watch(u64 from, u64 to) noexcept = 0;
    /// The file was made longer: it is durably so before anything durable relies on it.
    [[nodiscard]] virtual result<void> has_grown(u64 bytes) = 0;
    [[nodiscard]] virtual result<void> sync() = 0;
    /// Both superblocks are durable, and name this session's medium.
    [[nodiscard]] virtual result<void> superblocks_are_durable() = 0;
};

/// Memory is shared with the file: all that was stored is in it.
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

/// The medium of a mapping that is shared with its file, as the options want it flushed.
[[nodiscard]] medium direct_medium(medium_kind kind, const region_options& options) noexcept;

/// How a region gets its backing. errc::medium when it has none for this kind.
using backing_maker = std::function<result<std::unique_ptr<backing>>(const backing_place&)>;
[[nodiscard]] result<std::unique_ptr<backing>> make_direct_backing(const backing_place& place);

}  // namespace hf
