#include "transaction/commit_log.hpp"

#include "base/check.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

namespace hf {
namespace {

constexpr u64 most_first_pages = 16;     // 1 MiB
constexpr u64 max_segment_pages = 4096;  // 256 MiB
/// 16 KiB: it stays in the nearest cache. In the crash lab so few that records go both ways.
constexpr std::size_t draft_words = crashes_throw ? 40 : 2048;

/// Two that look at once what is left would take the last page both. Of all regions: it is rare.
std::mutex adding;

}  // namespace

void commit_log::attach(region& r, u16 owner) {
    region_ = &r;
    owner_ = owner;
    seed_ = record_seed(r);
    epoch_ = 0;
    place_ = {};
    segments_.clear();
    draft_.resize(draft_words);
    for (const segment& s : r.segments()) {
        if (s.kind == segment_kind::log && s.owner == owner) segments_.push_back(s);
    }
}

result<void> commit_log::make_room(u64 bytes, u64 epoch) {
    begin_epoch(epoch);
    // Where none is found, a shorter one may still go to where the last one ends.
    for (place next = place_; next.segment < segments_.size(); next = {next.segment + 1, 0}) {
        if (next.at + bytes > segments_[next.segment].bytes()) continue;
        place_ = next;
        room_ = bytes;
        return {};
    }
    auto added = add_segment(bytes);
    if (added) room_ = bytes;
    return added;
}

result<void> commit_log::add_segment(u64 least) {
    const std::lock_guard guard(adding);
    const u64 least_pages = (least + layout::page_size - 1) / layout::page_size;
    const u64 most = pages_left_for_log(*region_, owner_);
    if (least_pages > most) {
        return failure({errc::no_space, "commit a transaction", region_->path().string(),
                        "its record of " + std::to_string(least) + " bytes finds " +
                            std::to_string(most * layout::page_size) + " in what is kept for logs",
                        "make it smaller, or allow a larger maximal size"});
    }
    u64 pages = segments_.empty() ? std::clamp<u64>(kept_from_heap(region_->max_pages()) / 16, 1,
                                                    most_first_pages)
                                  : std::min(2 * segments_.back().pages, max_segment_pages);
    pages = std::min(std::max(pages, least_pages), most);
    for (;; pages = std::max(pages / 4, least_pages)) {
        auto grown = region_->grow(segment_kind::log, pages, owner_);
        if (grown) {
            segments_.push_back(*grown);
            place_ = {segments_.size() - 1, 0};
            return {};
        }
        if (pages == least_pages || grown.error().code != errc::no_space) {
            return tl::unexpected(grown.error());
        }
    }
}

u64 commit_log::lay(u64 epoch, u64 version, const record_body& body) noexcept {
    const u64 room = std::exchange(room_, 0);
    HF_CHECK(epoch_ == epoch && room != 0 && place_.segment < segments_.size() &&
                 place_.at + room <= segments_[place_.segment].bytes(),
             "G2: a commit record where no room was made");
    HF_ASSERT(record_bytes(body) <= room, "G2: a commit record of another length");
    const u64 at = segments_[place_.segment].offset + place_.at;
    const record_facts facts{epoch, version, ++number_};
    u64 bytes = 0;
    if (room <= 8 * draft_.size()) {
        auto* const draft = reinterpret_cast<record_header*>(draft_.data());
        bytes = write_record(*region_, draft, facts, body, seed_);
        region_->med().stream(region_->at<std::byte>(at), draft, bytes);
    } else {
        bytes = write_record(*region_, region_->at<record_header>(at), facts, body, seed_);
        region_->med().flush(region_->at<std::byte>(at), bytes);
    }
    place_.at += bytes;
    records_.store(records_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    bytes_.store(bytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    return at;
}

}  // namespace hf
