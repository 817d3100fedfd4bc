// Changes of a region's header while it is open: segments, superblocks, roots.
#include "base/held_up.hpp"
#include "base/lock_order.hpp"
#include "base/os_error.hpp"
#include "persist/ordered.hpp"
#include "persist/persist_point.hpp"
#include "region/region.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace hf {

using layout::page_size;

result<segment> region::grow(segment_kind kind, u64 pages, u16 owner) {
    HF_CHECK(name_of(kind).has_value(), "an unregistered kind of segment");
    HF_CHECK(pages != 0, "a segment has at least one page");
    const std::string what = "grow the region by " + std::to_string(pages) + " pages";
    if (read_only_) {
        return failure(
            failed(errc::denied, what, "it is open for inspection only", "open it for writing"));
    }
    const held_up by_the_disk;
    const ranked_guard lock(lock_rank::growth, growth_mutex_);
    const u64 old_pages = bytes_.load(std::memory_order_relaxed) / page_size;
    if (pages > max_pages_ - old_pages) {
        return failure(failed(errc::no_space, what,
                              "it has " + std::to_string(old_pages) +
                                  " pages of 64 KiB and may have " + std::to_string(max_pages_),
                              "allow a larger maximal size"));
    }
    const auto position = static_cast<unsigned>(segments_.size());
    if (position == layout::max_segments) {
        return failure(failed(errc::no_space, what, "its directory of segments is full",
                              "copy the data into a new region"));
    }
    const u64 old_bytes = old_pages * page_size;
    const u64 new_bytes = old_bytes + pages * page_size;
    if (auto ok = extend_file(old_bytes, new_bytes); !ok) return tl::unexpected(ok.error());
    if (auto ok = map(old_bytes, new_bytes); !ok) {
        take_back(old_bytes, new_bytes);
        return tl::unexpected(ok.error());
    }
    if (backing_) backing_->watch(old_bytes, new_bytes);
    HF_PERSIST_POINT("region G3: pages mapped before the directory names them");
    const u64 word =
        layout::pack_segment(position, {static_cast<u32>(pages), owner, static_cast<u8>(kind)});
    std::atomic<u64>& entry = header().segments[position];
    entry.store(word, std::memory_order_release);
    medium_.persist(&entry, sizeof entry);
    HF_PERSIST_POINT("region G4: directory word durable before the intent is cleared");
    write_intent(0);
    HF_PERSIST_POINT("region G5: intent cleared before the next growth");
    segments_.push_back({old_bytes, pages, kind, owner});
    bytes_.store(new_bytes, std::memory_order_release);
    return segments_.back();
}

result<void> region::extend_file(u64 old_bytes, u64 new_bytes) {
    if (is_volatile()) return {};
    if (file_bytes_ > old_bytes) {
        // The tail of an interrupted growth. Its intent must not be cleared before.
        if (auto ok = detail::truncate(file_, name_, old_bytes); !ok) return ok;
        if (auto ok = backing_->sync(); !ok) return ok;
        file_bytes_ = old_bytes;
        HF_PERSIST_POINT("region G0: tail of a broken growth cut off before a new intent");
    }
    write_intent(new_bytes / page_size);
    HF_PERSIST_POINT("region G1: intent durable before the file grows");
    file_bytes_ = new_bytes;  // upper bound: the next growth truncates what cannot be undone here
    auto grown = detail::allocate(file_, name_, old_bytes, new_bytes);
    if (grown) grown = backing_->has_grown(new_bytes);
    if (!grown) {
        take_back(old_bytes, new_bytes);
        return grown;
    }
    HF_PERSIST_POINT("region G2: length and blocks durable before they are mapped");
    return {};
}

