// map/inspect.hpp: what stands behind an hf::map, and lies in its file, for checks, tests and
// measurements of the whole house.
#pragma once

#include <holdfast/map.hpp>

#include "checkpoint/discipline.hpp"
#include "index/masstree/inspection.hpp"

#include <filesystem>
#include <optional>
#include <string_view>

namespace hf {

template <any_discipline D>
class engine;

struct map_inspection {
    /// Lives as long as the map.
    [[nodiscard]] static engine<incll_discipline>& machine_of(map& m) noexcept;
    /// Where an eager map's next records lie does not depend on when its sweep ends.
    [[nodiscard]] static result<void> wait_for_sweep(map& m);
    /// What is wrong in an eager map, leaks among it, once its sweep has ended; nobody may use it.
    [[nodiscard]] static result<audit_report> audit_eager(map& m);
};

/// What the check finds in a region file of a map, of whichever discipline, that nobody uses.
/// An error: why an opening would fail.
[[nodiscard]] result<audit_report> audit_map(const std::filesystem::path& path,
                                             const audit_progress& progress = {});

/// The map of discipline incll in a region file, to be looked at while nobody uses it; nothing in
/// the file changes.
[[nodiscard]] inspection inspect_map(const std::filesystem::path& path);

/// Whether a root that says this leads to a map with small values in its leaves; nullopt: to no map
/// of discipline incll.
[[nodiscard]] std::optional<bool> map_has_small_values(std::string_view root, u64 type, u64 format);

}  // namespace hf
