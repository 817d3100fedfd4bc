// region/huge_pages.hpp: huge pages for a region on tmpfs.
//
// Purpose. tmpfs allocates pages of 4 KiB unless the machine is configured otherwise. In a
// structure
//  larger than the reach of the processor's TLB (some MiB) nearly each access then costs a
//  page-table walk. Persistent memory has pages of 2 MiB, and so has a region on tmpfs by this
//  code.
// Method. Each aligned run of 2 MiB that is completely within a new file gets its last page, and
// a system call collapses the run to a huge page: nothing is copied, and that is less work
// for the kernel than 512 small pages. Later mappings of the file get the huge page at the first
// access, in this process, in others and after a crash. Time. If the processors are busy, or memory
// is fragmented, a huge page may take the kernel seconds. So a new region allows some milliseconds
// for each; the rest gets small pages. It requests one, and as long as they arrive in time twice as
// many in the next call, because each call has a fixed cost of some milliseconds (it waits for each
// processor to hand over its cached pages). Growth uses small pages, because the growing thread
// holds locks. Optional. Without the call (Linux before 6.1), or without free huge pages, pages are
// small, with no other effect.
#pragma once

#include "region/file.hpp"

namespace hf::detail {

/// For [from, to), which is about to be allocated: contents do not change, and the file may become
/// longer, up to `to`. No effect on other file systems.
void wish_for_huge_pages(const file_handle& file, u64 from, u64 to);
/// For a shared mapping of such a file, at a multiple of a huge page, with at least one page in
/// each run: collapses as many as the kernel manages in some milliseconds each, plus `at_first_ns`.
void ask_for_huge_pages(std::byte* at, u64 bytes, u64 at_first_ns = 20'000'000) noexcept;

}  // namespace hf::detail
