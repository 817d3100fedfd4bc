#include "recovery/upgrade.hpp"

#include "base/check.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <string>

namespace hf {
namespace {

using layout::room_format;

tl::unexpected<error> incompatible(const region& r, std::string why, std::string next) {
    return failure({errc::incompatible, "open the region", r.path().string(), std::move(why),
                    std::move(next)});
}

std::string of_room(std::string_view name, u32 version) {
    return "version " + std::to_string(version) + " of " + std::string(name);
}

/// The longest step from this version towards `to`; nullptr: none.
const upgrade_step* next_step(std::span<const upgrade_step> steps, std::string_view room, u32 from,
                              u32 to) {
    const upgrade_step* best = nullptr;
    for (const upgrade_step& s : steps) {
        HF_CHECK(s.from < s.to, "an upgrade leads to a later version");
        if (s.room != room || s.from != from || s.to > to) continue;
        if (best == nullptr || s.to > best->to) best = &s;
    }
    return best;
}

bool leads_there(std::span<const upgrade_step> steps, std::string_view room, u32 from, u32 to) {
    while (from != to) {
        const upgrade_step* const s = next_step(steps, room, from, to);
        if (s == nullptr) return false;
        from = s->to;
    }
    return true;
}

result<void> check_known(const region& r, std::span<const room_format> known) {
    for (const room_format& there : r.super().rooms) {
        const std::string_view name = name_of(there);
        if (name.empty()) continue;
        const auto ours = std::find_if(known.begin(), known.end(), [&](const room_format& k) {
            return layout::name_of(k) == name;
        });
        if (ours == known.end()) {
            return incompatible(
                r,
                "its discipline is " + std::string(to_string(r.kind())) + ", and it holds " +
                    of_room(name, there.version) + ", which what opens it does not know",
                "open it as one of its discipline, by a Holdfast that is no older than it");
        }
        if (there.version > ours->version) {
            return incompatible(r,
                                "it holds " + of_room(name, there.version) +
                                    ", this program knows versions up to " +
                                    std::to_string(ours->version),
                                "use the Holdfast that wrote it, or a newer one");
        }
    }
    return {};
}

/// A room without bytes in the region needs no upgrade, unless a step creates its first bytes.
bool needs_upgrade(const region& r, const room_format& ours, std::span<const upgrade_step> steps) {
    const u32 there = layout::version_of(r.super(), layout::name_of(ours));
    if (there == ours.version) return false;
    return there != 0 || next_step(steps, layout::name_of(ours), 0, ours.version) != nullptr;
}

}  // namespace

result<void> check_formats(const region& r, std::span<const room_format> known,
                           std::span<const upgrade_step> steps) {
    if (auto ok = check_known(r, known); !ok) return ok;
    for (const room_format& ours : known) {
        if (!needs_upgrade(r, ours, steps)) continue;
        const std::string_view name = layout::name_of(ours);
        const u32 there = layout::version_of(r.super(), name);
        if (!leads_there(steps, name, there, ours.version)) {
            return incompatible(r,
                                "it holds " + of_room(name, there) +
                                    ", and nothing leads from there to version " +
                                    std::to_string(ours.version),
                                "dump it with the Holdfast that wrote it, load it with this one");
        }
        if (!r.was_clean()) {
            return incompatible(r,
                                "it holds " + of_room(name, there) +
                                    ", and was not closed in order: its logs are of that version",
                                "open and close it once with the Holdfast that wrote it");
        }
    }
    return {};
}

result<void> upgrade(region& r, std::span<const room_format> known,
                     std::span<const upgrade_step> steps) {
    if (auto ok = check_formats(r, known, steps); !ok) return ok;
    for (const room_format& ours : known) {
        if (!needs_upgrade(r, ours, steps)) continue;
        const std::string_view name = layout::name_of(ours);
        for (u32 at = layout::version_of(r.super(), name); at != ours.version;) {
            const upgrade_step& step = *next_step(steps, name, at, ours.version);
            if (auto ok = step.run(r); !ok) return ok;
            r.med().fence();
            HF_PERSIST_POINT("recovery U1: upgraded bytes durable before the version says so");
            room_format raised = ours;
            raised.version = at = step.to;
            auto written =
                r.update_super([&](layout::superblock& s) { layout::set_version(s, raised); });
            if (!written) return written;
            HF_PERSIST_POINT("recovery U2: version raised before the next step begins");
        }
    }
    return {};
}

}  // namespace hf
