#include "region/region.hpp"

#include "base/os_error.hpp"
#include "discipline/registry.hpp"
#include "persist/detect.hpp"
#include "persist/persist_point.hpp"
#include "region/header.hpp"
#include "region/huge_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace hf {
namespace {

using layout::page_size;

constexpr u32 max_fence_latency_ns = 1000;
constexpr u64 least_memory = u64{1} << 20;

result<void> check_options(const region_options& o, const std::string& name) {
    const auto absurd = [&name](std::string why, std::string next) {
        return failure({errc::usage, "open the region", name, std::move(why), std::move(next)});
    };
    if (name.find('\0') != std::string::npos) {
        return absurd("its path contains a zero byte", "give another path");
    }
    if (o.mode > open_mode::inspect) {
        return absurd("the open mode is unknown", "use one of open_mode");
    }
    if (registry::find(o.kind) == nullptr) {
        return absurd("the discipline is unknown", "use " + registry::all_names());
    }
    if (o.flush > flush_policy::never) {
        return absurd("the flush policy is unknown", "use one of flush_policy");
    }
    if (o.medium && (*o.medium < medium_kind::dax || *o.medium > medium_kind::file)) {
        return absurd("the medium is unknown", "use dax, eadr, shm or file, or leave it out");
    }
    if (o.image > image_kind::journalled) {
        return absurd("the image is unknown", "use one of image_kind");
    }
    if (o.fence_latency_ns > max_fence_latency_ns) {
        return absurd(
            "a fence latency of " + std::to_string(o.fence_latency_ns) + " ns was asked for",
            "choose 0 to 1000 ns");
    }
    if (o.first_epoch == 0 || o.first_epoch > (u64{1} << 62)) {
        return absurd("a first epoch of " + std::to_string(o.first_epoch) + " was asked for",
                      "choose 1 to 2^62");
    }
    if (o.memory != 0 && o.memory < least_memory) {
        return absurd("a memory of " + std::to_string(o.memory) + " bytes was asked for",
                      "choose 0 (what the machine allows) or at least " +
                          std::to_string(least_memory) + " bytes");
    }
    if (o.max_size > window_size || (o.max_size != 0 && o.max_size < page_size)) {
        return absurd("a maximal size of " + std::to_string(o.max_size) + " bytes was asked for",
                      "choose 0 (all there is) or " + std::to_string(page_size) + " to " +
                          std::to_string(window_size));
    }
    return {};
}

result<u64> initial_pages(u64 bytes, const region_options& o, const std::string& name) {
    const u64 limit = o.max_size == 0 ? window::bytes() : std::min(o.max_size, window::bytes());
    if (bytes == 0 || bytes > limit || align_up(bytes, page_size) > limit) {
        return failure({errc::usage, "create the region", name,
                        "an initial size of " + std::to_string(bytes) + " bytes was asked for",
                        "choose 1 to " + std::to_string(align_down(limit, page_size)) + " bytes"});
    }
    return align_up(bytes, page_size) / page_size;
}

// The medium of the file's file system, unless the options demand an impossible one.
result<medium_kind> agree_on_medium(const detail::file_handle& file, const region_options& o,
                                    const std::string& name, const region::medium_check& accept) {
    auto found = detect_medium(file.get(), name);
    if (!found) return found;
    const medium_kind kind = o.medium.value_or(*found);
    // A journal works wherever a file can be synced; the others need what they are named after.
    const medium_kind needed = kind == medium_kind::eadr ? medium_kind::dax : kind;
    if (needed != *found && kind != medium_kind::file) {
        return failure({errc::medium, "open the region", name,
                        "the medium " + std::string(to_string(kind)) +
                            " was asked for, but the file lies on " +
                            std::string(to_string(*found)),
                        "leave the medium to be found, or use another path"});
    }
    if (kind == medium_kind::file && o.image == image_kind::shared) {
        return failure({errc::medium, "open the region", name,
                        "a shared image was asked for, but on the medium file a store reaches the "
                        "disk at any time, in any order",
                        "leave the image to be chosen, or use tmpfs or persistent memory"});
    }
    if (accept && o.mode != open_mode::inspect) {
        if (auto ok = accept(kind, is_journalled(kind, o)); !ok) return tl::unexpected(ok.error());
    }
    return kind;
}

result<window> named(result<window> w, const std::string& name) {
    if (!w) w.error().where = name;
    return w;
}

result<window> take_window(const std::string& name) { return named(window::take(), name); }

result<window> window_for_new(const region_options& o, const std::string& name) {
    if (!o.keep_address || !o.window) return take_window(name);
    return named(window::take_number(*o.window), name);
}

/// The window whose address the region keeps. For inspection any other will do.
result<window> window_for(const detail::file_handle& file, const region_options& o,
                          const std::string& name) {
    const u64 address = detail::kept_address(file, name);
    if (address == 0) return take_window(name);
    auto kept = named(window::take_at(address), name);
    return kept || o.mode != open_mode::inspect ? std::move(kept) : take_window(name);
}

result<void> check_length(u64 bytes, const std::string& name) {
    if (bytes >= page_size) return {};
    if (bytes == 0) {
        return failure({errc::corrupt, "open the region", name, "the file is empty",
                        "remove it and let Holdfast create a new one, or restore a backup"});
    }
    return failure({errc::corrupt, "open the region", at_offset(name, bytes),
                    "the file has " + std::to_string(bytes) +
                        " bytes, less than the header of a region (" + std::to_string(page_size) +
                        ")",
                    "check that it is a region; restore it from a backup"});
}

struct found_file {
    detail::file_handle file;
    medium_kind kind;
};

result<found_file> create_file(const std::filesystem::path& path, const region_options& o,
                               const region::opener& by, const window& place) {
    const std::string name = path.string();
    if (detail::is_taken(path)) {
        return failure({errc::usage, "create the region", name,
                        "there is a file of this name already", "open it, or choose another name"});
    }
    const auto pages = initial_pages(o.initial_size, o, name);
    if (!pages) return tl::unexpected(pages.error());
    auto file = detail::create_unnamed(path);
    if (!file) return tl::unexpected(file.error());
    const auto kind = agree_on_medium(*file, o, name, by.accept);
    if (!kind) return tl::unexpected(kind.error());
    detail::wish_for_huge_pages(*file, 0, *pages * page_size);
    if (auto ok = detail::allocate(*file, name, 0, *pages * page_size); !ok) {
        return tl::unexpected(ok.error());
    }
    HF_PERSIST_POINT("region C1: space allocated before the header is written");
    const auto header = detail::blank_header();
    const u64 address = o.keep_address ? reinterpret_cast<u64>(place.base()) : 0;
    if (auto ok = detail::format_header(*header, o, *kind, *pages - 1, by.rooms, address); !ok) {
        return tl::unexpected(ok.error());
    }
    const auto bytes = std::as_bytes(std::span(header.get(), 1));
    if (auto ok = detail::write_start(*file, name, bytes); !ok) return tl::unexpected(ok.error());
    if (auto ok = detail::publish(*file, path); !ok) return tl::unexpected(ok.error());
    return found_file{std::move(*file), *kind};
}

result<found_file> find_file(const std::filesystem::path& path, const region_options& o,
                             const region::medium_check& accept) {
    auto file = detail::open_file(path, o.mode != open_mode::inspect);
    if (!file) return tl::unexpected(file.error());
    const auto kind = agree_on_medium(*file, o, path.string(), accept);
    if (!kind) return tl::unexpected(kind.error());
    return found_file{std::move(*file), *kind};
}

}  // namespace

