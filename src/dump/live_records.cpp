#include "dump/live_records.hpp"

#include "map/inspect.hpp"
#include "region/header.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace hf::detail {
namespace {

map_options to_look() {
    map_options o;
    o.region.mode = open_mode::inspect;
    o.epoch = std::chrono::microseconds(0);
    return o;
}

result<void> check_eager(const std::filesystem::path& path, const std::string& task) {
    const auto found = audit_map(path);
    if (!found) return tl::unexpected(found.error());
    if (found->ok()) return {};
    const violation& first = found->violations().front();
    return failure({errc::corrupt, task + " the region",
                    path.string() + " at offset " + std::to_string(first.offset), first.text,
                    "`holdfast check` names all that is damaged; restore it from a copy"});
}

result<void> visit_in_order(const map& m, const record_visitor& visit) {
    result<void> done;
    const auto walked = m.scan({}, [&](std::string_view key, std::string_view bytes) {
        done = visit(key, bytes);
        return done.has_value();
    });
    if (!walked) return tl::unexpected(walked.error());
    return done;
}

/// For an unordered index.
result<void> visit_sorted(const map& m, const record_visitor& visit) {
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

result<map> open_to_read(const std::filesystem::path& path, const std::string& task) {
    if (discipline_in(path) == discipline::eager) {
        if (auto sound = check_eager(path, task); !sound) return tl::unexpected(sound.error());
    }
    return map::open(path, to_look()).map_error([&](error why) {
        if (why.code == errc::busy) {
            why.next =
                "stop the process that uses it, or " + task + " a copy of it (holdfast copy)";
        }
        return why;
    });
}

result<master_record> master_of(const map& m) {
    std::string bytes;
    const auto found = m.get({}, bytes);
    if (!found) return tl::unexpected(found.error());
    return *found ? decode_master(bytes).value_or(master_record{}) : master_record{};
}

result<void> live_records::add(std::string_view key, std::string_view bytes) {
    const auto decoded = decode_record(bytes, master_.short_headers);
    if (!decoded || key.empty()) {
        if (key.empty() && decode_master(bytes)) return {};
        return use_({.is_record = false, .key = key, .data = bytes});
    }
    const auto& [header, size] = *decoded;
    const bool expired = header.expires != 0 && header.expires <= now_;
    if (expired || all_flushed_ || header.unique <= master_.flush_mark) {
        ++absent_;
        return {};
    }
    return use_({true, header.flags, header.expires, header.unique, key, bytes.substr(size)});
}

result<void> visit_by_key(const map& m, const record_visitor& visit) {
    return m.is_ordered() ? visit_in_order(m, visit) : visit_sorted(m, visit);
}

}  // namespace hf::detail
