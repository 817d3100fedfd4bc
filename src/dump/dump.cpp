#include "dump/dump.hpp"

#include <holdfast/map.hpp>

#include "store/store_record.hpp"

namespace hf {
namespace {

map_options to_look() {
    map_options o;
    o.region.mode = open_mode::inspect;
    o.epoch = std::chrono::microseconds(0);
    return o;
}

result<map> open_to_look(const std::filesystem::path& path) {
    return map::open(path, to_look()).map_error([](error why) {
        if (why.code == errc::busy) {
            why.next = "stop the process that uses it, or dump a copy of it (holdfast copy)";
        }
        return why;
    });
}

/// What the store that wrote the region knew of itself; nothing where it is a plain map.
result<detail::master_record> master_of(const map& m) {
    std::string bytes;
    const auto found = m.get({}, bytes);
    if (!found) return tl::unexpected(found.error());
    return *found ? detail::decode_master(bytes).value_or(detail::master_record{})
                  : detail::master_record{};
}

/// A record as the map holds it, about as large as there.
constexpr u64 overhead = 64;

}  // namespace

result<dump_report> dump_store(const std::filesystem::path& region, std::uint64_t now,
                               detail::dump_writer::sink to, const transfer_progress& progress) {
    const auto m = open_to_look(region);
    if (!m) return tl::unexpected(m.error());
    const auto master = master_of(*m);
    if (!master) return tl::unexpected(master.error());
    const bool all_flushed = master->flush_at != 0 && master->flush_at <= now;
    detail::dump_writer writer(std::move(to));
    if (auto ok = writer.begin(all_flushed ? 0 : master->flush_at); !ok) {
        return tl::unexpected(ok.error());
    }
    struct {
        result<void> written = {};
        dump_report report = {};
        u64 done = 0;
    } c;
    const u64 total = m->stats().allocated_bytes;
    const auto walked = m->scan({}, [&](std::string_view key, std::string_view bytes) {
        c.done += key.size() + bytes.size() + overhead;
        if (progress) progress(c.done, total);
        const auto decoded = detail::decode_record(bytes, master->short_headers);
        if (!decoded || key.empty()) {
            if (key.empty() && detail::decode_master(bytes)) return true;
            c.written = writer.add({.is_record = false, .key = key, .data = bytes});
            return c.written.has_value();
        }
        const auto& [header, size] = *decoded;
        const bool expired = header.expires != 0 && header.expires <= now;
        if (expired || all_flushed || header.unique <= master->flush_mark) {
            ++c.report.absent;
            return true;
        }
        c.written = writer.add(
            {true, header.flags, header.expires, header.unique, key, bytes.substr(size)});
        return c.written.has_value();
    });
    if (!walked) return tl::unexpected(walked.error());
    if (!c.written) return tl::unexpected(c.written.error());
    const auto totals = writer.end();
    if (!totals) return tl::unexpected(totals.error());
    c.report.text = *totals;
    return c.report;
}

}  // namespace hf