result<std::unique_ptr<region>> region::open(const std::filesystem::path& path,
                                             const region_options& options, const opener& by) {
    const std::string name = path.string();
    if (auto ok = check_options(options, name); !ok) return tl::unexpected(ok.error());
    const auto attached = [&](window place, found_file found, bool created) {
        return attach(std::move(place), std::move(found.file), path, options, found.kind, created,
                      by.make_backing);
    };
    // Two processes may race to create; the loser opens what the winner made.
    for (int attempt = 0;; ++attempt) {
        if (options.mode != open_mode::create_new) {
            auto found = find_file(path, options, by.accept);
            if (found) {
                auto place = window_for(found->file, options, name);
                if (!place) return tl::unexpected(place.error());
                return attached(std::move(*place), std::move(*found), false);
            }
            if (found.error().code != errc::not_found ||
                options.mode != open_mode::open_or_create) {
                return tl::unexpected(found.error());
            }
        }
        // The window first: there is no file for a region that could not be mapped.
        auto place = window_for_new(options, name);
        if (!place) return tl::unexpected(place.error());
        auto made = create_file(path, options, by, *place);
        if (made) return attached(std::move(*place), std::move(*made), true);
        const bool lost_race = attempt == 0 && made.error().code == errc::usage;
        if (!lost_race) return tl::unexpected(made.error());
    }
}

