#include "view/header_view.hpp"

#include "alloc/geometry.hpp"
#include "base/os_error.hpp"
#include "map/inspect.hpp"
#include "recovery/redo.hpp"
#include "region/file.hpp"
#include "region/header.hpp"
#include "transaction/shadow_slots.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace hf::tool {

namespace {

constexpr const char* looking = "inspect the region";

result<detail::file_handle> open_plainly(const std::filesystem::path& path, struct stat& s) {
    if (::lstat(path.c_str(), &s) != 0) {
        return failure(os_error(looking, path.string(), "check the path"));
    }
    if (!S_ISREG(s.st_mode)) {
        return failure({errc::unsafe_file, looking, path.string(),
                        S_ISLNK(s.st_mode) ? "it is a symbolic link, and links are not followed"
                                           : "it is not a regular file",
                        "name a region file"});
    }
    detail::file_handle file(
        ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file.is_open() || ::fstat(file.get(), &s) != 0) {
        return failure(os_error(looking, path.string(), "check the rights on the file"));
    }
    return file;
}

std::string judge(const layout::superblock& s) {
    if (std::memcmp(s.magic, layout::magic, sizeof s.magic) != 0) return header_view::no_superblock;
    if (s.byte_order == __builtin_bswap64(layout::byte_order_mark)) return "other byte order";
    if (s.checksum != layout::superblock_checksum(s)) return "damaged: its checksum is wrong";
    if (s.format != layout::current_format) return "whole, of another format version";
    return "valid";
}

bool is_whole(const std::string& verdict) {
    return verdict == "valid" || verdict.starts_with("whole");
}

void read_segments(const layout::header& h, header_view& v) {
    u64 page = 1;
    for (unsigned i = 0; i < layout::max_segments; ++i) {
        const u64 word = h.segments[i].load(std::memory_order_relaxed);
        if (word == 0) continue;
        const auto s = layout::unpack_segment(i, word);
        if (!s) {
            ++v.bad_segments;
            continue;
        }
        v.segments.push_back(
            {page * layout::page_size, s->pages, static_cast<segment_kind>(s->kind), s->owner});
        page += s->pages;
    }
}

}  // namespace

result<header_view> header_view::read(const std::filesystem::path& path) {
    struct stat s{};
    auto file = open_plainly(path, s);
    if (!file) return tl::unexpected(file.error());
    header_view v;
    v.path = path.string();
    v.file_bytes = static_cast<u64>(s.st_size);
    v.allocated_bytes = static_cast<u64>(s.st_blocks) * 512;
    const auto h = detail::blank_header();
    while (v.header_bytes < sizeof *h) {
        const ssize_t n = ::pread(file->get(), reinterpret_cast<char*>(h.get()) + v.header_bytes,
                                  sizeof *h - v.header_bytes, static_cast<off_t>(v.header_bytes));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            return failure(
                os_error(errc::io, looking, at_offset(v.path, v.header_bytes), "check the device"));
        }
        if (n == 0) break;
        v.header_bytes += static_cast<u64>(n);
    }
    // After a crash the header is that of the base, updated from the journal, if possible.
    // Not while another process has locked the region, and expects exclusive use of both files.
    const auto locked = detail::open_file(path, false);
    if (locked && v.header_bytes == sizeof *h) (void)detail::pending_redo::find(path, *h, false);
    for (unsigned i = 0; i < 2; ++i) {
        v.super_verdict[i] = judge(h->super[i]);
        if (!is_whole(v.super_verdict[i])) continue;
        if (!v.super || h->super[i].sequence > v.super->sequence) v.super = h->super[i];
    }
    if (v.super && v.super->format != layout::current_format) v.super.reset();
    if (!v.super) return v;  // the rest is not known to be a header
    if (const auto e = layout::epoch_record_load(h->epoch)) v.epoch = *e;
    for (const layout::root& r : h->roots) {
        if (r.value.load(std::memory_order_relaxed) == 0) continue;
        v.roots.push_back({std::string(r.name, ::strnlen(r.name, sizeof r.name)),
                           r.value.load(std::memory_order_relaxed), r.type, r.format});
    }
    read_segments(*h, v);
    const u64 pages = h->intent.pages.load(std::memory_order_relaxed);
    if (h->intent.check.load(std::memory_order_relaxed) == layout::growth_intent_check(pages)) {
        v.intended_pages = pages;
    }
    return v;
}

u64 header_view::segment_bytes(segment_kind kind) const noexcept {
    u64 bytes = 0;
    for (const segment& s : segments) {
        if (s.kind == kind) bytes += s.bytes();
    }
    return bytes;
}

std::optional<header_view::slot_space> header_view::second_slots() const noexcept {
    slot_space found;
    for (const segment& s : segments) {
        if (s.kind != segment_kind::slots) continue;
        found.slots += slot_segment(s).slots();
        found.bytes += s.bytes();
    }
    if (found.bytes == 0 || !super) return std::nullopt;
    found.table_bytes = found.bytes - found.slots * shadow::page_size;
    const u64 kept = kept_for_slots(super->total_pages) * layout::page_size;
    found.kept_bytes = kept - std::min(kept, found.bytes);
    return found;
}

std::optional<bool> header_view::small_values_in_leaves() const {
    for (const root_entry& r : roots) {
        if (const auto found = map_has_small_values(r.name, r.type, r.format)) return found;
    }
    return std::nullopt;
}

std::string header_view::uuid() const {
    if (!super) return "unknown";
    std::string text;
    for (unsigned i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", super->uuid[i]);
    }
    return text;
}

}  // namespace hf::tool
