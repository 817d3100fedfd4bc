// region/region.hpp: a file mapped into memory. It survives; the process does not.
//
// Purpose. Opens, creates and grows the file, maps it at the start of a window (arena.hpp) and
//  keeps its header (layout.hpp). The rooms above manage the contents of the pages.
//
// On the medium. layout.hpp has the header; after it:
//
//     page 0   | page 1 ...          | ...          | tail  <- while growing, up to the intent
//     header   | segment 0           | segment 1    |
//              '- segments[0]: pages, kind, owner   '- end of file
//
// Invariants. Those of layout.hpp, and
//  I6 All mapped bytes are allocated: no store into a region dies of a full disk.
//  I7 Opening changes no byte of the file, clean or not, and neither does an attempt that fails.
//  I8 A segment just grown reads as zeros.
//  I9 One process has a region open for writing, once.
//
// Persist order (the points in docs/persist_order.md bear these names).
//  C1-C4 creation: file.hpp.
//  G1 the growth intent is durable before the file grows;
//  G2 the file's length and blocks are durable before they are mapped;
//  G3 the pages are mapped before the directory names them;
//  G4 the directory's word is durable before the intent is cleared;
//  G5 the intent is cleared before the next growth.
//  S1 one copy of the superblock is durable before the other is touched; S2 both are equal and
//     durable. At rest both are the same, so that damage to one never brings an older state back.
//  K1 what a process that was killed has left of the header in the caches, and of the file's
//     length and name in the kernel, is durable before open() builds upon it.
//  R1 a root's fields, and what its value leads to, are durable before its value is stored;
//  R2 the value is durable before anything is done that would be lost without it.
//     So a crash leaves a free entry, or a root that is whole. A discipline must not roll
//     back the target of a root afterwards: it is made before the first epoch, or was committed.
//
// Where the backing is private (backing.hpp), a store reaches the disk by a checkpoint only, and
// the orders G, S and R hold within memory.
//
// Concurrency. grow, segments, update_super, find_root and publish_root may be called by any
// thread; the rest is constant or atomic. super() is a snapshot that stays valid while the region
// lives.
// Recovery. Growth that was cut short leaves either nothing, or a tail after the last segment that
//  the intent explains; the next growth cuts it off first. An update of the superblock that was cut
//  short leaves the old state or the new.
// Bad input. Every error names file and offset; see docs/region.md for the list. A full disk or
//  region is errc::no_space and leaves the region as it was. A file that another process truncates
//  under a running one kills the running one with SIGBUS: nothing can be done about that but the
//  lock, which Holdfast's own programs respect.
// Literature. Relative pointers and self-contained files: Coburn et al., "NV-Heaps", ASPLOS 2011,
//  section 3.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include "base/check.hpp"
#include "persist/medium.hpp"
#include "region/arena.hpp"
#include "region/backing.hpp"
#include "region/copy_pause.hpp"
#include "region/file.hpp"
#include "region/layout.hpp"
#include "region/segment.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hf {

namespace detail {
struct header_facts;
}

class region {
   public:
    using root = layout::root;

    /// Asked before a file is made whether its medium and image will do.
    using medium_check = std::function<result<void>(medium_kind, bool is_journalled)>;

    /// The parts that the caller provides.
    struct opener {
        backing_maker make_backing = make_direct_backing;
        medium_check accept;                         ///< {}: any medium
        std::span<const layout::room_format> rooms;  ///< that will lay bytes into a new region
    };

    /// Opens or creates, as the mode says. inspect takes a region of any discipline; the others
    /// only of options.kind. Programs go through recovery/opening.hpp, which knows every backing.
    [[nodiscard]] static result<std::unique_ptr<region>> open(const std::filesystem::path& path,
                                                              const region_options& options,
                                                              const opener& by);
    [[nodiscard]] static result<std::unique_ptr<region>> open(const std::filesystem::path& path,
                                                              const region_options& options) {
        return open(path, options, opener{});
    }
    /// Anonymous memory in a window, that many bytes (rounded up to pages) at first; ends with the
    /// object. Nothing is flushed. options.max_size, kind and first_epoch count.
    [[nodiscard]] static result<std::unique_ptr<region>> create_volatile(
        u64 bytes, const region_options& options);
    region(const region&) = delete;
    region& operator=(const region&) = delete;
    /// Unmaps and unlocks; does NOT mark the region clean.
    ~region();