std::unique_ptr<region> region::blank(window place, std::string name,
                                      const region_options& options) {
    std::unique_ptr<region> r(new region);
    r->window_ = std::move(place);
    r->name_ = std::move(name);
    r->kind_ = options.kind;
    r->read_only_ = options.mode == open_mode::inspect;
    const u64 limit = options.max_size == 0 ? window_size : options.max_size;
    r->max_pages_ = std::min(limit, window::bytes()) / page_size;
    return r;
}

result<std::unique_ptr<region>> region::attach(window place, detail::file_handle file,
                                               const std::filesystem::path& path,
                                               const region_options& options, medium_kind kind,
                                               bool created, const backing_maker& make_backing) {
    auto r = blank(std::move(place), path.string(), options);
    r->created_ = created;
    r->file_ = std::move(file);
    r->path_ = path;
    const auto size = detail::facts_of(r->file_, r->name_);
    if (!size) return tl::unexpected(size.error());
    if (auto ok = check_length(size->bytes, r->name_); !ok) return tl::unexpected(ok.error());
    const auto copy = detail::blank_header();
    const auto bytes_of_copy = std::as_writable_bytes(std::span(copy.get(), 1));
    if (auto ok = detail::read_start(r->file_, r->name_, bytes_of_copy); !ok) {
        return tl::unexpected(ok.error());
    }
    auto behind =
        make_backing({r->path_, r->file_, r->base(), r->max_pages_ * page_size, kind, options});
    if (!behind) return tl::unexpected(behind.error());
    r->backing_ = std::move(*behind);
    if (!r->read_only_) r->medium_ = r->backing_->make_medium();
    if (auto ok = r->backing_->overlay_header(*copy); !ok) return tl::unexpected(ok.error());
    auto facts = detail::judge_header(*copy, size->bytes, r->name_);
    if (!facts) return tl::unexpected(facts.error());
    if (auto ok = r->check_against(*facts, options); !ok) return tl::unexpected(ok.error());
    const u64 bytes = facts->pages * page_size;
    if (auto ok = r->backing_->check(facts->super, bytes); !ok) return tl::unexpected(ok.error());

    u64 file_bytes = size->bytes;
    if (auto ok = r->prepare_file(*size, bytes, file_bytes); !ok) return tl::unexpected(ok.error());
    // Everything after the header of a new region is growth.
    const u64 mapped_at_first = created ? page_size : bytes;
    for (const u64 from : {u64{0}, mapped_at_first}) {
        auto ok = r->map(from, from == 0 ? mapped_at_first : bytes);
        if (!ok) return tl::unexpected(ok.error());
    }
    if (r->read_only_) {
        const std::span mapped(r->base(), bytes);
        if (auto ok = r->backing_->overlay(mapped); !ok) return tl::unexpected(ok.error());
    } else {
        r->backing_->watch(0, bytes);
    }
    r->adopt(std::move(*facts), file_bytes);
    if (auto ok = r->make_sure_of_what_is_there(); !ok) return tl::unexpected(ok.error());
    return r;
}

