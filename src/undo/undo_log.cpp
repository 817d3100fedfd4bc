#include "undo/undo_log.hpp"

#include "base/check.hpp"
#include "base/checksum.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace hf {
namespace detail {

namespace {

/// `size`: entry->size, which the compiler may know.
[[gnu::always_inline]] inline u64 checksum_of(const log_entry_header* entry, u64 size,
                                              u64 seed) noexcept {
    const auto* bytes = reinterpret_cast<const std::byte*>(entry);
    const std::size_t covered = sizeof(*entry) - sizeof(entry->checksum) + size;
    return checksum64(bytes + sizeof(entry->checksum), covered, seed);
}

}  // namespace

u64 log_entry_checksum(const log_entry_header* entry, u64 seed) noexcept {
    return checksum_of(entry, entry->size, seed);
}

u64 log_seed(const region& r) noexcept {
    return checksum64(r.super().uuid, sizeof(r.super().uuid), 0x4c4f47);
}

}  // namespace detail

namespace {

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
    seed_ = detail::log_seed(r);
    epoch_ = 0;
    place_ = {};
    space_.attach(r, owner);
}

/// An entry fits into any segment: a page is larger.
log_place log_writer::next_place(log_place p, u64 stride) const noexcept {
    static_assert(detail::log_entry_stride(max_log_object) <= layout::page_size);
    if (space_.room_at(p) >= stride) return p;
    return space_.place_for(p, stride);
}

result<void> log_writer::make_room(std::span<const log_object> objects) {
    log_place p = place_;
    for (const log_object& o : objects) {
        HF_CHECK(o.size <= max_log_object, "object too large for the external log");
        HF_CHECK(o.offset % sizeof(u64) == 0, "an object of the external log begins at a word");
        const u64 stride = detail::log_entry_stride(o.size);
        p = next_place(p, stride);
        if (p.segment == space_.segments().size()) {
            if (auto ok = space_.add(1); !ok) return ok;
        }
        p.at += stride;
    }
    return {};
}