    [[nodiscard]] std::byte* base() const noexcept { return window_.base(); }
    /// Bytes mapped, header included.
    [[nodiscard]] u64 size() const noexcept { return bytes_.load(std::memory_order_acquire); }
    /// From now on the rest of the window, after the region, can be read and is zero; stores there
    /// have no effect. For structures whose readers follow pointers that only near_offset() has
    /// bounded: a damaged one leads to some memory, and to no fault. Where the kernel refuses,
    /// nothing is different. Call it before another thread uses the region.
    void back_rest_of_window() noexcept;
    /// An offset from which at least reach_of_damage bytes of the window are reached, aligned as
    /// blocks are and to `alignment`; `offset` itself, if it is one of a block.
    [[nodiscard]] static constexpr u64 near_offset(u64 offset, u64 alignment = 1) noexcept {
        constexpr u64 least_block = 32;
        const u64 near = offset & (window_mask & ~(std::max(least_block, alignment) - 1));
        // A branch, for the load that comes next need not wait for it.
        if (near > window_size - reach_of_damage) [[unlikely]] {
            return window_size - reach_of_damage;
        }
        return near;
    }
    /// More bytes than any structure has that is read before its sizes are checked: a region whose
    /// rest of the window is backed does not grow into the window's last bytes.
    static constexpr u64 reach_of_damage = u64{1} << 20;
    [[nodiscard]] layout::header& header() const noexcept {
        return *reinterpret_cast<layout::header*>(base());
    }
    [[nodiscard]] const medium& med() const noexcept { return medium_; }
    /// By which a copy made by another process has it keep still.
    [[nodiscard]] detail::copy_pause copies() const noexcept {
        return detail::copy_pause(file_.get());
    }
    [[nodiscard]] discipline kind() const noexcept { return kind_; }
    /// Whether open() made the file.
    [[nodiscard]] bool created() const noexcept { return created_; }
    /// Whether it was closed in order before it was opened (a new one counts as clean).
    [[nodiscard]] bool was_clean() const noexcept { return was_clean_; }
    /// Opened with open_mode::inspect: stores reach a private copy only.
    [[nodiscard]] bool read_only() const noexcept { return read_only_; }
    /// errc::io: the file, or one that its backing needs, was removed while the region was open.
    [[nodiscard]] result<void> check_files() const;
    [[nodiscard]] bool is_volatile() const noexcept { return !file_.is_open(); }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    /// The open file's, for further mappings of it; -1: the region is volatile.
    [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
    /// Whether it is mapped at the same address each time it is opened for writing.
    [[nodiscard]] bool keeps_address() const noexcept {
        return (super().features & layout::feature_keeps_address) != 0;
    }
    /// The damage that open() found in one of the superblocks; empty if both were good.
    /// update_super mends it.
    [[nodiscard]] const std::string& damage() const noexcept { return damage_; }

    template <class T>
    [[nodiscard]] T* at(u64 offset) const noexcept {
        HF_ASSERT(offset < size(), "an offset outside of the region");
        return reinterpret_cast<T*>(base() + offset);
    }
    [[nodiscard]] u64 offset_of(const void* p) const noexcept {
        return reinterpret_cast<u64>(p) - reinterpret_cast<u64>(base());
    }

    [[nodiscard]] const layout::superblock& super() const noexcept {
        return *super_.load(std::memory_order_acquire);
    }
    /// Calls `change` on a copy, then writes it over both superblocks, one after the other. Meant
    /// for a few updates a session: each keeps its 4 KiB snapshot until the region is closed.
    [[nodiscard]] result<void> update_super(const std::function<void(layout::superblock&)>& change);

    /// Appends a zeroed segment. errc::no_space when the file system, max_size or the directory is
    /// full, denied in inspect mode, io when syncing fails; the region stays as it was.
    [[nodiscard]] result<segment> grow(segment_kind kind, u64 pages, u16 owner);
    [[nodiscard]] std::vector<segment> segments() const;
    /// How many pages the region may have, header included.
    [[nodiscard]] u64 max_pages() const noexcept { return max_pages_; }

    /// errc::not_found when there is none of this name.
    [[nodiscard]] result<root*> find_root(std::string_view name) const;
    /// `value`, not zero, is what the root leads to, durable already. Name of 1 to 23 bytes without
    /// zeros. errc::usage when it is taken or no name, no_space when all 64 are used.
    [[nodiscard]] result<root*> publish_root(std::string_view name, u64 type, u32 format,
                                             u64 value);

   private:
    region() = default;

    [[nodiscard]] static std::unique_ptr<region> blank(window place, std::string name,
                                                       const region_options& options);
    [[nodiscard]] static result<std::unique_ptr<region>> attach(window place,
                                                                detail::file_handle file,
                                                                const std::filesystem::path& path,
                                                                const region_options& options,
                                                                medium_kind kind, bool created,
                                                                const backing_maker& make_backing);
    [[nodiscard]] result<void> check_against(const detail::header_facts& facts,
                                             const region_options& options) const;
    result<void> make_sure_of_what_is_there();
    result<void> prepare_file(const detail::file_facts& facts, u64 bytes, u64& file_bytes);
    result<void> cut_off_lost_growth(u64 bytes, u64& file_bytes) const;
    result<void> map(u64 from, u64 to);
    result<void> extend_file(u64 old_bytes, u64 new_bytes);
    void take_back(u64 old_bytes, u64 new_bytes);
    void write_intent(u64 pages);
    void adopt(const layout::superblock& s);
    void adopt(detail::header_facts facts, u64 file_bytes);
    [[nodiscard]] error failed(errc code, std::string what, std::string why,
                               std::string next) const;
    [[nodiscard]] root* lookup(std::string_view name) const noexcept;

    window window_;
    detail::file_handle file_;
    std::filesystem::path path_;
    std::string name_;  // path_ as text, for errors
    medium medium_;
    discipline kind_ = discipline::transient;
    bool created_ = false;
    bool was_clean_ = true;
    bool read_only_ = false;
    std::string damage_;
    u64 max_pages_ = 0;
    int rest_protection_ = 0;  ///< of the window after the region: PROT_NONE, or as it is backed
    std::atomic<u64> bytes_{0};

    mutable std::mutex growth_mutex_;  // segments_, file_bytes_, the directory and the intent
    std::vector<segment> segments_;
    u64 file_bytes_ = 0;

    std::mutex super_mutex_;  // the superblocks
    unsigned newest_ = 0;
    std::vector<std::unique_ptr<const layout::superblock>> snapshots_;
    std::atomic<const layout::superblock*> super_{nullptr};

    mutable std::mutex root_mutex_;  // the names of the roots

    std::unique_ptr<backing> backing_;  // nullptr: volatile. The last member: it ends first.
};

}  // namespace hf