// The process that had the region last may have been killed on a machine that runs on. The header,
// a page, is flushed even if it says that the region was closed in order: those words may not have
// been flushed. When it says so, the file had its length; a new file's name was still to come.
result<void> region::make_sure_of_what_is_there() {
    if (read_only_ || created_) return {};
    if (auto ok = detail::sync_directory_of(path_); !ok) return ok;
    // A journal's lines are durable already (recovery/redo.hpp, K0).
    if (backing_->is_private() && layout::is_journalled(super())) return {};
    // Stores of a killed process to the file itself, on whatever medium, may be in caches only. A
    // journalled image would be built on them, and no record holds their lines.
    if (!was_clean_) {
        if (auto ok = detail::sync(file_, name_); !ok) return ok;
    }
    medium_.flush(base(), page_size);
    if (backing_->is_private()) return {};  // the header becomes a part of the first record
    medium_.fence();
    HF_PERSIST_POINT("region K1: what a killed process left is durable before it is built upon");
    return {};
}

/// For writing: all that is mapped is allocated, and the file is up to date.
result<void> region::prepare_file(const detail::file_facts& facts, u64 bytes, u64& file_bytes) {
    if (read_only_) return {};
    // A copy may have come back with holes; a store into one would kill the process when the disk
    // is full.
    if (facts.allocated_bytes < bytes) {
        if (auto ok = detail::allocate(file_, name_, 0, bytes); !ok) return ok;
    }
    const auto lost_growth = backing_->bring_up_to_date();
    if (!lost_growth) return tl::unexpected(lost_growth.error());
    return *lost_growth ? cut_off_lost_growth(bytes, file_bytes) : result<void>{};
}

// With a journal the file grows at once, its directory with the epoch. A crash that took the
// epoch has left a tail, and no intent that would explain it once the region is closed in order.
result<void> region::cut_off_lost_growth(u64 bytes, u64& file_bytes) const {
    if (file_bytes <= bytes) return {};
    if (auto ok = detail::truncate(file_, name_, bytes); !ok) return ok;
    file_bytes = bytes;
    return detail::sync(file_, name_);
}

result<void> region::check_against(const detail::header_facts& facts,
                                   const region_options& options) const {
    if (facts.pages * page_size > window::bytes()) {
        return failure(failed(errc::no_space, "open the region",
                              "it has " + std::to_string(facts.pages * page_size) +
                                  " bytes, and this process could reserve " +
                                  std::to_string(window::bytes()) + " of its address space",
                              "raise the limit on virtual memory (ulimit -v)"));
    }
    if (read_only_) return {};
    const bool keeps_address = (facts.super.features & layout::feature_keeps_address) != 0;
    if (keeps_address && facts.super.address != reinterpret_cast<u64>(base())) {
        return failure(failed(errc::corrupt, "open the region",
                              "its superblocks name different addresses for it",
                              "check the file; restore it from a backup"));
    }
    if (facts.super.kind != options.kind) {
        return failure(failed(errc::incompatible, "open the region",
                              "it was created for the discipline " +
                                  std::string(to_string(facts.super.kind)) + ", not " +
                                  std::string(to_string(options.kind)),
                              "open it with its own discipline"));
    }
    if (facts.pages > max_pages_) {
        return failure(failed(errc::usage, "open the region",
                              "it has " + std::to_string(facts.pages * page_size) +
                                  " bytes, more than the maximal size of " +
                                  std::to_string(max_pages_ * page_size),
                              "allow a larger maximal size"));
    }
    return {};
}

