#include "transaction/commit_log.hpp"

#include "base/check.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace hf {
namespace {

/// 16 KiB: it stays in the nearest cache. In the crash lab so few that records go both ways.
constexpr std::size_t draft_words = crashes_throw ? 40 : 2048;

}  // namespace

void commit_log::attach(region& r, u16 owner) {
    region_ = &r;
    seed_ = record_seed(r);
    epoch_ = 0;
    place_ = {};
    draft_.resize(draft_words);
    space_.attach(r, owner);
}

result<void> commit_log::make_room(u64 bytes, u64 epoch) {
    begin_epoch(epoch);
    in_pieces_ = false;
    // Where none is found, a shorter one may still go to where the last one ends.
    log_place next = space_.place_for(place_, bytes);
    if (next.segment == space_.segments().size()) {
        const u64 pages = (bytes + layout::page_size - 1) / layout::page_size;
        if (auto ok = space_.add(pages); !ok) {
            if (ok.error().code != errc::no_space) return ok;
            return make_room_in_pieces(bytes);
        }
    }
    place_ = next;
    room_ = bytes;
    return {};
}

/// Only for the first record of an epoch: the end of the epoch makes room for others.
result<void> commit_log::make_room_in_pieces(u64 bytes) {
    const auto refused = [&](const std::string& why) -> tl::unexpected<error> {
        return failure({errc::no_space, "commit a transaction", region_->path().string(),
                        "its record of " + std::to_string(bytes) + " bytes finds " + why,
                        "make it smaller, or allow a larger maximal size"});
    };
    const log_share share = space_.owner() == 0 ? log_share::all : log_share::fair;
    const u64 room = space_.room_with(place_, share);
    if (number_ != 0 || room < bytes) {
        const u64 kept = kept_from_heap(region_->max_pages()) * layout::page_size;
        return refused("room for " + std::to_string(room) + " in the " + std::to_string(kept) +
                       " that the region keeps for logs");
    }
    if (auto ok = space_.add_until(place_, bytes, share); !ok) return ok;
    try {
        if (8 * draft_.size() < bytes) draft_.resize(bytes / 8);
    } catch (const std::bad_alloc&) {
        return refused("no memory of that length");
    }
    in_pieces_ = true;
    room_ = bytes;
    return {};
}

/// Copies the record to its place, past the caches.
void commit_log::copy_out(const u64* draft, u64 bytes) const noexcept {
    for (log_place p = place_; bytes != 0; p = {p.segment + 1, 0}) {
        const u64 here = std::min(bytes, space_.room_at(p));
        const u64 at = space_.segments()[p.segment].offset + p.at;
        if (here != 0) region_->med().stream(region_->at<std::byte>(at), draft, here);
        draft += here / 8;
        bytes -= here;
    }
}

u64 commit_log::lay(u64 epoch, u64 version, const record_body& body) noexcept {
    const u64 room = std::exchange(room_, 0);
    HF_CHECK(epoch_ == epoch && room != 0 && (in_pieces_ || space_.room_at(place_) >= room),
             "G2: a commit record where no room was made");
    HF_ASSERT(record_bytes(body) <= room, "G2: a commit record of another length");
    if (space_.room_at(place_) == 0) place_ = {place_.segment + 1, 0};  // before one in pieces
    const u64 at = space_.segments()[place_.segment].offset + place_.at;
    const record_facts facts{epoch, version, ++number_, in_pieces_};
    u64 bytes = 0;
    if (room <= 8 * draft_.size()) {
        auto* const draft = reinterpret_cast<record_header*>(draft_.data());
        bytes = write_record(*region_, draft, facts, body, seed_);
        copy_out(draft_.data(), bytes);
    } else {
        bytes = write_record(*region_, region_->at<record_header>(at), facts, body, seed_);
        region_->med().flush(region_->at<std::byte>(at), bytes);
    }
    place_ = space_.after(place_, bytes);
    if (draft_.size() > draft_words) draft_.resize(draft_words);
    records_.store(records_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    bytes_.store(bytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    return at;
}

}  // namespace hf
