#include "dump/compact.hpp"

#include <holdfast/map.hpp>

#include "dump/live_records.hpp"
#include "dump/loader.hpp"
#include "image/holes.hpp"
#include "image/partial.hpp"
#include "map/copy.hpp"
#include "map/inspect.hpp"
#include "recovery/redo.hpp"
#include "region/file.hpp"

#include <algorithm>
#include <string>

namespace hf {
namespace {

namespace fs = std::filesystem;

/// Room for the records of a region that has `used` bytes in use: a quarter more, since nodes of a
/// tree that is loaded in order are not as full as others, and a part that every region has.
u64 first_size_for(u64 used) { return used + used / 4 + (u64{2} << 20); }

/// The file's length, and what it takes.
result<detail::file_facts> facts_of(const fs::path& path) {
    const auto file = detail::open_unlocked(path);
    if (!file) return tl::unexpected(file.error());
    return detail::facts_of(*file, path.string());
}

/// Recovers a region that has a journal: the journal is removed.
result<void> close_in_order(const fs::path& region) {
    if (!detail::is_taken(detail::journal_path(region))) return {};
    map_options there;
    there.region.mode = open_mode::open_existing;
    auto m = map::open(region, there);
    return m ? m->close() : tl::unexpected(m.error());
}

class compaction {
   public:
    compaction(const map& from, const fs::path& to, u64 size)
        : from_(from), to_(map::open(to, options_of(from, size))) {}

    result<void> run(u64 now, compact_report& report, const transfer_progress& progress) {
        if (!to_) return tl::unexpected(to_.error());
        const auto master = detail::master_of(from_);
        if (!master) return tl::unexpected(master.error());
        detail::loader target(*to_, false);
        target.spend(from_.generation() + master->spent_blocks + 1);
        detail::live_records live(*master, now, [&](const detail::dump_line& line) {
            ++report.records;
            return target.put(line);
        });
        u64 done = 0;
        const u64 total = from_.stats().allocated_bytes;
        auto visited =
            detail::visit_by_key(from_, [&](std::string_view key, std::string_view bytes) {
                done += key.size() + bytes.size() + detail::record_overhead;
                if (progress) progress(done, total);
                return live.add(key, bytes);
            });
        if (!visited) return visited;
        report.absent = live.absent();
        if (auto ok = target.finish(live.flush_at()); !ok) return ok;
        return to_->close();
    }

   private:
    static map_options options_of(const map& from, u64 size) {
        map_options o;
        o.region.mode = open_mode::create_new;
        o.region.initial_size = size;
        o.kind = from.kind();
        if (from.kind() == discipline::eager) o.index = from.index();
        o.small_values_in_leaves = map_inspection::has_small_values(from);
        return o;
    }

    const map& from_;
    result<map> to_;
};

}  // namespace

result<compact_report> compact_map(const fs::path& region, u64 now,
                                   const transfer_progress& progress) {
    if (auto ok = close_in_order(region); !ok) return tl::unexpected(ok.error());
    const auto before = facts_of(region);
    if (!before) return tl::unexpected(before.error());
    compact_report report{.bytes_before = before->bytes, .stored_before = before->allocated_bytes};
    auto place = detail::partial_region::prepare_over(region);
    if (!place) return tl::unexpected(place.error());
    {
        const auto from = detail::open_to_read(region, "compact");
        if (!from) return tl::unexpected(from.error());
        const u64 size = std::min(first_size_for(from->stats().allocated_bytes), before->bytes);
        auto ok = compaction(*from, place->path(), size).run(now, report, progress);
        if (!ok) return tl::unexpected(ok.error());
    }
    const auto checked = audit_map(place->path());
    if (!checked) return tl::unexpected(checked.error());
    if (!checked->ok()) {
        const violation& first = checked->violations().front();
        return failure({errc::corrupt, "compact the region",
                        region.string() + " at offset " + std::to_string(first.offset), first.text,
                        "the region is as it was; report this"});
    }
    const auto stored = detail::make_holes(place->path(), spare_ranges_of(checked->heap));
    if (!stored) return tl::unexpected(stored.error());
    const auto after = facts_of(place->path());
    if (!after) return tl::unexpected(after.error());
    report.bytes = after->bytes;
    report.stored = *stored;
    if (auto ok = place->finish(); !ok) return tl::unexpected(ok.error());
    return report;
}

}  // namespace hf
