#include "transaction/recovery.hpp"

#include "persist/persist_point.hpp"

#include <algorithm>
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

    result<void> read(const segment& s) {
        u64 at = s.offset;
        const u64 end = s.offset + s.bytes();
        while (const auto v = read_record(region_, at, end - at, epoch_, seed_)) {
            if (v->header.number != number_ + 1) {
                return refuse(region_, at, "a record before it is damaged");
            }
            number_ = v->header.number;
            // Here, where it is in the cache.
            if (auto ok = check_record(region_, *v); !ok) return ok;
            into_.push_back(*v);
            at += v->bytes;
        }
        return look_behind(at, end);
    }

   private:
    /// Behind the last whole record there may be half of one more, but none after that.
    result<void> look_behind(u64 at, u64 end) const {
        for (u64 behind = at + line_size; behind < end; behind += line_size) {
            const auto* h = region_.at<const record_header>(behind);
            if (h->epoch != epoch_ || h->number <= number_ + 1) continue;
            if (read_record(region_, behind, end - behind, epoch_, seed_)) {
                return refuse(region_, at, "the record there is damaged");
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
        for (; i < logs.size() && logs[i].owner == owner; ++i) {
            if (auto ok = of_lane.read(logs[i]); !ok) return tl::unexpected(ok.error());
        }
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
        read_changes(r, v, changes);
    }
    for (const record_view& v : *found) r.med().flush(r.at<const std::byte>(v.at), v.bytes);
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
