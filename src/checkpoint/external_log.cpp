#include "checkpoint/external_log.hpp"

#include "alloc/geometry.hpp"
#include "base/check.hpp"
#include "base/checksum.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

namespace hf {
namespace detail {

u64 log_entry_checksum(const log_entry_header* entry, u64 seed) noexcept {
    const auto* bytes = reinterpret_cast<const std::byte*>(entry);
    const std::size_t covered = sizeof(*entry) - sizeof(entry->checksum) + entry->size;
    return checksum64(bytes + sizeof(entry->checksum), covered, seed);
}

u64 log_seed(const region& r) noexcept {
    return checksum64(r.super().uuid, sizeof(r.super().uuid), 0x4c4f47);
}

}  // namespace detail

namespace {

constexpr u64 most_first_pages = 16;     // 1 MiB
constexpr u64 max_segment_pages = 1024;  // 64 MiB

/// Of what the heap leaves to logs, a sixteenth: other threads come, too.
u64 first_segment_pages(const region& r) {
    return std::clamp<u64>(kept_from_heap(r.max_pages()) / 16, 1, most_first_pages);
}

#if defined(HF_MUTATION_skip_log)
// A seeded bug, for the tests of the tests: every third entry is not written.
bool skip_this_entry() noexcept {
    static std::atomic<unsigned> n{0};
    return n.fetch_add(1, std::memory_order_relaxed) % 3 == 2;
}
#endif

}  // namespace

void log_writer::attach(region& r, u16 owner) {
    region_ = &r;
    owner_ = owner;
    seed_ = detail::log_seed(r);
    epoch_ = 0;
    place_ = {0, 0};
    segments_.clear();
    for (const segment& s : r.segments()) {
        if (s.kind == segment_kind::log && s.owner == owner) segments_.push_back(s);
    }
}

log_writer::place log_writer::next_place(place p, u64 stride) const noexcept {
    if (p.segment < segments_.size() && p.at + stride > segments_[p.segment].bytes()) {
        return {p.segment + 1, 0};
    }
    return p;
}

result<void> log_writer::make_room(std::span<const log_object> objects) {
    place p = place_;
    for (const log_object& o : objects) {
        HF_CHECK(o.size <= max_log_object, "object too large for the external log");
        HF_CHECK(o.offset % sizeof(u64) == 0, "an object of the external log begins at a word");
        const u64 stride = detail::log_entry_stride(o.size);
        p = next_place(p, stride);
        if (p.segment == segments_.size()) {
            if (auto ok = add_segment(); !ok) return ok;
        }
        p.at += stride;
    }
    return {};
}

/// What is left of a full region is for its logs. Half of it is for lanes that have none yet: one
/// that has can begin anew with the next epoch, one that has not could never change anything.
result<void> log_writer::add_segment() {
    static_assert(detail::log_entry_stride(max_log_object) <= layout::page_size);
    const u64 left = region_->max_pages() - region_->size() / layout::page_size;
    const u64 for_others = segments_.empty() ? 0 : kept_from_heap(region_->max_pages()) / 2;
    if (left <= for_others) {
        return failure({errc::no_space, "make the undo log longer", region_->path().string(),
                        "of the pages that are left, " + std::to_string(left) +
                            " are for the logs of other threads",
                        "end the epoch, or allow a larger maximal size"});
    }
    u64 pages = segments_.empty() ? first_segment_pages(*region_)
                                  : std::min(2 * segments_.back().pages, max_segment_pages);
    pages = std::min(pages, left - for_others);
    for (;; pages = std::max<u64>(pages / 4, 1)) {
        auto grown = region_->grow(segment_kind::log, pages, owner_);
        if (grown) {
            segments_.push_back(*grown);
            return {};
        }
        if (pages == 1 || grown.error().code != errc::no_space) {
            return tl::unexpected(grown.error());
        }
    }
}

namespace {

/// Copies an object word by word, each with an atomic load. The object's owner holds its lock, but
/// a lock that lies in the object is still touched: others, who saw it free, try to take it.
void copy_words(void* to, const void* from, u64 size) noexcept {
    using word [[gnu::may_alias]] = u64;
    const u64 words = size / sizeof(u64);
    for (u64 i = 0; i < words; ++i) {
        static_cast<word*>(to)[i] =
            __atomic_load_n(static_cast<const word*>(from) + i, __ATOMIC_RELAXED);
    }
    for (u64 i = words * sizeof(u64); i < size; ++i) {
        static_cast<u8*>(to)[i] =
            __atomic_load_n(static_cast<const u8*>(from) + i, __ATOMIC_RELAXED);
    }
}

}  // namespace

void log_writer::write_entry(const log_object& object, u64 at, u64 epoch) noexcept {
    auto* entry = region_->at<detail::log_entry_header>(at);
    entry->epoch = epoch;
    entry->object = object.offset;
    entry->size = object.size;
    entry->zero = 0;
    copy_words(entry + 1, region_->base() + object.offset, object.size);
    entry->checksum = detail::log_entry_checksum(entry, seed_);
    region_->med().flush(entry, sizeof(*entry) + object.size);
}

result<void> log_writer::append(std::span<const log_object> objects,
                                u64 epoch) noexcept(!crashes_throw) {
    if (region_->med().is_atomic()) return {};  // no part of an epoch outlives a crash
    if (epoch_ != epoch) {                      // X2: a new epoch starts over
        epoch_ = epoch;
        place_ = {0, 0};
    }
    if (auto room = make_room(objects); !room) return room;
    u64 written = 0;
    for (const log_object& o : objects) {
        const u64 stride = detail::log_entry_stride(o.size);
        place_ = next_place(place_, stride);
#if defined(HF_MUTATION_skip_log)
        if (skip_this_entry()) continue;
#endif
        write_entry(o, segments_[place_.segment].offset + place_.at, epoch);
        place_.at += stride;
        written += stride;
    }
    region_->med().fence();
    HF_PERSIST_POINT("checkpoint L1: undo images durable before their objects change");
    entries_.store(entries_.load(std::memory_order_relaxed) + objects.size(),
                   std::memory_order_relaxed);
    bytes_.store(bytes_.load(std::memory_order_relaxed) + written, std::memory_order_relaxed);
    return {};
}

namespace {

/// Applies one segment's prefix of entries. An entry with a right checksum that points outside of
/// the region is corruption, not a torn write.
result<log_application> apply_segment(region& r, const segment& s, u64 epoch, u64 seed) {
    log_application done;
    u64 at = 0;
    while (at < s.bytes()) {  // entries begin on lines
        const auto* entry = r.at<detail::log_entry_header>(s.offset + at);
        if (entry->epoch != epoch || entry->size > max_log_object) break;
        const u64 stride = detail::log_entry_stride(entry->size);
        if (at + stride > s.bytes() || entry->checksum != detail::log_entry_checksum(entry, seed)) {
            break;
        }
        if (entry->object < layout::page_size || entry->object > r.size() - entry->size) {
            return failure({errc::corrupt, "apply the external log",
                            r.path().string() + " at offset " + std::to_string(s.offset + at),
                            "a log entry names an object outside of the region",
                            "run `holdfast check` and restore the file from a copy"});
        }
        std::memcpy(r.base() + entry->object, entry + 1, entry->size);
        r.med().flush(r.base() + entry->object, entry->size);
        ++done.entries;
        done.bytes += entry->size;
        at += stride;
    }
    r.med().fence();
    return done;
}

}  // namespace

result<log_application> apply_log(region& r, u64 epoch, unsigned threads) {
    std::vector<segment> logs;
    for (const segment& s : r.segments()) {
        if (s.kind == segment_kind::log) logs.push_back(s);
    }
    const u64 seed = detail::log_seed(r);
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    log_application total;
    std::optional<error> failed;
    auto work = [&] {
        for (std::size_t i = next.fetch_add(1); i < logs.size(); i = next.fetch_add(1)) {
            auto done = apply_segment(r, logs[i], epoch, seed);
            const std::lock_guard guard(mutex);
            if (!done) {
                failed = done.error();
            } else {
                total.entries += done->entries;
                total.bytes += done->bytes;
            }
        }
    };
    const std::size_t helpers =
        std::min<std::size_t>(threads > 0 ? threads - 1 : 0, logs.size() / 2);
    std::vector<std::thread> pool;
    pool.reserve(helpers);
    for (std::size_t i = 0; i < helpers; ++i) pool.emplace_back(work);
    work();
    for (std::thread& t : pool) t.join();
    if (failed) return failure(*failed);
    HF_PERSIST_POINT(
        "checkpoint R1: undo images applied and durable before the epoch is declared failed");
    return total;
}

}  // namespace hf