void region::adopt(detail::header_facts facts, u64 file_bytes) {
    kind_ = facts.super.kind;
    was_clean_ = facts.super.clean != 0;
    damage_ = std::move(facts.damage);
    segments_ = std::move(facts.segments);
    bytes_.store(facts.pages * page_size, std::memory_order_release);
    file_bytes_ = file_bytes;
    newest_ = facts.newest;
    adopt(facts.super);
}

result<std::unique_ptr<region>> region::create_volatile(u64 bytes, const region_options& options) {
    const std::string name = "anonymous memory";
    if (auto ok = check_options(options, name); !ok) return tl::unexpected(ok.error());
    const auto pages = initial_pages(bytes, options, name);
    if (!pages) return tl::unexpected(pages.error());
    auto place = take_window(name);
    if (!place) return tl::unexpected(place.error());
    auto r = blank(std::move(*place), name, options);
    r->created_ = true;
    r->read_only_ = false;
    if (auto ok = r->map(0, *pages * page_size); !ok) return tl::unexpected(ok.error());
    if (auto ok = detail::format_header(r->header(), options, medium_kind::shm, *pages - 1); !ok) {
        return tl::unexpected(ok.error());
    }
    auto facts = detail::judge_header(r->header(), *pages * page_size, name);
    if (!facts) return tl::unexpected(facts.error());
    r->adopt(std::move(*facts), *pages * page_size);
    return r;
}

// The backing ends first, with its threads; then the window's destructor maps over everything.
region::~region() = default;

result<void> region::check_files() const {
    if (is_volatile()) return {};
    std::filesystem::path missing;
    if (!detail::has_name(file_)) {
        missing = path_;
    } else if (backing_) {
        missing = backing_->missing_file();
    }
    if (missing.empty()) return {};
    return failure({errc::io, "keep the file", missing.string(),
                    "it was removed while it is in use: its contents are lost when this process "
                    "ends, or dies",
                    "save the records through this process before it ends"});
}

error region::failed(errc code, std::string what, std::string why, std::string next) const {
    return {code, std::move(what), name_, std::move(why), std::move(next)};
}

result<void> region::map(u64 from, u64 to) {
    const std::string what = "map the region";
    int flags = MAP_FIXED;
    int fd = -1;
    off_t offset = 0;
    if (is_volatile()) {
        flags |= MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    } else {
        fd = file_.get();
        offset = static_cast<off_t>(from);
        if (read_only_ || backing_->is_private()) {
            flags |= MAP_PRIVATE | MAP_NORESERVE;
        } else if (medium_.kind() == medium_kind::shm) {
            flags |= MAP_SHARED;
        } else {
            flags |= MAP_SHARED_VALIDATE | MAP_SYNC;
        }
    }
    if (from == to) return {};
    if (backing_ && from != 0 && backing_->map_growth(from, to)) return {};
    void* p = ::mmap(base() + from, to - from, PROT_READ | PROT_WRITE, flags, fd, offset);
    if (p == MAP_FAILED) {
        return failure(
            os_error(errc::io, what, at_offset(name_, from),
                     "check the limits on memory and mappings (ulimit -v, vm.max_map_count)"));
    }
    ::madvise(p, to - from,
              MADV_HUGEPAGE);  // a wish: refused where the kernel has no huge pages for it
    if (backing_) backing_->mapped_file(from, to);
    return {};
}

void region::back_rest_of_window() noexcept {
    const u64 most = (window::bytes() - reach_of_damage) / layout::page_size;
    max_pages_ = std::max(size() / layout::page_size, std::min(max_pages_, most));
    const u64 end = align_up(size(), layout::page_size);
    constexpr int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // Where memory is never promised twice (vm.overcommit_memory), the memory can only be read.
    for (const int protection : {PROT_READ | PROT_WRITE, PROT_READ}) {
        const u64 rest = window::bytes() - end;
        if (::mmap(base() + end, rest, protection, flags, -1, 0) != MAP_FAILED) {
            rest_protection_ = protection;
            return;
        }
    }
}

}  // namespace hf
