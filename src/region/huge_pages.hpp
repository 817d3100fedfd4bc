// region/huge_pages.hpp: huge pages for a region on tmpfs.
//
// Purpose. tmpfs hands out pages of 4 KiB unless the machine was told otherwise. A structure larger
//  than what the processor knows of them (some MiB) then pays a walk through the page table for
//  nearly each access. Persistent memory has pages of 2 MiB by itself, and so has a region on tmpfs
//  by this.
// How. Each aligned run of 2 MiB that will be in a new file as a whole gets its last page, and the
// kernel is asked to put a huge page into that page's place: nothing is copied, and that is less
// work for the kernel than 512 small pages. Whoever has the file mapped later meets the huge page
// at the first access, in this process, in others and after a crash.
// Time. Where the processors are busy, or memory is in pieces, a huge page may take the kernel
// seconds. So a new region gives it some milliseconds for each: then the rest is small. It asks for
// one, and as long as they come in time for twice as many in the next call; for what a call costs
// by itself, whose size does not matter to it, is some milliseconds as well (it waits for each
// processor to hand over the pages that it is about to list). And what a region grows by is small:
// who grows it holds what others wait for.
// A wish. Where there is no such call (Linux before 6.1), no huge page or no room for one, pages
// are small, and all is as it would be without.
#pragma once

#include "region/file.hpp"

namespace hf::detail {

/// For [from, to), which is about to be allocated: content stays, and the file may be longer
/// afterwards, but no longer than `to`. Nothing on another file system.
void wish_for_huge_pages(const file_handle& file, u64 from, u64 to);
/// For a shared mapping of such a file, from a multiple of a huge page on, each of which has a
/// page: as many as the kernel gives in some milliseconds each, and `at_first_ns`.
void ask_for_huge_pages(std::byte* at, u64 bytes, u64 at_first_ns = 20'000'000) noexcept;

}  // namespace hf::detail
