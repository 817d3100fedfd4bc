#include "dump/dump.hpp"

#include "dump/live_records.hpp"
#include "region/header.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace hf {
namespace {

/// Writes the records that a client could read.
class dumper {
   public:
    dumper(const detail::master_record& master, u64 now, detail::dump_writer::sink to)
        : writer_(std::move(to)), records_(master, now, [this](const detail::dump_line& line) {
              return writer_.add(line);
          }) {}
    dumper(const dumper&) = delete;
    dumper& operator=(const dumper&) = delete;
    ~dumper() = default;

    [[nodiscard]] result<void> begin() { return writer_.begin(records_.flush_at()); }
    [[nodiscard]] result<void> add(std::string_view key, std::string_view bytes) {
        return records_.add(key, bytes);
    }
    [[nodiscard]] result<dump_report> end() {
        const auto totals = writer_.end();
        if (!totals) return tl::unexpected(totals.error());
        return dump_report{*totals, records_.absent()};
    }

   private:
    detail::dump_writer writer_;
    detail::live_records records_;
};

}  // namespace

result<dump_report> dump_store(const std::filesystem::path& region, std::uint64_t now,
                               detail::dump_writer::sink to, const transfer_progress& progress) {
    const auto m = detail::open_to_read(region, "dump");
    if (!m) return tl::unexpected(m.error());
    const auto master = detail::master_of(*m);
    if (!master) return tl::unexpected(master.error());
    dumper out(*master, now, std::move(to));
    if (auto ok = out.begin(); !ok) return tl::unexpected(ok.error());
    u64 done = 0;
    const u64 total = m->stats().allocated_bytes;
    auto written = detail::visit_by_key(*m, [&](std::string_view key, std::string_view bytes) {
        done += key.size() + bytes.size() + detail::record_overhead;
        if (progress) progress(done, total);
        return out.add(key, bytes);
    });
    if (!written) return tl::unexpected(written.error());
    return out.end();
}

result<salvage_report> salvage_store(const std::filesystem::path& region, std::uint64_t now,
                                     detail::dump_writer::sink to, const audit_progress& progress) {
    if (detail::discipline_in(region) == discipline::eager) {
        return failure({errc::incompatible, "salvage the region", region.string(),
                        "its discipline is eager, of which only whole regions are dumped",
                        "see what `holdfast check` says; restore it from a copy"});
    }
    const inspection looked = inspect_map(region);
    if (looked.refusal()) return tl::unexpected(*looked.refusal());
    salvage_report report;
    std::vector<std::pair<std::string, std::string_view>> records;
    report.found = looked.audit(progress, [&](std::string_view key, std::string_view value) {
        records.emplace_back(key, value);
    });
    std::ranges::sort(records);  // T2
    const bool has_master = !records.empty() && records.front().first.empty();
    const auto master =
        has_master ? detail::decode_master(records.front().second).value_or(detail::master_record{})
                   : detail::master_record{};
    dumper out(master, now, std::move(to));
    if (auto ok = out.begin(); !ok) return tl::unexpected(ok.error());
    for (auto at = records.begin(); at != records.end();) {
        const auto behind = std::find_if(
            at, records.end(), [at](const auto& other) { return other.first != at->first; });
        if (behind - at == 1) {
            if (auto ok = out.add(at->first, at->second); !ok) return tl::unexpected(ok.error());
        } else {
            report.ambiguous += static_cast<u64>(behind - at);
        }
        at = behind;
    }
    auto dumped = out.end();
    if (!dumped) return tl::unexpected(dumped.error());
    report.dumped = *dumped;
    return report;
}

}  // namespace hf
