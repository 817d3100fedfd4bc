// plain/working_image.hpp: the memory that the program loads from and stores to, and the lines of
// it that differ from what is committed.
//
// Purpose. The program's stores must not reach the medium before they are committed: it stores to
// an image in DRAM. The committed version of each line is at its home, in a segment of kind memory
// of the region. The image shows all such segments in their order, one after another, so that the
// program's memory has no gaps where segments of other kinds lie between them.
//
// The image. On persistent memory and tmpfs it is a private mapping of the region's file: a page
// takes DRAM, and is a copy, from the program's first store to it on. On the medium `file`, where
// the region itself is such a mapping, and for inspection, where a recovery changed that mapping
// alone, it is memory of its own, and the segments are copied at the open.
//
// Which pages. Those stored to since the last commit or abort, as the kernel tells
// (paging/written_pages.hpp); where it does not, all. Which lines: those that differ from home.
//
// Invariants.
//  PM1 A page that is not listed, and that was not stored to since the kernel was last queried,
//      equals its home. A page of a private mapping that is no copy yet is its home.
//  PM2 A page is listed until settle() says that all listed pages equal their homes: a commit that
//      fails forgets no change, and the next commit, or an abort, finds it again.
//  PM3 Homes change only by a commit, which stores to them what the image has, and restore() and
//      find_changes() read them while no commit runs.
//
// Concurrency. None: one thread stores, commits and aborts.
// Errors. errc::no_space: no addresses, or no memory, for the image.
#pragma once

#include "paging/written_pages.hpp"
#include "region/region.hpp"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace hf::plain {

/// A line of the image, 64 bytes, and its home in the region.
struct changed_line {
    std::byte* mine;
    std::byte* home;
};

class working_image {
   public:
    /// How pages with stores are found.
    enum class way : u8 { written, all };

    /// An image of the region's segments of kind memory, all of it equal to the homes. The region
    /// outlives the image. Finds pages by `best`, or by `all` if the kernel does not support it.
    [[nodiscard]] static result<std::unique_ptr<working_image>> make(region& r, way best);
    working_image(const working_image&) = delete;
    working_image& operator=(const working_image&) = delete;
    ~working_image();

    [[nodiscard]] std::span<std::byte> memory() const noexcept { return {base_, bytes_}; }
    /// The lines that differ from their homes, in the order of their addresses. Valid until the
    /// next call of a function that is not const.
    [[nodiscard]] std::span<const changed_line> find_changes();
    /// All listed pages equal their homes.
    void settle() noexcept { pages_.clear(); }
    /// Makes each line equal to its home again.
    void restore();

    [[nodiscard]] way how() const noexcept { return how_; }
    /// Pages of 4 KiB that were compared with their homes.
    [[nodiscard]] u64 pages_compared() const noexcept { return compared_; }

   private:
    struct piece {
        u64 begin;  ///< in the image
        u64 end;
        std::byte* home;
    };

    working_image() = default;
    [[nodiscard]] result<void> map(region& r);
    [[nodiscard]] bool reserve() noexcept;
    [[nodiscard]] bool map_piece(const piece& p, const region& r) const noexcept;
    void copy_homes() noexcept;
    void begin_to_watch(way best);
    void list_pages();
    [[nodiscard]] std::byte* home_of(u64 page, const piece*& near) const noexcept;

    std::byte* base_ = nullptr;
    u64 bytes_ = 0;
    void* reserved_ = nullptr;
    u64 reserved_bytes_ = 0;
    std::vector<piece> pieces_;
    way how_ = way::all;
    bool lists_all_ = true;  ///< pages_ has all that the kernel told of since settle()
    std::unique_ptr<written_pages> written_;
    std::vector<u64> pages_;  ///< that may differ from their homes (PM2), ascending
    std::vector<changed_line> lines_;
    u64 compared_ = 0;
};

[[nodiscard]] std::string_view to_string(working_image::way w) noexcept;

}  // namespace hf::plain
