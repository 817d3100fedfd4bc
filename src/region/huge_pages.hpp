// region/huge_pages.hpp: huge pages for a region on tmpfs.
//
// Purpose. tmpfs hands out pages of 4 KiB unless the machine was told otherwise. A structure larger
//  than what the processor knows of them (some MiB) then pays a walk through the page table for
//  nearly each access. Persistent memory has pages of 2 MiB by itself, and so has a region on tmpfs
//  by this.
// How. Each aligned run of 2 MiB that will be in the file as a whole gets its last page, and the
//  kernel is asked to put a huge page into that page's place: nothing is copied but what the run
//  held before, and that is less work for the kernel than 512 small pages. Whoever has the file
//  mapped meets the huge page at the next access, in this process, in others and after a crash. But
//  for who has mapped a part of such a run only, as a region has that grows in small steps, its
//  page table stays as it is, and has to be asked for again when all of the run is mapped.
// Time. A huge page takes about as long as the small ones in its place; but where the processors are
// busy, or memory is in pieces, it takes a hundred times that, and who grows a region holds what
// others wait for. So the kernel is asked for one after the other, and no longer than some
// milliseconds each: then the rest is small.
// A wish. Where there is no such call (Linux before 6.1), no huge page or no room for one, pages
//  are small, and all is as it would be without.
#pragma once

#include "region/file.hpp"

namespace hf::detail {

/// For [from, to), which is about to be allocated: content stays, and the file may be longer
/// afterwards, but no longer than `to`. Nothing on another file system.
void wish_for_huge_pages(const file_handle& file, u64 from, u64 to);
/// For a region's [from, to), mapped just now, shared with its file, from where the file is at
/// `base`, at a multiple of a huge page.
void map_huge_pages(std::byte* base, u64 from, u64 to) noexcept;

}  // namespace hf::detail