namespace {

/// Copies an object word by word, each with an atomic load. The object's owner holds its lock, but
/// a lock in the object still changes: other threads, which saw it free, try to take it.
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

[[gnu::always_inline]] inline void log_writer::write_entry(const log_object& object,
                                                           u64 at) noexcept {
    auto* entry = region_->at<detail::log_entry_header>(at);
    entry->epoch = epoch_;
    entry->object = object.offset;
    entry->size = object.size;
    entry->append = appends_;
    copy_words(entry + 1, region_->base() + object.offset, object.size);
    entry->checksum = detail::checksum_of(entry, object.size, seed_);
    region_->med().flush(entry, sizeof(*entry) + object.size);
}

/// Makes the entries durable that were just written, and counts them.
inline void log_writer::complete(u64 entries, u64 bytes) noexcept(!crashes_throw) {
    region_->med().fence();
    HF_PERSIST_POINT("undo L1: undo images durable before their objects change");
    entries_.store(entries_.load(std::memory_order_relaxed) + entries, std::memory_order_relaxed);
    bytes_.store(bytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

result<void> log_writer::append(std::span<const log_object> objects,
                                u64 epoch) noexcept(!crashes_throw) {
    if (region_->med().is_atomic()) return {};  // no part of an epoch outlives a crash
    if (epoch_ != epoch) {                      // X2: a new epoch restarts the log
        epoch_ = epoch;
        appends_ = 0;
        place_ = {};
    }
    const bool fits = objects.size() == 1 &&
                      space_.room_at(place_) >= detail::log_entry_stride(objects[0].size) &&
                      objects[0].size <= max_log_object;
    if (!fits) {
        if (auto room = make_room(objects); !room) return room;
    }
    ++appends_;
    u64 written = 0;
    for (const log_object& o : objects) {
        const u64 stride = detail::log_entry_stride(o.size);
        place_ = next_place(place_, stride);
#if defined(HF_MUTATION_skip_log)
        if (skip_this_entry()) continue;
#endif
        write_entry(o, space_.segments()[place_.segment].offset + place_.at);
        place_.at += stride;
        written += stride;
    }
    complete(objects.size(), written);
    return {};
}

bool log_writer::try_append_line(u64 offset, u64 epoch) noexcept(!crashes_throw) {
    constexpr u64 stride = detail::log_entry_stride(line_size);
    if (epoch_ != epoch || space_.room_at(place_) < stride || region_->med().is_atomic())
        return false;
    ++appends_;
#if defined(HF_MUTATION_skip_log)
    if (skip_this_entry()) return true;
#endif
    const u64 at = space_.segments()[place_.segment].offset + place_.at;
    write_entry({offset, line_size}, at);
    place_.at += stride;
    complete(1, stride);
    // The entry after the next one: a log that is longer than the cache is written again from its
    // start in each epoch. Beyond the segment there is nothing to fetch, and no harm in asking.
    const std::byte* const soon = region_->base() + at + 2 * stride;
    __builtin_prefetch(soon, 1);
    __builtin_prefetch(soon + line_size, 1);
    return true;
}

namespace {

/// The log of one lane, as recovery reads it: its segments, in the order in which they were
/// written.
class lane_entries {
   public:
    lane_entries(region& r, u64 epoch, u64 seed, std::span<const segment> segments)
        : region_(r), epoch_(epoch), seed_(seed), segments_(segments) {}

    /// Copies the prefixes back.
    result<log_application> apply() {
        for (const segment& s : segments_) {
            if (auto applied = apply_prefix(s); !applied) return tl::unexpected(applied.error());
        }
        region_.med().fence();
        return done_;
    }

   private:
    using header = detail::log_entry_header;
    /// Search distance for later entries after an incomplete one: if a page of the largest
    /// kind was lost, the next entries are within it.
    static constexpr u64 search = u64{256} << 10;

    /// A complete entry of the epoch.
    [[nodiscard]] const header* entry_at(const segment& s, u64 at) const {
        if (at + sizeof(header) > s.bytes()) return nullptr;
        const auto* entry = region_.at<header>(s.offset + at);
        if (entry->epoch != epoch_ || entry->size > max_log_object) return nullptr;
        if (at + detail::log_entry_stride(entry->size) > s.bytes()) return nullptr;
        return entry->checksum == detail::log_entry_checksum(entry, seed_) ? entry : nullptr;
    }

    result<void> apply_prefix(const segment& s) {
        u64 at = 0;  // entries begin on lines
        while (const header* entry = entry_at(s, at)) {
            if (auto ok = check_order(s, at, *entry); !ok) return ok;
            if (auto ok = copy_back(s, at, *entry); !ok) return ok;
            last_ = entry->append;
            at += detail::log_entry_stride(entry->size);
        }
        const u64 end = std::min(s.bytes(), at + search);
        for (u64 behind = at; behind < end; behind += line_size) {
            if (const header* entry = entry_at(s, behind)) return check_order(s, at, *entry);
        }
        return {};
    }

    /// Checks X4. `hole`: the offset after the last complete entry before `entry`.
    [[nodiscard]] result<void> check_order(const segment& s, u64 hole, const header& entry) const {
        if (entry.append <= last_ + 1) return {};
        return corrupt(s, hole, "an entry of the log is damaged, and others follow it");
    }

    /// An entry with a right checksum that points outside of the region is not a torn write.
    result<void> copy_back(const segment& s, u64 at, const header& entry) {
        if (entry.object < layout::page_size || entry.object > region_.size() - entry.size) {
            return corrupt(s, at, "a log entry names an object outside of the region");
        }
        std::memcpy(region_.base() + entry.object, &entry + 1, entry.size);
        region_.med().flush(region_.base() + entry.object, entry.size);
        ++done_.entries;
        done_.bytes += entry.size;
        return {};
    }

    [[nodiscard]] result<void> corrupt(const segment& s, u64 at, const char* why) const {
        return failure({errc::corrupt, "apply the external log",
                        region_.path().string() + " at offset " + std::to_string(s.offset + at),
                        why, "run `holdfast check` and restore the file from a copy"});
    }

    region& region_;
    u64 epoch_;
    u64 seed_;
    std::span<const segment> segments_;
    u32 last_ = 0;  ///< append of the last complete entry
    log_application done_;
};

/// The log segments of each lane, in order.
std::vector<std::vector<segment>> segments_by_lane(const region& r) {
    std::map<u16, std::vector<segment>> lanes;
    for (const segment& s : r.segments()) {
        if (s.kind == segment_kind::log) lanes[s.owner].push_back(s);
    }
    std::vector<std::vector<segment>> all;
    for (auto& [owner, segments] : lanes) all.push_back(std::move(segments));
    return all;
}

}  // namespace

result<log_application> apply_log(region& r, u64 epoch, unsigned threads) {
    const auto logs = segments_by_lane(r);
    const u64 seed = detail::log_seed(r);
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    log_application total;
    std::optional<error> failed;
    auto work = [&] {
        for (std::size_t i = next.fetch_add(1); i < logs.size(); i = next.fetch_add(1)) {
            auto done = lane_entries(r, epoch, seed, logs[i]).apply();
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
        "undo R1: undo images applied and durable before the epoch is declared failed");
    return total;
}

}  // namespace hf