// If even this fails, the intent stays and explains the tail.
void region::take_back(u64 old_bytes, u64 new_bytes) {
    // A failed mapping may have left a hole in the window. Other threads may read there, if the
    // rest of the window is backed.
    const auto is_reserved = [&](int protection) {
        return ::mmap(base() + old_bytes, new_bytes - old_bytes, protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
    };
    HF_CHECK(is_reserved(rest_protection_) || is_reserved(PROT_NONE),
             "the kernel refuses to reserve a window again");
    if (is_volatile()) return;
    if (detail::truncate(file_, name_, old_bytes) && backing_->sync()) {
        file_bytes_ = old_bytes;
        write_intent(0);
    }
}

// pages is 0 while check changes, so no prefix of these stores is a wrong intent.
void region::write_intent(u64 pages) {
    layout::growth_intent& intent = header().intent;
    ordered_store(intent.pages, 0);
    if (pages != 0) {
        ordered_store(intent.check, layout::growth_intent_check(pages));
        ordered_store(intent.pages, pages);
    }
    medium_.persist(&intent, sizeof intent);
}

std::vector<segment> region::segments() const {
    const ranked_guard lock(lock_rank::growth, growth_mutex_);
    return segments_;
}

void region::adopt(const layout::superblock& s) {
    snapshots_.push_back(std::make_unique<const layout::superblock>(s));
    super_.store(snapshots_.back().get(), std::memory_order_release);
}

result<void> region::update_super(const std::function<void(layout::superblock&)>& change) {
    const ranked_guard lock(lock_rank::superblocks, super_mutex_);
    layout::superblock next = super();
    change(next);
    if (!read_only_) layout::set_storage(next, medium_.kind(), medium_.is_atomic());
    next.total_pages = size() / page_size;
    next.sequence = super().sequence + 1;
    next.checksum = layout::superblock_checksum(next);
    const auto write = [this, &next](unsigned copy) {
        std::memcpy(&header().super[copy], &next, sizeof next);
        medium_.persist(&header().super[copy], sizeof next);
    };
    const unsigned older = 1 - newest_;
    write(older);
    HF_PERSIST_POINT("region S1: one superblock durable before the other is touched");
    write(newest_);
    HF_PERSIST_POINT("region S2: both superblocks durable before the update counts");
    newest_ = older;
    adopt(next);
    return backing_ ? backing_->superblocks_are_durable() : result<void>{};
}

region::root* region::lookup(std::string_view name) const noexcept {
    for (root& r : header().roots) {
        if (r.value.load(std::memory_order_acquire) == 0) return nullptr;
        if (std::string_view(r.name, ::strnlen(r.name, sizeof r.name)) == name) return &r;
    }
    return nullptr;
}

result<region::root*> region::find_root(std::string_view name) const {
    const ranked_guard lock(lock_rank::roots, root_mutex_);
    if (root* found = lookup(name)) return found;
    return failure(failed(errc::not_found, "find the root \"" + std::string(name) + "\"",
                          "the region has no root of this name",
                          "check what the region was made for"));
}

result<region::root*> region::publish_root(std::string_view name, u64 type, u32 format, u64 value) {
    HF_CHECK(value != 0, "a root leads somewhere");
    const std::string what = "publish the root \"" + std::string(name) + "\"";
    if (name.empty() || name.size() >= sizeof(root::name) || name.find('\0') != name.npos) {
        return failure(failed(errc::usage, what,
                              "a root's name has 1 to 23 bytes, none of them zero",
                              "choose another name"));
    }
    const ranked_guard lock(lock_rank::roots, root_mutex_);
    if (lookup(name) != nullptr) {
        return failure(
            failed(errc::usage, what, "there is a root of this name", "choose another name"));
    }
    auto& roots = header().roots;
    const auto free = std::find_if(std::begin(roots), std::end(roots), [](const root& r) {
        return r.value.load(std::memory_order_relaxed) == 0;
    });
    if (free == std::end(roots)) {
        return failure(failed(errc::no_space, what,
                              "all " + std::to_string(layout::max_roots) + " roots are in use",
                              "keep several objects below one root"));
    }
    // One line, and the value is the last store to it: no flush in between (PCSO).
    static_assert(sizeof *free == line_size);
    std::memset(free->name, 0, sizeof free->name);
    std::memcpy(free->name, name.data(), name.size());
    free->type = type;
    free->format = format;
    free->reserved0 = 0;
    free->checksum = layout::root_checksum(*free, value);
    ordered_store(free->value, value);
    medium_.persist(free, sizeof *free);
    HF_PERSIST_POINT("region R1: root durable before it is relied on");
    return free;
}

}  // namespace hf
