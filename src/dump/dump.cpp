#include "dump/dump.hpp"

#include <holdfast/map.hpp>

#include "region/header.hpp"
#include "store/store_record.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hf {
namespace {

map_options to_look() {
    map_options o;
    o.region.mode = open_mode::inspect;
    o.epoch = std::chrono::microseconds(0);
    return o;
}

/// Audits an eager region before it is read, because readers of eager indexes trust their data.
result<void> check_eager(const std::filesystem::path& path) {
    const auto found = audit_map(path);
    if (!found) return tl::unexpected(found.error());
    if (found->ok()) return {};
    const violation& first = found->violations().front();
    return failure({errc::corrupt, "dump the region",
                    path.string() + " at offset " + std::to_string(first.offset), first.text,
                    "`holdfast check` names all that is damaged; restore it from a copy"});
}

result<map> open_to_look(const std::filesystem::path& path) {
    if (detail::discipline_in(path) == discipline::eager) {
        if (auto sound = check_eager(path); !sound) return tl::unexpected(sound.error());
    }
    return map::open(path, to_look()).map_error([](error why) {
        if (why.code == errc::busy) {
            why.next = "stop the process that uses it, or dump a copy of it (holdfast copy)";
        }
        return why;
    });
}

/// The store's own record; default values if the region is a plain map.
result<detail::master_record> master_of(const map& m) {
    std::string bytes;
    const auto found = m.get({}, bytes);
    if (!found) return tl::unexpected(found.error());
    return *found ? detail::decode_master(bytes).value_or(detail::master_record{})
                  : detail::master_record{};
}

/// Writes the records that a client could read.
class dumper {
   public:
    dumper(const detail::master_record& master, u64 now, detail::dump_writer::sink to)
        : master_(master),
          now_(now),
          all_flushed_(master.flush_at != 0 && master.flush_at <= now),
          writer_(std::move(to)) {}

    [[nodiscard]] result<void> begin() {
        return writer_.begin(all_flushed_ ? 0 : master_.flush_at);
    }
    [[nodiscard]] result<void> add(std::string_view key, std::string_view bytes) {
        const auto decoded = detail::decode_record(bytes, master_.short_headers);
        if (!decoded || key.empty()) {
            if (key.empty() && detail::decode_master(bytes)) return {};
            return writer_.add({.is_record = false, .key = key, .data = bytes});
        }
        const auto& [header, size] = *decoded;
        const bool expired = header.expires != 0 && header.expires <= now_;
        if (expired || all_flushed_ || header.unique <= master_.flush_mark) {
            ++report_.absent;
            return {};
        }
        return writer_.add(
            {true, header.flags, header.expires, header.unique, key, bytes.substr(size)});
    }
    [[nodiscard]] result<dump_report> end() {
        const auto totals = writer_.end();
        if (!totals) return tl::unexpected(totals.error());
        report_.text = *totals;
        return report_;
    }

   private:
    detail::master_record master_;
    u64 now_;
    bool all_flushed_;
    detail::dump_writer writer_;
    dump_report report_;
};

/// Estimated bytes of a record beyond key and value, for the progress.
constexpr u64 overhead = 64;

using ordered_visitor = std::function<result<void>(std::string_view key, std::string_view bytes)>;

result<void> visit_in_order(const map& m, const ordered_visitor& visit) {
    result<void> done;
    const auto walked = m.scan({}, [&](std::string_view key, std::string_view bytes) {
        done = visit(key, bytes);
        return done.has_value();
    });
    if (!walked) return tl::unexpected(walked.error());
    return done;
}

/// Visits in key order (T2) for an unordered index. All keys are kept in memory.
result<void> visit_sorted(const map& m, const ordered_visitor& visit) {
    std::vector<std::string> keys;
    std::string cursor;
    do {
        constexpr std::size_t at_once = 1000;
        const auto walked = m.walk(cursor, at_once, [&](std::string_view key, std::string_view) {
            keys.emplace_back(key);
            return true;
        });
        if (!walked) return tl::unexpected(walked.error());
    } while (!cursor.empty());
    std::ranges::sort(keys);
    std::string bytes;
    for (const std::string& key : keys) {
        const auto found = m.get(key, bytes);
        if (!found) return tl::unexpected(found.error());
        if (auto ok = visit(key, bytes); !ok) return ok;
    }
    return {};
}

}  // namespace

result<dump_report> dump_store(const std::filesystem::path& region, std::uint64_t now,
                               detail::dump_writer::sink to, const transfer_progress& progress) {
    const auto m = open_to_look(region);
    if (!m) return tl::unexpected(m.error());
    const auto master = master_of(*m);
    if (!master) return tl::unexpected(master.error());
    dumper out(*master, now, std::move(to));
    if (auto ok = out.begin(); !ok) return tl::unexpected(ok.error());
    u64 done = 0;
    const u64 total = m->stats().allocated_bytes;
    const ordered_visitor write = [&](std::string_view key, std::string_view bytes) {
        done += key.size() + bytes.size() + overhead;
        if (progress) progress(done, total);
        return out.add(key, bytes);
    };
    auto written = m->is_ordered() ? visit_in_order(*m, write) : visit_sorted(*m, write);
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
