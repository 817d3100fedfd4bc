#include "transaction/recovery.hpp"

#include "persist/persist_point.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hf {
namespace {

result<void> refuse(const region& r, u64 at, std::string why) {
    return failure({errc::corrupt, "read the commit records",
                    r.path().string() + " at offset " + std::to_string(at), std::move(why),
                    "restore the file from a backup"});
}

/// One lane's records, in the order in which they were written.
class lane_records {
   public:
    lane_records(const region& r, u64 epoch, std::vector<record_view>& into)
        : region_(r), epoch_(epoch), seed_(record_seed(r)), into_(into) {}

    /// The segments of the lane, in their order.
    result<void> read(std::span<const segment> log) {
        u64 skip = 0;  // what a record in pieces takes of the segments from here on
        for (std::size_t i = 0; i < log.size(); ++i) {
            if (skip >= log[i].bytes()) {
                skip -= log[i].bytes();
                continue;
            }
            auto end = read_segment(log.subspan(i), skip);
            if (!end) return tl::unexpected(end.error());
            skip = *end > log[i].bytes() ? *end - log[i].bytes() : 0;
        }
        return {};
    }

   private:
    /// The first segment's records, from `skip` on; the last may go on in the others. Its end, in
    /// bytes from the segment's start.
    result<u64> read_segment(std::span<const segment> log, u64 skip) {
        const segment& s = log.front();
        while (skip < s.bytes()) {
            const u64 at = s.offset + skip;
            auto v = read_record(region_, at, s.bytes() - skip, epoch_, seed_);
            if (!v) v = read_record_in_pieces(region_, log, skip, epoch_, seed_);
            if (!v) break;
            if (auto ok = take(*v); !ok) return tl::unexpected(ok.error());
            skip += v->bytes;
        }
        if (skip < s.bytes()) {
            auto ok = look_behind(log, skip);
            if (!ok) return tl::unexpected(ok.error());
        }
        return skip;
    }

    result<void> take(const record_view& v) {
        if (v.header.number != number_ + 1) {
            return refuse(region_, v.at, "a record before it is damaged");
        }
        number_ = v.header.number;
        // Here, where it is in the cache.
        if (auto ok = check_record(region_, v); !ok) return ok;
        into_.push_back(v);
        return {};
    }

    /// After the last whole record there may be a part of one more, but nothing after that.
    result<void> look_behind(std::span<const segment> log, u64 skip) const {
        const segment& s = log.front();
        for (u64 behind = skip + line_size; behind < s.bytes(); behind += line_size) {
            const u64 at = s.offset + behind;
            const auto* h = region_.at<const record_header>(at);
            if (h->epoch != epoch_ || h->number <= number_ + 1) continue;
            if (read_record(region_, at, s.bytes() - behind, epoch_, seed_) ||
                read_record_in_pieces(region_, log, behind, epoch_, seed_)) {
                return refuse(region_, s.offset + skip, "the record there is damaged");
            }
        }
        return {};
    }

    const region& region_;
    const u64 epoch_;
    const u64 seed_;
    std::vector<record_view>& into_;
    u32 number_ = 0;
};

/// In order of versions, as `before` is. A lane's are, too, as a rule: in the shared log two may
/// have changed places.
std::vector<record_view> merged(const std::vector<record_view>& before,
                                std::vector<record_view> of_lane) {
    const auto version = [](const record_view& v) { return v.header.version; };
    if (!std::ranges::is_sorted(of_lane, {}, version)) std::ranges::sort(of_lane, {}, version);
    if (before.empty()) return of_lane;
    std::vector<record_view> all(before.size() + of_lane.size());
    std::ranges::merge(before, of_lane, all.begin(), {}, version, version);
    return all;
}

}  // namespace

result<std::vector<record_view>> read_records(const region& r, u64 epoch) {
    std::vector<segment> logs;
    for (const segment& s : r.segments()) {
        if (s.kind == segment_kind::log) logs.push_back(s);
    }
    std::ranges::sort(logs, {}, [](const segment& s) { return std::pair{s.owner, s.offset}; });
    std::vector<record_view> found;
    for (std::size_t i = 0; i < logs.size();) {
        std::vector<record_view> mine;
        lane_records of_lane(r, epoch, mine);
        const u16 owner = logs[i].owner;
        const std::size_t first = i;
        while (i < logs.size() && logs[i].owner == owner) ++i;
        auto ok = of_lane.read(std::span(logs).subspan(first, i - first));
        if (!ok) return tl::unexpected(ok.error());
        if (mine.empty()) continue;
        mine.back().is_last = true;
        found = merged(found, std::move(mine));
    }
    return found;
}

result<applied_records> apply_records(region& r, u64 epoch) {
    const auto found = read_records(r, epoch);
    if (!found) return tl::unexpected(found.error());
    std::vector<committed::word_change> changes;
    for (const record_view& v : *found) {
        if (kind_of(v.header) == record_kind::shadow) {
            return tl::unexpected(refuse(r, v.at, "it is a record of another engine").error());
        }
        read_changes(v, changes);
    }
    for (const record_view& v : *found) {
        each_piece(v, [&](u64 at, u64 bytes) { r.med().flush(r.at<const std::byte>(at), bytes); });
    }
    r.med().fence();
    HF_PERSIST_POINT("transaction T4: records that were found are durable before they are applied");
    if (auto ok = committed::reapply(r, changes); !ok) return tl::unexpected(ok.error());
    applied_records sum;
    late_flushes flushes(r);
    for (const record_view& v : *found) {
        apply_words(r, v, flushes);
        ++sum.records;
        sum.bytes += v.bytes;
    }
    flushes.finish();
    r.med().fence();
    HF_PERSIST_POINT("transaction T3: applied records are durable before the session begins");
    return sum;
}

}  // namespace hf
